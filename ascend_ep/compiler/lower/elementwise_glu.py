"""SwiGLU: silu(gate) up, of two tensors or of the halves of one."""

from __future__ import annotations

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.views import broadcast
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, lowers
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import SWIGLU


@lowers("swiglu")
def lower_swiglu(node: NodeView, b: PlanBuilder) -> None:
    gate, up, target = needed(node.inputs, 0), operand(node.inputs, 1), needed(node.outputs, 0)
    given = [b.ref(gate)] if up is None else [b.ref(gate), broadcast(b, b.ref(up), gate.dims)]
    ins = [x if x.rank == 0 or static(b.strides(x)[-1]) == 1 else b.contiguous(x) for x in given]
    b.emit("swiglu", ins, [b.out(target)], SWIGLU.pack(up_first=0, interleaved=0))
