"""What the process hands back, checked as any stranger's data: shapes, types, formulas, sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from ascend_ep.errors import AscendError
from ascend_ep.frontends.interface import MAX_NAME, identifier
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import AttributeType, AttributeValue
from ascend_ep.opdef.expression import Program
from ascend_ep.opdef.formula import parse_formula
from ascend_ep.opdef.formula_nodes import Names

T = TypeVar("T")
_LISTS: dict[str, type] = {"ints": int, "floats": float, "bools": bool}
_SCALARS: dict[str, type] = {"int": int, "float": float, "bool": bool, "string": str}
MAX_DIM = 1 << 31
MAX_LIST = 64


@dataclass(frozen=True)
class AttributeText:
    """An attribute of the operator's function."""

    name: str
    type: AttributeType
    default: AttributeValue | None
    required: bool


@dataclass(frozen=True)
class Signature:
    """The operator's function. `op_type`: the type that the file registers, or "". `inputs`: parameters."""

    name: str
    op_type: str
    doc: str
    inputs: tuple[str, ...]
    attributes: tuple[AttributeText, ...]


@dataclass(frozen=True)
class TensorText:
    """A tensor as the file sees it: of an input, the placeholder's shape."""

    name: str
    shape: tuple[int, ...]
    dtype: int


@dataclass(frozen=True)
class Recording:
    """One run. `program` is over the inputs' shapes with sizes by name; `concrete` over the placeholders'
    shapes with sizes as numbers. `compared`: what attributes were compared with."""

    formula: str
    program: Program
    concrete: Program
    inputs: tuple[TensorText, ...]
    outputs: tuple[TensorText, ...]
    warnings: tuple[str, ...]
    compared: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Failure:
    """An error of the file, with its place."""

    kind: str
    message: str
    line: int
    source: str
    column: int
    width: int

    def error(self, where: str) -> AscendError:
        """As every error is shown: the line of the file, and a caret."""
        place = f"{where}:{self.line}" if self.line else where
        details = [self.source, " " * self.column + "^" * self.width] if self.line else []
        code = "E42112" if self.kind == "inexpressible" else "E42111"
        return AscendError(code, self.message, where=place, details=details)


def read_answer(data: Any, where: str) -> tuple[Signature, list[Recording | Failure]]:
    """The signature and each job's recording. Raises the file's own error, E42113 for what is no answer."""
    reader = _Reader(where)
    answer = reader.mapping(data)
    if "error" in answer:
        raise reader.failure(answer["error"]).error(where)
    signature = reader.signature(answer.get("entry"))
    listed = reader.sequence(answer.get("recordings"), 1000)
    return signature, [reader.result(r, signature) for r in listed]


class _Reader:
    def __init__(self, where: str) -> None:
        self.where = where

    def refuse(self, what: str) -> NoReturn:
        raise AscendError("E42113", f"its answer is malformed ({what})", where=self.where)

    def mapping(self, value: Any) -> dict[str, Any]:
        return value if isinstance(value, dict) else self.refuse("no map")

    def sequence(self, value: Any, most: int = 100) -> Sequence[Any]:
        return value if isinstance(value, list) and len(value) <= most else self.refuse("no list")

    def text(self, value: Any, most: int = 1000) -> str:
        return value if isinstance(value, str) and len(value) <= most else self.refuse("no text")

    def number(self, value: Any, least: int, most: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.refuse("no number")
        return value

    def name(self, value: Any) -> str:
        text = self.text(value, MAX_NAME)
        if identifier(text) != text or not text:
            raise AscendError(
                "E42112", f"{text!r} can't be a name: use letters, digits and _", where=self.where
            )
        return text

    def failure(self, value: Any) -> Failure:
        m = self.mapping(value)
        return Failure(
            self.text(m.get("kind")),
            self.text(m.get("message")),
            self.number(m.get("line"), 0, 1 << 31),
            self.text(m.get("source")),
            self.number(m.get("column"), 0, 300),
            self.number(m.get("width"), 1, 200),
        )

    def signature(self, value: Any) -> Signature:
        m = self.mapping(value)
        return Signature(
            self.text(m.get("name")),
            self.text(m.get("op_type", "")),
            self.text(m.get("doc", "")),
            tuple(self.name(n) for n in self.sequence(m.get("inputs", []))),
            tuple(self.attribute(a) for a in self.sequence(m.get("attributes", []))),
        )

    def attribute(self, value: Any) -> AttributeText:
        m = self.mapping(value)
        kind: Any = m.get("type")
        if kind not in _SCALARS and kind not in _LISTS:
            self.refuse("an attribute's type")
        return AttributeText(
            self.name(m.get("name")), kind, attribute_value(kind, m.get("default")), m.get("required") is True
        )

    def result(self, value: Any, signature: Signature) -> Recording | Failure:
        m = self.mapping(value)
        return self.failure(m["error"]) if "error" in m else self.recording(m, signature)

    def recording(self, m: dict[str, Any], signature: Signature) -> Recording:
        inputs = tuple(self.tensor(t) for t in self.sequence(m.get("inputs")))
        outputs = tuple(self.tensor(t) for t in self.sequence(m.get("outputs")))
        names = Names(
            {t.name: "bool" if t.dtype == dtypes.BOOL else "number" for t in inputs},
            {a.name: a.type for a in signature.attributes},
            tuple(t.name for t in outputs),
        )
        compared = self.mapping(m.get("compared", {}))
        formula = self.text(m.get("formula"), 1 << 20)
        return Recording(
            formula,
            parse_formula(formula, names, self.where),
            parse_formula(self.text(m.get("concrete"), 1 << 20), names, self.where),
            inputs,
            outputs,
            tuple(self.text(w) for w in self.sequence(m.get("warnings", []))),
            {self.name(k): self.each(v, self.real) for k, v in compared.items()},
        )

    def each(self, value: Any, read: Callable[[Any], T]) -> tuple[T, ...]:
        return tuple(read(v) for v in self.sequence(value))

    def real(self, value: Any) -> float:
        return float(value) if isinstance(value, int | float) else self.refuse("no number")

    def tensor(self, value: Any) -> TensorText:
        name, shape, kind = (
            self.sequence(value) if len(self.sequence(value)) == 3 else self.refuse("no tensor")
        )
        if kind not in dtypes.NUMBERS:
            self.refuse("an element type")
        dims = tuple(self.number(d, 1, MAX_DIM) for d in self.sequence(shape, 16))
        return TensorText(self.name(name), dims, dtypes.NUMBERS[kind])


def attribute_value(kind: str, value: Any) -> AttributeValue | None:
    """A value of an attribute of this type; None when it is none."""
    if kind in _LISTS:
        if not isinstance(value, list | tuple) or len(value) > MAX_LIST:
            return None
        listed: Any = tuple(_LISTS[kind](v) for v in value if isinstance(v, int | float))
        found: AttributeValue = listed
        return found
    if isinstance(value, bool) != (kind == "bool"):
        return None
    if kind == "float" and isinstance(value, int | float):
        return float(value)
    if not isinstance(value, bool | int | float | str) or not isinstance(value, _SCALARS[kind]):
        return None
    return None if isinstance(value, int) and abs(value) >= 2**63 else value
