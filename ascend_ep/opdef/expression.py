"""The tensor-expression form: what a formula means, independent of how it was written.

A Program is straight-line: named intermediate values, then one expression per output. Expressions are
trees of the eight node classes below; all tensors broadcast as NumPy's do. Arithmetic is in the compute
type of the reader (float64 in the reference, float32 in kernels); results are rounded to the output's
element type. Each operation takes and gives numbers or truth values as OPERATIONS says: the parser has
put conversions where the text mixes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ascend_ep.opdef import dtypes

Kind = Literal["number", "bool", "text"]


@dataclass(frozen=True, eq=False)
class Constant:
    """A literal. Text occurs only beside an attribute in eq and ne. NaN equals NaN, True isn't 1."""

    value: float | bool | str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, str]:
        value = self.value
        if isinstance(value, bool | str):
            return type(value).__name__, str(value)
        return "number", repr(float(value))


@dataclass(frozen=True)
class Input:
    """An input tensor, by its name in the definition."""

    name: str


@dataclass(frozen=True)
class Local:
    """An intermediate value assigned earlier in the program."""

    name: str


@dataclass(frozen=True)
class AttributeRef:
    """The value of an attribute of the node: a number, truth value or text known at conversion."""

    name: str


@dataclass(frozen=True)
class Given:
    """Whether an optional input is there; known at conversion."""

    name: str


@dataclass(frozen=True)
class Apply:
    """An elementwise operation of OPERATIONS on broadcast operands."""

    op: str
    args: tuple[Expression, ...]


@dataclass(frozen=True)
class Cast:
    """Rounding to an element type (ONNX number): the value continues in the compute type."""

    dtype: int
    arg: Expression


@dataclass(frozen=True)
class Reduce:
    """sum, mean, prod, max, min or var (of the whole population) over axes; negative ones from the end."""

    op: str
    arg: Expression
    axes: tuple[int, ...] | AttributeRef = (-1,)
    keepdims: bool = True


@dataclass(frozen=True)
class Index:
    """0, 1, 2, ... along one axis of `like`, all other dimensions 1; with `size` the axis' length."""

    like: Expression
    axis: int | AttributeRef = -1
    size: bool = False


Expression = Constant | Input | Local | AttributeRef | Given | Apply | Cast | Reduce | Index


@dataclass(frozen=True)
class Program:
    """`lets` in order, each usable by later ones; then the outputs in the definition's order."""

    lets: tuple[tuple[str, Expression], ...]
    outputs: tuple[tuple[str, Expression], ...]

    def __str__(self) -> str:
        outputs = [(name, value) for name, value in self.outputs if value != Local(name)]
        return "\n".join(f"{name} = {to_text(value)}" for name, value in (*self.lets, *outputs))

    def expressions(self) -> Iterator[Expression]:
        """Every node of the program, operands before what uses them."""
        for _, value in (*self.lets, *self.outputs):
            yield from walk(value)


@dataclass(frozen=True)
class Operation:
    """An elementwise operation: the kinds of its arguments, of its result, and what it computes."""

    takes: tuple[Kind, ...]
    gives: Kind
    doc: str


_UNARY = {
    "neg": "-x",
    "abs": "|x|",
    "sign": "-1, 0 or 1",
    "exp": "e^x",
    "expm1": "e^x - 1 without cancellation",
    "log": "natural logarithm",
    "log1p": "log(1 + x) without cancellation",
    "log2": "logarithm to base 2",
    "log10": "logarithm to base 10",
    "sqrt": "square root",
    "rsqrt": "1 / sqrt(x)",
    "sin": "sine",
    "cos": "cosine",
    "tan": "tangent",
    "asin": "arc sine",
    "acos": "arc cosine",
    "atan": "arc tangent",
    "sinh": "hyperbolic sine",
    "cosh": "hyperbolic cosine",
    "tanh": "hyperbolic tangent",
    "asinh": "inverse hyperbolic sine",
    "acosh": "inverse hyperbolic cosine",
    "atanh": "inverse hyperbolic tangent",
    "erf": "error function",
    "sigmoid": "1 / (1 + exp(-x))",
    "softplus": "log(1 + exp(x)) without overflow",
    "floor": "largest integer not above x",
    "ceil": "smallest integer not below x",
    "round": "nearest integer, ties to even",
    "trunc": "integer part",
}
_BINARY = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "div": "a / b",
    "floordiv": "floor(a / b)",
    "mod": "a - b*floor(a / b), with the sign of b",
    "pow": "a to the power b",
    "min": "the smaller; NaN if either is",
    "max": "the larger; NaN if either is",
    "atan2": "angle of the point (b, a)",
}
_COMPARE = {"eq": "a == b", "ne": "a != b", "lt": "a < b", "le": "a <= b", "gt": "a > b", "ge": "a >= b"}

