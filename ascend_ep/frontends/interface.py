"""From what a front end read (parameters, assignments, results) to an operator definition."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Attribute, AttributeType, AttributeValue, Formula, OpDef, TensorSpec
from ascend_ep.opdef.expression import (
    Cast,
    Expression,
    Input,
    Kind,
    Local,
    Program,
    Take,
    gives_positions,
    walk,
)
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.formula import CONSTANTS, formula_program
from ascend_ep.opdef.formula_nodes import FUNCTIONS, Names, Value

#: The element types a described operator computes.
ELEMENT_TYPES = (dtypes.FLOAT32, dtypes.FLOAT16, dtypes.BFLOAT16)
#: And those of inputs that are indices.
INDEX_TYPES = (dtypes.INT64, dtypes.INT32)
#: What describe() takes as attributes: a default, or None for an attribute that every node must give.
Defaults = Mapping[str, int | float | bool | str | None]
MAX_NAME = 128
#: Words that formula text gives a meaning of their own.
RESERVED = frozenset(
    {*FUNCTIONS, *CONSTANTS, "if", "else", "and", "or", "not", "true", "false", "True", "False"}
)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a description: an input unless it has the type of an attribute."""

    name: str
    type: AttributeType | None = None
    default: AttributeValue | None = None
    optional: bool = False

    @property
    def is_input(self) -> bool:
        return self.type is None


@dataclass(frozen=True)
class Described:
    """A described operator. `kind`: formula, pseudo-code or language model; `warnings` are sentences."""

    opdef: OpDef
    kind: str
    warnings: tuple[str, ...] = ()


def attribute_parameter(name: str, default: AttributeValue | None) -> Parameter:
    """An attribute of the type its default has; without one, a float that every node must give."""
    types: dict[type, AttributeType] = {bool: "bool", int: "int", float: "float", str: "string"}
    return Parameter(name, "float" if default is None else types[type(default)], default)


def as_names(parameters: Sequence[Parameter], outputs: Sequence[str]) -> Names:
    """The names that the expressions of a description may use."""
    return Names(
        inputs={p.name: "number" for p in parameters if p.is_input},
        attributes={p.name: p.type for p in parameters if p.type is not None},
        outputs=tuple(outputs),
        optional=frozenset(p.name for p in parameters if p.is_input and p.optional),
    )


def operator(
    op: str,
    parameters: Sequence[Parameter],
    lets: Sequence[tuple[str, Expression]],
    results: Sequence[tuple[str, Value]],
    doc: str = "",
    origin: str = "",
) -> OpDef:
    """The definition. `results`: each output's name, or "" for one of our choosing, and its value."""
    if not any(p.is_input for p in parameters):
        raise AscendError("E42003", "the operator has no inputs", where=origin)
    taken = {p.name for p in parameters} | {name for name, _ in lets}
    named = _output_names([name for name, _ in results], taken)
    outputs = [(name, value.node) for name, (_, value) in zip(named, results, strict=True)]
    kinds = {name: value.kind for name, (_, value) in zip(named, results, strict=True)}
    program = _tidied(Program(tuple(lets), tuple(outputs)))
    indices = _indices(program)
    opdef = OpDef(
        op=op,
        inputs=tuple(
            TensorSpec(p.name, INDEX_TYPES, "I", "optional" if p.optional else "required")
            if p.name in indices
            else TensorSpec(p.name, ELEMENT_TYPES, "T", "optional" if p.optional else "required")
            for p in parameters
            if p.is_input
        ),
        outputs=tuple(_output(n, value, kinds[n], dict(program.lets)) for n, value in program.outputs),
        attributes=tuple(
            Attribute(p.name, p.type, p.default, required=p.default is None)
            for p in parameters
            if p.type is not None
        ),
        semantics=Formula(program_text(program)),
        doc=doc,
        origin=origin,
    )
    formula_program(opdef)
    return opdef


def _indices(program: Program) -> set[str]:
    """The inputs that only say which elements are taken."""
    nodes = list(program.expressions())
    taken = [n.indices.name for n in nodes if isinstance(n, Take) and isinstance(n.indices, Input)]
    uses = [n.name for n in nodes if isinstance(n, Input)]
    return {name for name in taken if taken.count(name) == uses.count(name)}


def _output(name: str, value: Expression, kind: Kind, lets: Mapping[str, Expression]) -> TensorSpec:
    while isinstance(value, Local):
        value = lets[value.name]
    if kind == "bool":
        return TensorSpec(name, (dtypes.BOOL,))
    if gives_positions(value):
        return TensorSpec(name, (dtypes.INT64,))
    if isinstance(value, Cast):
        return TensorSpec(name, (value.dtype,))
    return TensorSpec(name, ELEMENT_TYPES, "T")


def _output_names(wanted: Sequence[str], taken: set[str]) -> list[str]:
    """y, or y0, y1, ...; a name the description gave is kept when it is free for an output."""
    names: list[str] = []
    for i, name in enumerate(wanted):
        default = "y" if len(wanted) == 1 else f"y{i}"
        name = name if name and name not in RESERVED and name not in names else default
        while (name in taken and name != wanted[i]) or name in names:
            name += "_"
        names.append(name)
    return names


def _tidied(program: Program) -> Program:
    """Without assignments that no output needs; one that only names an output becomes that output."""
    uses: dict[str, int] = {}
    for node in program.expressions():
        if isinstance(node, Local):
            uses[node.name] = uses.get(node.name, 0) + 1
    values = dict(program.lets)
    moved: set[str] = set()
    outputs = []
    for name, value in program.outputs:
        while isinstance(value, Local) and uses[value.name] == 1:
            moved.add(value.name)
            value = values[value.name]
        outputs.append((name, value))
    needed = {n.name for _, value in outputs for n in walk(value) if isinstance(n, Local)}
    lets = []
    for name, value in reversed(program.lets):
        if name in needed and name not in moved:
            lets.append((name, value))
            needed |= {n.name for n in walk(value) if isinstance(n, Local)}
    return replace(program, lets=tuple(reversed(lets)), outputs=tuple(outputs))


def camel_case(name: str) -> str:
    """layer_norm_gelu -> LayerNormGelu; a name that has capitals keeps its own."""
    if name != name.lower():
        return name.replace("_", "") if "_" in name else name
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def identifier(name: str) -> str:
    """The name in the letters that ONNX and C allow: α is alpha, x₁ is x1. "" when it has others."""
    plain = "".join(_ascii(c) for c in name)
    return plain if re.fullmatch(r"[A-Za-z_]\w*", plain, re.ASCII) and len(plain) <= MAX_NAME else ""


def _ascii(character: str) -> str:
    if character.isascii():
        return character
    words = unicodedata.name(character, "").split()
    if words[:1] == ["GREEK"] and "LETTER" in words:
        letter = words[words.index("LETTER") + 1]
        if letter not in ("FINAL", "ARCHAIC"):
            return {"LAMDA": "lambda"}.get(letter, letter.lower())
    return unicodedata.normalize("NFKC", character)
