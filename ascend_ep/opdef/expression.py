"""The tensor-expression form: what a formula means, independent of how it was written.

A Program is straight-line: named intermediate values, then one expression per output. Expressions are
trees of the node classes below; all tensors broadcast as NumPy's do. Arithmetic is in the compute
type of the reader (float64 in the reference, float32 in kernels); results are rounded to the output's
element type. Each operation takes and gives numbers or truth values as operations.py says: the parser has
put conversions where the text mixes them.

Elementwise instructions of a plan hold such expressions, too, over typed values (plan/tile_expression.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ascend_ep.opdef.dims import Dim

Kind = Literal["number", "bool", "text"]
All = Literal["all"]


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


@dataclass(frozen=True, eq=False)
class Number:
    """A constant of an element type (ONNX number); a whole one may be a size of the model. In instructions
    only."""

    value: Dim | float
    dtype: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[int, str]:
        return self.dtype, repr(self.value)


@dataclass(frozen=True)
class Position:
    """int64: each element's row-major position in the result. In instructions only."""


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
class AxisRange:
    """The axes from `first` on, before `stop`; None: to the last. Negative ones count from the end."""

    first: int | AttributeRef = 0
    stop: int | None = None


@dataclass(frozen=True)
class Apply:
    """An elementwise operation (operations.py) on broadcast operands."""

    op: str
    args: tuple[Expression, ...]


@dataclass(frozen=True)
class Cast:
    """Rounding to an element type (ONNX number): the value continues in the compute type."""

    dtype: int
    arg: Expression


@dataclass(frozen=True)
class Reduce:
    """One of REDUCTIONS over axes, negative ones from the end, or over all. argmax and argmin take a single
    axis; any and all take and give truth values."""

    op: str
    arg: Expression
    axes: tuple[int, ...] | AttributeRef | AxisRange | All = (-1,)
    keepdims: bool = True


@dataclass(frozen=True)
class Index:
    """0, 1, 2, ... along one axis of `like`, all other dimensions 1; with `size` the axis' length."""

    like: Expression
    axis: int | AttributeRef = -1
    size: bool = False


@dataclass(frozen=True)
class TopK:
    """The k largest (or smallest) along an axis, best first, or with `indices` where they are. Of equal
    ones the lower index comes first; NaN counts as larger than every number."""

    arg: Expression
    k: int | AttributeRef
    axis: int | AttributeRef = -1
    largest: bool | AttributeRef = True
    indices: bool = False


@dataclass(frozen=True)
class Unsqueeze:
    """`arg` with new dimensions of 1 at these axes of the result: undoes keepdims=false."""

    arg: Expression
    axes: tuple[int, ...] | AttributeRef = (-1,)


@dataclass(frozen=True)
class SumTo:
    """`arg` in exactly the shape of `like`: summed over dimensions that `like` lacks or has as 1, repeated
    along those that `arg` lacks or has as 1. The gradient of broadcasting."""

    arg: Expression
    like: Expression


@dataclass(frozen=True)
class MatMul:
    """The matrix products of the last two dimensions of a and b, those before broadcast; one dimension is a
    row of a or a column of b, which the result lacks."""

    a: Expression
    b: Expression


@dataclass(frozen=True)
class Transpose:
    """`arg` with two axes swapped."""

    arg: Expression
    first: int | AttributeRef = -2
    second: int | AttributeRef = -1


@dataclass(frozen=True)
class Slice:
    """The elements `start`, `start` + `step`, ... below `stop` along an axis, counted as Python counts: from
    the end when negative, None the end itself."""

    arg: Expression
    axis: int | AttributeRef = -1
    start: int = 0
    stop: int | None = None
    step: int = 1


@dataclass(frozen=True)
class Chunk:
    """Part `index` of an axis that is cut in `count` parts of one size, but for the last."""

    arg: Expression
    count: int
    index: int
    axis: int | AttributeRef = -1


@dataclass(frozen=True)
class Windows:
    """Windows that slide along an axis: `size` elements `dilation` apart along a new last axis, the next
    window `stride` further. `before` and `after` elements beyond the axis are `fill`."""

    arg: Expression
    size: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    fill: float = 0.0
    axis: int | AttributeRef = -1


@dataclass(frozen=True)
class Concat:
    """The operands one behind the other along an axis; their other dimensions are equal."""

    args: tuple[Expression, ...]
    axis: int | AttributeRef = -1


@dataclass(frozen=True)
class Take:
    """The slices of `arg` at `indices` of an axis: the dimensions of `indices` stand in its place. Negative
    ones count from the end; beyond it they are an error."""

    arg: Expression
    indices: Expression
    axis: int | AttributeRef = 0


