"""ONNX Attention (opset 23 on) as a call of kernel attention (kernels/attention/attention.c), after the
copies that make present_key and present_value of what is past and what is new."""

from __future__ import annotations

import math

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.elementwise import Program, emit_program
from ascend_ep.compiler.lower.views import permuted
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import floordiv, static
from ascend_ep.plan.kernel_params import ATTENTION, ATTENTION_FLOATS, CONCAT
from ascend_ep.runtime._rt import lib

Q, K, V, MASK, PAST_KEY, PAST_VALUE, NONPAD = range(7)
Y, PRESENT_KEY, PRESENT_VALUE, SCORES = range(4)
SEQUENCE = 2


@lowers("onnx_attention")
def lower_onnx_attention(node: NodeView, b: PlanBuilder) -> None:
    """Y, present_key, present_value of Q, K, V [B, H, S, D] or [B, S, H D], mask and past."""
    _check(node)
    q, k, v = (needed(node.inputs, i) for i in (Q, K, V))
    flat = q.rank == 3
    heads = [int(node.attr(n, 0)) for n in ("q_num_heads", "kv_num_heads", "kv_num_heads")]
    query, key, value = (_four_axes(b, x, n) for x, n in zip((q, k, v), heads, strict=True))
    past = operand(node.inputs, PAST_KEY)
    offset: Dim = 0 if past is None else past.dims[SEQUENCE]
    key = _present(node, b, key, PAST_KEY, PRESENT_KEY)
    value = _present(node, b, value, PAST_VALUE, PRESENT_VALUE)
    causal = int(node.attr("is_causal", 0) != 0)
    ints = ATTENTION.pack(
        heads_last=int(flat),
        nan_to_zero=lib.ASC_ATTENTION_NAN_MASKED_ZERO,
        causal=causal,
        offset=offset if causal else 0,
        narrow=0,
    )
    floats = ATTENTION_FLOATS.pack(scale=_scale(node, query))
    mask = operand(node.inputs, MASK)
    if mask is not None:
        key, value = (_masked_part(b, x, mask) for x in (key, value))
    ins = [query, key, value, None if mask is None else _added(b, mask)]
    y = needed(node.outputs, Y)
    if not flat:
        b.emit("attention", ins, [b.out(y)], ints, floats)
        return
    batch, many, length, _ = query.dims
    apart = b.temp(y.dtype, [batch, length, many, value.dims[3]])
    b.emit("attention", ins, [apart], ints, floats)
    b.bind(y, b.view(apart, y.dims))


def _check(node: NodeView) -> None:
    """Refuses what the kernel lacks."""
    for given in (*node.inputs[: PAST_VALUE + 1], *node.outputs):
        if given is not None and given.dtype != dtypes.FLOAT32 and given.dtype != dtypes.BOOL:
            raise Unsupported("only float32 has a native attention")
    if operand(node.inputs, NONPAD) is not None:
        raise Unsupported("its nonpad_kv_seqlen has no native attention")
    if operand(node.outputs, SCORES) is not None:
        raise Unsupported("its qk_matmul_output would need the matrix of scores, which is never made")
    if node.attr("softcap", 0.0):
        raise Unsupported("its softcap has no native attention")
    if node.attr("softmax_precision", dtypes.FLOAT32) == dtypes.FLOAT64:
        raise Unsupported("its softmax is to be float64")
    if max(int(node.attr(f"{side}_window_size", -1)) for side in ("left", "right")) >= 0:
        raise Unsupported("its window has no native attention")
    if (operand(node.inputs, PAST_KEY) is None) != (operand(node.inputs, PAST_VALUE) is None):
        raise Unsupported("it has only one of past_key and past_value")


def _four_axes(b: PlanBuilder, given: Operand, heads: int) -> Ref:
    """[B, H, S, D], where [B, S, H D] is seen so."""
    x = b.ref(given)
    if given.rank == 4:
        return x
    batch, length, size = given.dims
    return permuted(b, b.view(x, [batch, length, heads, floordiv(size, heads)]), (0, 2, 1, 3))


def _present(node: NodeView, b: PlanBuilder, new: Ref, past: int, present: int) -> Ref:
    """What is past, and then what is new."""
    before, wanted = operand(node.inputs, past), operand(node.outputs, present)
    if before is None:
        if wanted is not None:
            b.bind(wanted, new)
        return new
    dims = list(new.dims)
    dims[SEQUENCE] = before.dims[SEQUENCE] + dims[SEQUENCE]
    both = b.temp(new.dtype, dims) if wanted is None else b.out(wanted)
    b.emit("concat", [b.ref(before), new], [both], CONCAT.pack(axis=SEQUENCE))
    return both


def _masked_part(b: PlanBuilder, x: Ref, mask: Operand) -> Ref:
    """As many keys, or values, as the mask has: those past its end are not seen."""
    have, told = x.dims[SEQUENCE], mask.dims[-1] if mask.rank else 1
    if have == told:
        return x
    known = static(have), static(told)
    if known[0] is None or known[1] is None:
        raise Unsupported(f"whether its mask of {told} has all {have} keys is known only at run time")
    if known[1] > known[0]:
        raise Unsupported(f"its mask of {told} is longer than its {have} keys")
    return b.view(x, [*x.dims[:SEQUENCE], told, x.dims[3]], 0, b.strides(x))


def _added(b: PlanBuilder, given: Operand) -> Ref:
    """What is added to scores, with four axes: a mask of booleans is 0 where it is true, else -infinity."""
    if given.rank not in (2, 3, 4):
        raise Unsupported(f"its mask has rank {given.rank}")
    mask = b.ref(given)
    if given.dtype == dtypes.BOOL:
        program = Program()
        seen = program.input(mask, dtypes.BOOL)
        hidden = program.const(-math.inf, dtypes.FLOAT32)
        program.output(program.select(seen, 0.0, hidden), dtypes.FLOAT32)
        mask = b.temp(dtypes.FLOAT32, given.dims)
        emit_program(b, program, [mask])
    return b.view(mask, [*[1] * (4 - given.rank), *given.dims])


def _scale(node: NodeView, query: Ref) -> float:
    size = static(query.dims[3])
    if node.has_attr("scale"):
        return float(node.attr("scale"))
    if not size:
        raise Unsupported("its scale follows from a head size that is known only at run time")
    return 1 / math.sqrt(size)
