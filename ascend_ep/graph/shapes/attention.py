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
        q = (q[0], heads, q[1], floordiv(q[2], heads))
        k = (k[0], kv_heads, k[1], floordiv(k[2], kv_heads))
        v = (v[0], kv_heads, v[1], floordiv(v[2], kv_heads))
        flat = True
    else:
        flat = False
    call.require(q[3], k[3], "the head size of Q and K")
    past: Dim = call.dims(4, 4)[2] if call.has(4) else 0
    total = past + k[2]
    y: list[Dim] = [q[0], q[2], q[1] * v[3]] if flat else [q[0], q[1], q[2], v[3]]
    present_key: list[Dim] = [k[0], k[1], total, k[3]]
    present_value: list[Dim] = [v[0], v[1], total, v[3]]
    dtype = call.dtype(0)
    facts = [Fact(dtype, y), Fact(call.dtype(1), present_key), Fact(call.dtype(2), present_value)]
    return [*facts, Fact(dtype, [q[0], q[1], q[2], total])][: call.n_outputs]
