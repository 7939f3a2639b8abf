"""Softmax and LogSoftmax. Before opset 13 they take all axes from `axis` on as one."""

from __future__ import annotations

from ascend_ep.compiler.lower.arguments import axis_of, needed
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, lowers
from ascend_ep.plan.kernel_params import SOFTMAX


def _lower(kernel: str, node: NodeView, b: PlanBuilder) -> None:
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    if source.rank == 0:
        axis, axes = 0, 0
    elif node.version < 13:
        axis = axis_of(node, source.rank, 1) if source.rank > 1 or node.has_attr("axis") else 0
        axes = source.rank - axis
    else:
        axis, axes = axis_of(node, source.rank, -1), 1
    b.emit(kernel, [b.ref(source)], [b.out(target)], SOFTMAX.pack(axis=axis, axes=axes))


@lowers("softmax")
def lower_softmax(node: NodeView, b: PlanBuilder) -> None:
    _lower("softmax", node, b)


@lowers("log_softmax")
def lower_log_softmax(node: NodeView, b: PlanBuilder) -> None:
    _lower("log_softmax", node, b)
