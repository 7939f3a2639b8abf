"""ScaledDotProductAttention as one call of kernel attention (native/kernels/attention/attention.c)."""

from __future__ import annotations

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.views import permuted
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.element_types import FLOAT32
from ascend_ep.plan.kernel_params import ATTENTION, ATTENTION_FLOATS

AXES = 4


def _four_axes(b: PlanBuilder, given: Operand) -> Ref:
    """A mask with leading axes of 1."""
    if given.rank > AXES:
        raise Unsupported(f"its mask has rank {given.rank}")
    return b.view(b.ref(given), [*[1] * (AXES - given.rank), *given.dims])


@lowers("scaled_dot_product_attention")
def lower_attention(node: NodeView, b: PlanBuilder) -> None:
    q, k, v = (needed(node.inputs, i) for i in range(3))
    mask, y = operand(node.inputs, 3), needed(node.outputs, 0)
    for each in (q, k, v, mask):
        if each is not None and each.dtype != FLOAT32:
            raise Unsupported("only float32 has a native attention")
    if any(each.rank != AXES for each in (q, k, v)):
        raise Unsupported("q, k and v don't have four axes")
    key = b.strided(k)
    if node.attr("key_transposed", 0):
        key = permuted(b, key, (0, 1, 3, 2))
    rows = None if mask is None else _four_axes(b, mask)
    heads_last, nan_to_zero = int(node.attr("heads_last", 0)), int(node.attr("nan_to_zero", 0))
    ints = ATTENTION.pack(heads_last=heads_last, nan_to_zero=nan_to_zero, causal=0, offset=0, narrow=0)
    floats = ATTENTION_FLOATS.pack(scale=float(node.attr("scale", 1.0)))
    b.emit("attention", [b.ref(q), key, b.ref(v), rows], [b.out(y)], ints, floats)
