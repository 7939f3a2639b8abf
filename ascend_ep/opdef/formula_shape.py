"""The dims that a formula gives its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ascend_ep.errors import AscendError
from ascend_ep.opdef.broadcast import broadcast
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.expression import (
    MOVES,
    All,
    Apply,
    AttributeRef,
    AxisRange,
    Cast,
    Expression,
    Index,
    Input,
    Local,
    MatMul,
    Program,
    Reduce,
    SumTo,
    TopK,
    Unsqueeze,
    children,
)
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.moves import moved_shape
from ascend_ep.opdef.shape_rule import Environment, Inapplicable, Shape, Unknown
from ascend_ep.opdef.specialize import specialize


def formula_shapes(opdef: OpDef, environment: Environment) -> list[Shape]:
    """The dims of every output. Raises Unknown or Inapplicable."""
    try:
        program = specialize(formula_program(opdef), environment.attributes, environment.given)
    except AscendError as error:
        raise Inapplicable(error.text) from None
    return ShapeScope(environment.shapes).outputs(program)


class ShapeScope:
    """Shapes of the expressions of a specialized program; subclasses look at every node as it is read."""

    def __init__(self, inputs: Mapping[str, Shape | None]) -> None:
        self.inputs = inputs
        self.locals: dict[str, Shape] = {}

    def outputs(self, program: Program) -> list[Shape]:
        """The shape of every output. Raises Unknown or Inapplicable."""
        for name, value in program.lets:
            self.locals[name] = self.shape(value)
        return [self.shape(value) for _, value in program.outputs]

    def shape(self, node: Expression) -> Shape:
        if isinstance(node, Input):
            return self.input(node.name)
        if isinstance(node, Local):
            return self.locals[node.name]
        if isinstance(node, Cast):
            return self.shape(node.arg)
        if isinstance(node, Reduce):
            shape = self.shape(node.arg)
            return reduced_shape(shape, resolve_axes(node.axes, len(shape)), node.keepdims)
        if isinstance(node, Index):
            shape = self.shape(node.like)
            (axis,) = resolve_axes(node.axis, len(shape))
            return () if node.size else tuple(d if i == axis else 1 for i, d in enumerate(shape))
        if isinstance(node, TopK):
            return topk_shape(node, self.shape(node.arg))
        if isinstance(node, Unsqueeze):
            return unsqueezed_shape(node, self.shape(node.arg))
        if isinstance(node, SumTo):
            shape, like = self.shape(node.arg), self.shape(node.like)
            folded_dims(shape, like)
            return like
        if isinstance(node, MatMul):
            return product_shape(self.shape(node.a), self.shape(node.b))
        if isinstance(node, MOVES):
            return moved_shape(node, [self.shape(c) for c in children(node)])
        if not isinstance(node, Apply):
            return ()
        try:
            return broadcast(*map(self.shape, node.args))
        except ValueError as error:
            raise Inapplicable(str(error)) from None

    def input(self, name: str) -> Shape:
        if name not in self.inputs:
            raise Inapplicable(f"input [{name}] is not given")
        shape = self.inputs[name]
        if shape is None:
            raise Unknown
        return shape


def resolve_axes(axes: tuple[int, ...] | int | AttributeRef | AxisRange | All, rank: int) -> tuple[int, ...]:
    """Distinct axes of a specialized node, counted from the front. Raises Inapplicable."""
    assert not isinstance(axes, AttributeRef), "a specialized program has no attributes"
    if axes == "all":
        return tuple(range(rank))
    if isinstance(axes, AxisRange):
        first = _number(axes.first)
        if not -rank <= first <= rank:
            raise Inapplicable(f"axis {first} is outside a tensor of rank {rank}")
        return tuple(range(*slice(first, axes.stop).indices(rank)))
    numbers = (axes,) if isinstance(axes, int) else axes
    for axis in numbers:
        if not -rank <= axis < rank:
            raise Inapplicable(f"axis {axis} is outside a tensor of rank {rank}")
    normal = tuple(axis % rank for axis in numbers)
    if len(set(normal)) != len(normal):
        raise Inapplicable(f"axes {list(numbers)} repeat")
    return normal


def _number(axis: int | AttributeRef) -> int:
    assert isinstance(axis, int), "a specialized program has no attributes"
    return axis


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """The shape after reducing over `axes`."""
    if keepdims:
        return tuple(1 if i in axes else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in axes)


def topk_axis(node: TopK, shape: Sequence[Dim]) -> int:
    """The axis of a specialized node, from the front. Raises Inapplicable, also for fewer than k elements."""
    assert isinstance(node.k, int), "it is specialized"
    (axis,) = resolve_axes(node.axis, len(shape))
    length = shape[axis]
    if node.k < 0 or (isinstance(length, int) and node.k > length):
        raise Inapplicable(f"k is {node.k}, but axis {axis} has {length} elements")
    return axis


def topk_shape(node: TopK, shape: Shape) -> Shape:
    """The shape of a top-k of a tensor of `shape`. Raises Inapplicable."""
    axis = topk_axis(node, shape)
    assert isinstance(node.k, int), "it is specialized"
    return (*shape[:axis], node.k, *shape[axis + 1 :])


def unsqueezed_shape(node: Unsqueeze, shape: Shape) -> Shape:
    """The shape with 1 at the node's axes. Raises Inapplicable."""
    assert isinstance(node.axes, tuple), "a specialized program has no attributes"
    rank = len(shape) + len(node.axes)
    axes = resolve_axes(node.axes, rank)
    dims = iter(shape)
    return tuple(1 if i in axes else next(dims) for i in range(rank))


def product_shape(a: Shape, b: Shape) -> Shape:
    """The shape of a matrix product, by NumPy's rules. Raises Inapplicable."""
    if not a or not b:
        raise Inapplicable("a matrix product takes no single numbers")
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    inner, other = a[-1], b[-2] if len(b) > 1 else b[0]
    if inner != other and isinstance(inner, int) and isinstance(other, int):
        raise Inapplicable(f"the matrix product of {list(a)} and {list(b)}: {inner} isn't {other}")
    try:
        return (*broadcast(a[:-2], b[:-2]), *rows, *columns)
    except ValueError as error:
        raise Inapplicable(str(error)) from None


def folded_dims(shape: Sequence[Dim], like: Sequence[Dim]) -> tuple[int, ...]:
    """The axes of `shape` that SumTo sums for the shape `like`. Raises Inapplicable when they don't fit."""
    extra = max(0, len(shape) - len(like))
    folded = list(range(extra))
    for axis in range(extra, len(shape)):
        have, want = shape[axis], like[axis - len(shape)]
        if want == 1 and have != 1:
            folded.append(axis)
        elif have not in (want, 1) and isinstance(have, int) and isinstance(want, int):
            raise Inapplicable(f"dimension {have} of {list(shape)} doesn't fit {want} of {list(like)}")
    return tuple(folded)
