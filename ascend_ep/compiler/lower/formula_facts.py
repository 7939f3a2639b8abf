"""Dims and kinds of the expressions of a node's formula."""

from __future__ import annotations

from ascend_ep.compiler.lowering import Dim, Operand, Unsupported
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.broadcast import broadcast
from ascend_ep.opdef.expression import (
    MOVES,
    REDUCTIONS,
    Apply,
    Cast,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    MatMul,
    Reduce,
    SumTo,
    TopK,
    Unsqueeze,
    children,
)
from ascend_ep.opdef.formula_shape import (
    product_shape,
    reduced_shape,
    resolve_axes,
    topk_shape,
    unsqueezed_shape,
)
from ascend_ep.opdef.moves import moved_shape
from ascend_ep.opdef.operations import OPERATIONS
from ascend_ep.opdef.shape_rule import Inapplicable


class FormulaFacts:
    """What is known of a specialized program before it runs."""

    def __init__(self, operands: dict[str, Operand], lets: dict[str, Expression]) -> None:
        self.operands = operands
        self.lets = lets
        self._dims: dict[Expression, tuple[Dim, ...]] = {}

    def dims(self, node: Expression) -> tuple[Dim, ...]:
        if node not in self._dims:
            try:
                self._dims[node] = self.find_dims(node)
            except Inapplicable as error:
                raise Unsupported(f"its formula doesn't fit its inputs: {error}") from None
        return self._dims[node]

    def find_dims(self, node: Expression) -> tuple[Dim, ...]:
        if isinstance(node, Input):
            return self.operands[node.name].dims
        if isinstance(node, Local):
            return self.dims(self.lets[node.name])
        if isinstance(node, Cast):
            return self.dims(node.arg)
        if isinstance(node, Reduce):
            return reduced_shape(self.dims(node.arg), tuple(self.axes(node)), node.keepdims)
        if isinstance(node, TopK):
            return topk_shape(node, self.dims(node.arg))
        if isinstance(node, Unsqueeze):
            return unsqueezed_shape(node, self.dims(node.arg))
        if isinstance(node, SumTo):
            return self.dims(node.like)
        if isinstance(node, MatMul):
            return product_shape(self.dims(node.a), self.dims(node.b))
        if isinstance(node, MOVES):
            return moved_shape(node, [self.dims(c) for c in children(node)])
        if isinstance(node, Index):
            dims, axis = self.dims(node.like), self.index_axis(node)
            return () if node.size else tuple(d if i == axis else 1 for i, d in enumerate(dims))
        return broadcast(*map(self.dims, node.args)) if isinstance(node, Apply) else ()

    def axes(self, node: Reduce) -> list[int]:
        return sorted(resolve_axes(node.axes, len(self.dims(node.arg))))

    def index_axis(self, node: Index) -> int:
        return resolve_axes(node.axis, len(self.dims(node.like)))[0]

    def is_bool(self, node: Expression) -> bool:
        """Whether the node gives truth values."""
        if isinstance(node, Local):
            return self.is_bool(self.lets[node.name])
        if isinstance(node, Input):
            return self.operands[node.name].dtype == dtypes.BOOL
        if isinstance(node, Reduce):
            return REDUCTIONS[node.op].gives == "bool"
        if isinstance(node, Apply):
            return OPERATIONS[node.op].gives == "bool"
        if isinstance(node, MOVES):
            return self.is_bool(children(node)[0])
        return isinstance(node, Constant) and isinstance(node.value, bool)

    def resolved(self, node: Expression) -> Expression:
        """The value that a name stands for."""
        while isinstance(node, Local):
            node = self.lets[node.name]
        return node
