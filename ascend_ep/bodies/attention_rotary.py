"""RotaryEmbedding of onnxruntime, by ONNX's."""

from __future__ import annotations

from ascend_ep.bodies.body import Body, written
from ascend_ep.opdef.dims import static


@written("contributed_rotary_embedding")
def write_rotary_embedding(body: Body) -> None:
    """The inputs in another order; one position is that of every row's first token."""
    source, positions, cos, sin = (body.needed(i) for i in range(4))
    heads, rotated = body.integer("num_heads"), body.integer("rotary_embedding_dim")
    kept = {"interleaved": body.integer("interleaved")}
    if source.rank == 3:
        width, half = static(source.dims[-1]), static(cos.dims[-1])
        body.refuse(not heads and None in (width, half), "its number of heads is known only at run time")
        kept["num_heads"] = heads or int(width or 0) // (2 * int(half or 1))
    rows = positions.name
    if positions.rank == 1:
        length = body.size(source.name, 2 if source.rank == 4 else 1)
        batch = body.add("Shape", source.name, start=0, end=1)
        line = body.add("Add", rows, body.counted(length))
        rows = body.add("Expand", line, body.add("Concat", batch, body.add("Shape", line), axis=0))
    named = {"rotary_embedding_dim": rotated} if rotated else {}
    body.add("RotaryEmbedding", source.name, cos.name, sin.name, rows, into=body.wanted(0), **kept, **named)