@dataclass(frozen=True)
class AddAt:
    """Zeros in the shape of `like`, to which the slices of `arg` are added at `indices` of an axis: the
    gradient of Take. The dimensions of `indices` stand in the axis' place in `arg`."""

    arg: Expression
    indices: Expression
    like: Expression
    axis: int | AttributeRef = 0


Expression = (
    Constant
    | Number
    | Position
    | Input
    | Local
    | AttributeRef
    | Given
    | Apply
    | Cast
    | Reduce
    | Index
    | TopK
    | Unsqueeze
    | SumTo
    | MatMul
    | Transpose
    | Slice
    | Chunk
    | Windows
    | Concat
    | Take
    | AddAt
)
#: Nodes that put the elements of their operands elsewhere.
MOVES = (Transpose, Slice, Chunk, Windows, Concat, Take, AddAt)


@dataclass(frozen=True)
class Program:
    """`lets` in order, each usable by later ones; then the outputs in the definition's order."""

    lets: tuple[tuple[str, Expression], ...]
    outputs: tuple[tuple[str, Expression], ...]

    def expressions(self) -> Iterator[Expression]:
        """Every node of the program, operands before what uses them."""
        for _, value in (*self.lets, *self.outputs):
            yield from walk(value)


@dataclass(frozen=True)
class Reduction:
    """The kinds of its argument and of its result, and what it computes."""

    takes: tuple[Kind, ...]
    gives: Kind
    doc: str


#: Every reduction. var is of the whole population; argmax and argmin give the first of equal positions, and
#: NaN wins, as in max and min.
REDUCTIONS: dict[str, Reduction] = {
    "sum": Reduction(("number",), "number", "the sum"),
    "mean": Reduction(("number",), "number", "the arithmetic mean"),
    "prod": Reduction(("number",), "number", "the product"),
    "max": Reduction(("number",), "number", "the largest; NaN if any is"),
    "min": Reduction(("number",), "number", "the smallest; NaN if any is"),
    "var": Reduction(("number",), "number", "mean squared distance from the mean"),
    "logsumexp": Reduction(("number",), "number", "log(sum(exp(x))) without overflow"),
    "any": Reduction(("bool",), "bool", "whether one holds"),
    "all": Reduction(("bool",), "bool", "whether every one holds"),
    "argmax": Reduction(("number",), "number", "the position of the first largest"),
    "argmin": Reduction(("number",), "number", "the position of the first smallest"),
}


def gives_positions(node: Expression) -> bool:
    """Whether its values are int64 positions along an axis."""
    if isinstance(node, Reduce):
        return node.op in ("argmax", "argmin")
    return isinstance(node, TopK) and node.indices


def children(node: Expression) -> tuple[Expression, ...]:
    """The operands of a node."""
    if isinstance(node, Apply):
        return node.args
    if isinstance(node, Cast | Reduce | TopK | Unsqueeze | Transpose | Slice | Chunk | Windows):
        return (node.arg,)
    if isinstance(node, Concat):
        return node.args
    if isinstance(node, Take):
        return (node.arg, node.indices)
    if isinstance(node, AddAt):
        return (node.arg, node.indices, node.like)
    if isinstance(node, SumTo):
        return (node.arg, node.like)
    if isinstance(node, MatMul):
        return (node.a, node.b)
    return (node.like,) if isinstance(node, Index) else ()


def with_children(node: Expression, operands: Sequence[Expression]) -> Expression:
    """The node over other operands, in the order of children()."""
    if isinstance(node, Apply):
        return Apply(node.op, tuple(operands))
    if isinstance(node, Cast | Reduce | TopK | Unsqueeze | Transpose | Slice | Chunk | Windows):
        return replace(node, arg=operands[0])
    if isinstance(node, Concat):
        return replace(node, args=tuple(operands))
    if isinstance(node, Take):
        return replace(node, arg=operands[0], indices=operands[1])
    if isinstance(node, AddAt):
        return replace(node, arg=operands[0], indices=operands[1], like=operands[2])
    if isinstance(node, SumTo):
        return SumTo(operands[0], operands[1])
    if isinstance(node, MatMul):
        return MatMul(operands[0], operands[1])
    return replace(node, like=operands[0]) if isinstance(node, Index) else node


def walk(node: Expression) -> Iterator[Expression]:
    """The nodes of a tree, operands first."""
    for child in children(node):
        yield from walk(child)
    yield node
