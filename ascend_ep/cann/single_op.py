"""Reading the JSON of --singleop: a list of operators, each with its tensors and attributes.

[{"op": "Add", "name"?, "input_desc": [{"format", "shape", "type", "name"?, "is_const"?, "const_value"?,
"shape_range"?, ...}], "output_desc": [...], "attr": [{"name", "type", "value"}]}]

AscendError E10023 to E10026 for the file, E10027 for a tensor, E10029 and E10030 for an attribute.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep import regular_file
from ascend_ep.element_types import BFLOAT16, ELEMENT_TYPES, FLOAT32, FLOAT64
from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opdef.jsontext import strict_json

LIMIT = 16 << 20  # bytes of a list

#: Name of an element type -> its number.
TYPES = {row.name: n for n, row in ELEMENT_TYPES.items() if row.acl >= 0 and n != FLOAT64} | {
    "float": FLOAT32,
    "double": FLOAT64,
    "bf16": BFLOAT16,
}
UNDEFINED, RESERVED = "UNDEFINED", "RESERVED"

#: The layouts that a tensor may have here, and their numbers in file names.
FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2, "HWCN": 16, "NDHWC": 27, "NCDHW": 30}

_KEYS = frozenset({"op", "name", "compile_flag", "input_desc", "output_desc", "attr"})
_TENSOR_KEYS = frozenset(
    {
        *("format", "shape", "type", "origin_format", "origin_shape", "name", "dynamic_input", "shape_range"),
        *("is_const", "const_value", "sub_format", "param_type"),
    }
)


@dataclass(frozen=True)
class TensorDesc:
    """`shape` has -1 for a free dimension, whose range is in `ranges` by axis; `value`: of a constant."""

    type: ir.DataType
    type_number: int
    format: str
    shape: tuple[int, ...]
    ranges: Mapping[int, tuple[int, int | None]] = field(default_factory=dict)
    value: NDArray[Any] | None = None


@dataclass(frozen=True)
class OpDesc:
    """One operator; an absent optional input is None. `attributes`: Python values by name."""

    op: str
    name: str
    inputs: tuple[TensorDesc | None, ...]
    outputs: tuple[TensorDesc, ...]
    attributes: Mapping[str, Any]

    def meta(self) -> dict[str, str]:
        """What the bundle says of it, by which programs on AscendCL find it: its type, and a line
        `name=value` for each attribute, as native/acl/op_attr.c writes them."""
        lines = [f"{name}={_text(value)}" for name, value in sorted(self.attributes.items())]
        return {"single_op": self.op, "single_op_attributes": "\n".join(lines)}

    def file_name(self, index: int) -> str:
        """The name of its .om, without suffix."""
        if self.name:
            return self.name
        parts = [str(index), self.op]
        for tensor in (*self.inputs, *self.outputs):
            if tensor is not None:
                parts += [str(tensor.type_number), str(FORMATS[tensor.format]), *map(str, tensor.shape)]
        return "_".join(parts)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{np.float32(value):.9g}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_text, value))}]"
    return str(value)


def read_operators(path: str) -> list[OpDesc]:
    """The operators of a file, in order."""
    if not Path(path).exists():
        raise AscendError("E10023", path)
    try:
        data = regular_file.read(path)
    except OSError as error:
        raise AscendError("E10024", path, details=[str(error.strerror)]) from error
    if len(data) > LIMIT:
        raise AscendError("E10025", path, f"it has more than {LIMIT} bytes")
    try:
        root = strict_json(data)
    except ValueError as error:
        raise AscendError("E10025", path, error) from error
    if not isinstance(root, list) or not all(isinstance(entry, dict) for entry in root):
        raise AscendError("E10025", path, "it must be a list of operators, [{...}, ...]")
    if not root:
        raise AscendError("E10025", path, "it names no operator")
    return [_Reader(path, entry, index).read() for index, entry in enumerate(root)]


class _Reader:
    def __init__(self, path: str, entry: Mapping[str, Any], index: int) -> None:
        self._path, self._entry, self._index = path, entry, index
        self._op = entry.get("op")

    def read(self) -> OpDesc:
        if not isinstance(self._op, str) or not self._op:
            raise AscendError("E10026", where=self._place())
        for key in self._entry:
            if key not in _KEYS:
                reason = f"{self._place()}: the key {key!r} is unknown.{did_you_mean(key, _KEYS)}"
                raise AscendError("E10025", self._path, reason.rstrip("."))
        name = self._entry.get("name", "")
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_.-]{0,200}", name):
            reason = f"{self._place()}: name must be letters, digits, and _.- of a file's name"
            raise AscendError("E10025", self._path, reason)
        inputs = tuple(self._tensor(t, "input", i) for i, t in enumerate(self._list("input_desc")))
        outputs = [self._tensor(t, "output", i) for i, t in enumerate(self._list("output_desc"))]
        if not outputs:
            raise AscendError("E10025", self._path, f"{self._place()}: output_desc is missing or empty")
        made = tuple(self._needed(t, i) for i, t in enumerate(outputs))
        attributes = dict(self._attribute(a) for a in self._list("attr"))
        return OpDesc(self._op, name, inputs, made, attributes)

    def _place(self) -> str:
        return f"{self._path}[{self._index}]"

    def _list(self, key: str) -> list[Mapping[str, Any]]:
        found = self._entry.get(key, [])
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            raise AscendError("E10025", self._path, f"{self._place()}: {key} must be a list of maps")
        return found

    def _needed(self, tensor: TensorDesc | None, index: int) -> TensorDesc:
        if tensor is None:
            raise self._wrong("type", "output", index, "an output cannot be absent")
        return tensor

    def _wrong(self, key: str, side: str, index: int, reason: str) -> AscendError:
        return AscendError("E10027", key, side, index, self._op, where=self._place(), details=[reason])

    def _tensor(self, entry: Mapping[str, Any], side: str, index: int) -> TensorDesc | None:
        for key in entry:
            if key not in _TENSOR_KEYS:
                raise self._wrong(key, side, index, f"there is no such key.{did_you_mean(key, _TENSOR_KEYS)}")
        kind, layout = entry.get("type"), entry.get("format")
        if (kind, layout) == (UNDEFINED, RESERVED):
            return None
        if not isinstance(kind, str) or kind.lower() not in TYPES:
            known = ", ".join(TYPES)
            raise self._wrong("type", side, index, f"{json.dumps(kind)[:60]} is none of {known}")
        if not isinstance(layout, str) or layout not in FORMATS:
            reason = f"{json.dumps(layout)[:60]} is none of {', '.join(FORMATS)}; blocks are the device's"
            raise self._wrong("format", side, index, reason)
        shape = entry.get("shape")
        if not isinstance(shape, list) or not all(type(n) is int and -1 <= n < 2**31 for n in shape):
            raise self._wrong("shape", side, index, "it must be a list of sizes, -1 for a free one")
        number = TYPES[kind.lower()]
        dtype = ir.DataType(number)
        ranges = self._ranges(entry.get("shape_range", []), shape, side, index)
        value = None
        if entry.get("is_const") is True:
            value = self._constant(entry.get("const_value"), dtype, shape, side, index)
        return TensorDesc(dtype, ELEMENT_TYPES[number].acl, layout, tuple(shape), ranges, value)

    def _ranges(
        self, given: Any, shape: list[int], side: str, index: int
    ) -> dict[int, tuple[int, int | None]]:
        free = [axis for axis, size in enumerate(shape) if size == -1]
        if not given:
            return dict.fromkeys(free, (1, None))
        pairs = [pair for pair in given if isinstance(pair, list)] if isinstance(given, list) else []
        valid = all(len(p) == 2 and all(type(n) is int for n in p) and p[0] >= 0 for p in pairs)
        if not valid or len(pairs) not in (len(free), len(shape)):
            raise self._wrong(
                "shape_range", side, index, "it must be [least, greatest] for each free dimension"
            )
        chosen = pairs if len(pairs) == len(free) else [pairs[axis] for axis in free]
        if any(p[1] != -1 and p[1] < p[0] for p in chosen):
            raise self._wrong("shape_range", side, index, "a range is empty")
        return {a: (p[0], None if p[1] == -1 else p[1]) for a, p in zip(free, chosen, strict=True)}

    def _constant(
        self, value: Any, dtype: ir.DataType, shape: list[int], side: str, index: int
    ) -> NDArray[Any]:
        try:
            return (
                np.array(value, np.float64 if dtype.is_floating_point() else np.int64)
                .astype(dtype.numpy())
                .reshape(shape)
            )
        except (ValueError, TypeError, OverflowError) as error:
            raise self._wrong("const_value", side, index, str(error).splitlines()[0]) from error

    def _attribute(self, entry: Mapping[str, Any]) -> tuple[str, Any]:
        name = entry.get("name")
        if not isinstance(name, str) or not name:
            raise AscendError("E10029", self._op, where=self._place())
        kind, value = entry.get("type"), entry.get("value")
        check = _ATTRIBUTES.get(str(kind))
        if check is None:
            known = ", ".join(_ATTRIBUTES)
            raise self._bad_attribute(name, f"the type {json.dumps(kind)[:60]} is none of {known}")
        if not check(value):
            raise self._bad_attribute(name, f"{json.dumps(value)[:60]} is no {kind}")
        return name, TYPES[str(value).lower()] if kind == "data_type" else value

    def _bad_attribute(self, name: str, reason: str) -> AscendError:
        return AscendError("E10030", name, self._op, where=self._place(), details=[reason])


def _is_int(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _is_float(value: Any) -> bool:
    return _is_int(value) or isinstance(value, float)


def _list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


_ATTRIBUTES: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "int": _is_int,
    "float": _is_float,
    "string": lambda value: isinstance(value, str),
    "list_bool": _list_of(lambda value: isinstance(value, bool)),
    "list_int": _list_of(_is_int),
    "list_float": _list_of(_is_float),
    "list_string": _list_of(lambda value: isinstance(value, str)),
    "list_list_int": _list_of(_list_of(_is_int)),
    "data_type": lambda value: isinstance(value, str) and value.lower() in TYPES,
}
