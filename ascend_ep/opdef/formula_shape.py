"""The dims that a formula gives its outputs."""

from __future__ import annotations

from ascend_ep.errors import AscendError
from ascend_ep.opdef.broadcast import broadcast
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.expression import Apply, AttributeRef, Cast, Expression, Index, Input, Local, Reduce
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.shape_rule import Environment, Inapplicable, Shape, Unknown
from ascend_ep.opdef.specialize import specialize


def formula_shapes(opdef: OpDef, environment: Environment) -> list[Shape]:
    """The dims of every output. Raises Unknown or Inapplicable."""
    try:
        program = specialize(formula_program(opdef), environment.attributes, environment.given)
    except AscendError as error:
        raise Inapplicable(error.text) from None
    scope = _Scope(environment)
    for name, value in program.lets:
        scope.locals[name] = scope.shape(value)
    return [scope.shape(value) for _, value in program.outputs]


class _Scope:
    """Shapes of the expressions of a specialized program."""

    def __init__(self, environment: Environment) -> None:
        self.inputs = environment.shapes
        self.locals: dict[str, Shape] = {}

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


def resolve_axes(axes: tuple[int, ...] | int | AttributeRef, rank: int) -> tuple[int, ...]:
    """Distinct axes of a specialized node, counted from the front. Raises Inapplicable."""
    assert not isinstance(axes, AttributeRef), "a specialized program has no attributes"
    numbers = (axes,) if isinstance(axes, int) else axes
    for axis in numbers:
        if not -rank <= axis < rank:
            raise Inapplicable(f"axis {axis} is outside a tensor of rank {rank}")
    normal = tuple(axis % rank for axis in numbers)
    if len(set(normal)) != len(normal):
        raise Inapplicable(f"axes {list(numbers)} repeat")
    return normal


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """The shape after reducing over `axes`."""
    if keepdims:
        return tuple(1 if i in axes else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in axes)
