"""ReverseSequence, TensorScatter, BitCast, Det: a kernel each."""

from __future__ import annotations

from ascend_ep.compiler.lower.arguments import axis_of, enum_of, needed, operand
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, lowers


@lowers("reverse_sequence")
def lower_reverse_sequence(node: NodeView, b: PlanBuilder) -> None:
    ins = [b.ref(needed(node.inputs, i)) for i in range(2)]
    ints = [int(node.attr("batch_axis", 1)), int(node.attr("time_axis", 0))]
    b.emit("reverse_sequence", ins, [b.out(needed(node.outputs, 0))], ints)


@lowers("tensor_scatter")
def lower_tensor_scatter(node: NodeView, b: PlanBuilder) -> None:
    past, update, places = needed(node.inputs, 0), needed(node.inputs, 1), operand(node.inputs, 2)
    ins = [b.ref(past), b.ref(update), b.ref(places) if places else None]
    ints = [axis_of(node, past.rank, -2), enum_of(node, "mode", ("linear", "circular"), "linear")]
    b.emit("tensor_scatter", ins, [b.out(needed(node.outputs, 0))], ints)


@lowers("bit_cast")
def lower_bit_cast(node: NodeView, b: PlanBuilder) -> None:
    b.emit("bitcast", [b.ref(needed(node.inputs, 0))], [b.out(needed(node.outputs, 0))])


@lowers("det")
def lower_det(node: NodeView, b: PlanBuilder) -> None:
    b.emit("det", [b.ref(needed(node.inputs, 0))], [b.out(needed(node.outputs, 0))])