#: Every elementwise operation. Its readers (reference, lowering, generators) have an entry for each name.
OPERATIONS: dict[str, Operation] = {
    **{name: Operation(("number",), "number", doc) for name, doc in _UNARY.items()},
    **{name: Operation(("number",) * 2, "number", doc) for name, doc in _BINARY.items()},
    **{name: Operation(("number",) * 2, "bool", doc) for name, doc in _COMPARE.items()},
    "isnan": Operation(("number",), "bool", "whether x is NaN"),
    "isinf": Operation(("number",), "bool", "whether x is infinite"),
    "and": Operation(("bool",) * 2, "bool", "both"),
    "or": Operation(("bool",) * 2, "bool", "either"),
    "not": Operation(("bool",), "bool", "the opposite"),
    "select": Operation(("bool", "number", "number"), "number", "a where the condition holds, else b"),
}

REDUCTIONS = ("sum", "mean", "prod", "max", "min", "var")


def children(node: Expression) -> tuple[Expression, ...]:
    """The operands of a node."""
    if isinstance(node, Apply):
        return node.args
    if isinstance(node, Cast | Reduce):
        return (node.arg,)
    return (node.like,) if isinstance(node, Index) else ()


def walk(node: Expression) -> Iterator[Expression]:
    """The nodes of a tree, operands first."""
    for child in children(node):
        yield from walk(child)
    yield node


# ---- text: the inverse of formula.parse ----------------------------------------------------------

#: operation -> (spelling, binding strength); a power binds tighter than the sign before it.
_INFIX = {
    "or": (" or ", 1),
    "and": (" and ", 2),
    "eq": (" == ", 4),
    "ne": (" != ", 4),
    "lt": (" < ", 4),
    "le": (" <= ", 4),
    "gt": (" > ", 4),
    "ge": (" >= ", 4),
    "add": (" + ", 5),
    "sub": (" - ", 5),
    "mul": ("*", 6),
    "div": ("/", 6),
    "floordiv": ("//", 6),
    "mod": (" % ", 6),
    "pow": ("^", 8),
}
_TIGHTEST = 9
_NAMED = {math.pi: "pi", math.e: "e"}


def to_text(node: Expression) -> str:
    """The expression as formula text; parsing it gives the same tree."""
    return _text(node)[0]


def _text(node: Expression) -> tuple[str, int]:
    if isinstance(node, Constant):
        return _constant_text(node)
    if isinstance(node, Input | Local | AttributeRef):
        return node.name, _TIGHTEST
    if isinstance(node, Given):
        return f"given({node.name})", _TIGHTEST
    if isinstance(node, Cast):
        return f"{dtypes.name(node.dtype)}({to_text(node.arg)})", _TIGHTEST
    if isinstance(node, Reduce):
        keep = "" if node.keepdims else ", keepdims=false"
        return f"{node.op}({to_text(node.arg)}, axis={_axes_text(node.axes)}{keep})", _TIGHTEST
    if isinstance(node, Index):
        return (
            f"{'size' if node.size else 'index'}({to_text(node.like)}, axis={_axes_text(node.axis)})",
            _TIGHTEST,
        )
    return _apply_text(node)


def _apply_text(node: Apply) -> tuple[str, int]:
    parts = [_text(arg) for arg in node.args]
    if node.op == "neg":
        return "-" + _grouped(parts[0], 7), 7
    if node.op == "not":
        return "not " + _grouped(parts[0], 3), 3
    if node.op in _INFIX:
        spelling, strength = _INFIX[node.op]
        right_first = node.op == "pow"
        left_strength = strength + (right_first or node.op in ("eq", "ne", "lt", "le", "gt", "ge"))
        left = _grouped(parts[0], left_strength)
        right = _grouped(parts[1], 7 if right_first else strength + 1)
        return f"{left}{spelling}{right}", strength
    name = "where" if node.op == "select" else node.op
    return f"{name}({', '.join(text for text, _ in parts)})", _TIGHTEST


def _grouped(part: tuple[str, int], strength: int) -> str:
    text, own = part
    return text if own >= strength else f"({text})"


def _axes_text(axes: tuple[int, ...] | int | AttributeRef) -> str:
    if isinstance(axes, AttributeRef):
        return axes.name
    if isinstance(axes, int):
        return str(axes)
    return str(axes[0]) if len(axes) == 1 else "[" + ", ".join(map(str, axes)) + "]"


def _constant_text(node: Constant) -> tuple[str, int]:
    value = node.value
    if isinstance(value, bool):
        return str(value).lower(), _TIGHTEST
    if isinstance(value, str):
        return f'"{value}"', _TIGHTEST
    if value != value:
        return "nan", _TIGHTEST
    if value < 0 or str(float(value)) == "-0.0":
        return "(" + _number_text(value) + ")", _TIGHTEST
    return _number_text(value), _TIGHTEST


def _number_text(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    number = float(value)
    if number in _NAMED:
        return _NAMED[number]
    return (
        str(int(number))
        if number.is_integer() and abs(number) < 1e15 and str(number) != "-0.0"
        else repr(number)
    )
