"""Shapes of RotaryEmbedding and Attention."""

from __future__ import annotations

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, infers
from ascend_ep.opdef.dims import Dim, floordiv


@infers("RotaryEmbedding")
def infer_rotary(call: Call) -> Fact:
    dims = call.dims(0)
    if len(dims) not in (3, 4):
        call.fail(f"rank {len(dims)} where 3 or 4 is needed")
    return Fact(dims=dims)


@infers("Attention")
def infer_attention(call: Call) -> list[Fact]:
    """Outputs Y, present_key, present_value, qk_matmul_output of ai.onnx 23 and later."""
    rank = next((f.rank for f in call.inputs[:3] if f is not None and f.rank is not None), None)
    q, k, v = call.dims(0, rank), call.dims(1, rank), call.dims(2, rank)
    if rank not in (3, 4):
        call.fail("Q, K and V must all have rank 3 or 4")
    if len(q) == 3:
        heads, kv_heads = int(call.attr("q_num_heads", 0)), int(call.attr("kv_num_heads", 0))
        if heads < 1 or kv_heads < 1:
            call.fail("rank 3 needs q_num_heads and kv_num_heads")
        q = _four_axes(call, q, heads, "Q")
        k, v = _four_axes(call, k, kv_heads, "K"), _four_axes(call, v, kv_heads, "V")
        flat = True
    else:
        flat = False
    call.require(q[3], k[3], "the head size of Q and K")
    call.require(q[0], k[0], "the batch of Q and K")
    call.require(q[0], v[0], "the batch of Q and V")
    call.require(k[1], v[1], "the heads of K and V")
    call.require(k[2], v[2], "the length of K and V")
    past: Dim = call.dims(4, 4)[2] if call.has(4) else 0
    for index, new, name in ((4, k, "past_key"), (5, v, "past_value")):
        if call.has(index):
            before = call.dims(index, 4)
            for axis in (0, 1, 3):
                call.require(before[axis], new[axis], f"axis {axis} of {name} and what is new")
            call.require(before[2], past, f"the length of {name} and past_key")
    total = past + k[2]
    y: list[Dim] = [q[0], q[2], q[1] * v[3]] if flat else [q[0], q[1], q[2], v[3]]
    present_key: list[Dim] = [k[0], k[1], total, k[3]]
    present_value: list[Dim] = [v[0], v[1], total, v[3]]
    dtype = call.dtype(0)
    facts = [Fact(dtype, y), Fact(call.dtype(1), present_key), Fact(call.dtype(2), present_value)]
    return [*facts, Fact(dtype, [q[0], q[1], q[2], total])][: call.n_outputs]


def _four_axes(call: Call, dims: tuple[Dim, ...], heads: int, name: str) -> tuple[Dim, Dim, Dim, Dim]:
    """[B, H, S, D] of [B, S, H D]."""
    size = floordiv(dims[2], heads)
    call.require(dims[2], size * heads, f"the last axis of {name}, of {heads} heads,")
    return dims[0], heads, dims[1], size
