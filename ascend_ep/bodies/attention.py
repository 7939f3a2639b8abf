"""Attention and MultiHeadAttention of onnxruntime, by ONNX's Attention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ascend_ep.bodies.body import Body, written
from ascend_ep.opdef.dims import Dim
from ascend_ep.plan.node_view import Operand, Unsupported

#: What is added to scores that the mask hides, unless the node says so, and to those of later tokens.
HIDDEN = -10000.0
LOWEST = float(np.finfo(np.float32).min)


@dataclass
class Scores:
    """What is known of the matrix of scores; `keys`: how many there are, past and new."""

    batch: Dim
    keys: Dim
    #: of the values [B, H, S, D] that they are made of
    queries: str
    new: str
    past: str = ""


@written("contributed_attention")
def write_attention(body: Body) -> None:
    """The projections of one input, and self attention over them. Past and present hold keys, then values."""
    source, weights = body.needed(0), body.needed(1)
    bias, mask, past = body.given(2), body.operand(3), body.operand(4)
    body.refuse(bool(body.integer("do_rotary")), "it rotates")
    body.refuse(bool(body.integer("past_present_share_buffer")), "its cache is a buffer")
    sizes = [int(v) for v in body.node.attr("qkv_hidden_sizes", [])]
    projected = body.add("MatMul", source.name, weights.name)
    projected = body.add("Add", projected, bias) if bias else projected
    split = {"num_outputs": 3} if not sizes else {}
    names = ["body.q", "body.k", "body.v"]
    body.several("Split", [projected, *([body.constant(sizes)] if sizes else [])], names, axis=-1, **split)
    q, k, v = (_apart(body, name) for name in names)
    pasts = ["", ""]
    if past is not None:
        pasts = [body.add("Gather", past.name, body.constant(i), axis=0) for i in range(2)]
    before: Dim = past.dims[3] if past is not None else 0
    scores = Scores(source.dims[0], before + source.dims[1], q, k, pasts[0])
    present = ["body.keys", "body.values"] if body.wanted(1) else ["", ""]
    _attend(body, [q, k, v], scores, mask, body.given(5), pasts, present)
    if body.wanted(1):
        both = [body.along(name, [0]) for name in present]
        body.add("Concat", *both, axis=0, into=body.wanted(1))


@written("multi_head_attention")
def write_multi_head_attention(body: Body) -> None:
    """Queries, keys and values that are projected already; keys and values also as [B, H, S, D]."""
    q, k, v = (body.operand(i) for i in range(3))
    if q is None or k is None or v is None or q.rank != 3 or k.rank not in (3, 4):
        raise Unsupported("its queries, keys and values are in one tensor")
    buffer = body.given(8) or body.given(9)
    body.refuse(bool(buffer or body.wanted(3)), "its cache is a buffer, or it hands out its scores")
    new = k.dims[1 if k.rank == 3 else 2]
    if body.integer("unidirectional") and new != q.dims[1]:
        raise Unsupported("it hides later tokens, and has not as many keys as queries")
    names = _with_bias(body, [q, k, v])
    parts = [_apart(body, name) if o.rank == 3 else name for name, o in zip(names, (q, k, v), strict=True)]
    past = body.operand(6)
    before: Dim = past.dims[2] if past is not None else 0
    pasts = [body.given(6), body.given(7)]
    scores = Scores(q.dims[0], before + new, parts[0], parts[1], pasts[0])
    present = [body.wanted(1), body.wanted(2)]
    _attend(body, parts, scores, body.operand(4), body.given(5), pasts, present)


def _with_bias(body: Body, parts: list[Operand]) -> list[str]:
    """Each part with its share of the biases; keys and values with four axes have theirs already."""
    names, bias = [p.name for p in parts], body.given(3)
    if not bias:
        return names
    heads = body.integer("num_heads")
    sizes = [p.dims[2] if p.rank == 3 else p.dims[3] * heads for p in parts]
    if not all(isinstance(s, int) for s in sizes):
        raise Unsupported("its hidden size is known only at run time")
    shares = [f"body.bias{i}" for i in range(3)]
    body.several("Split", [bias, body.constant(sizes)], shares, axis=0)
    added = zip(parts, shares, strict=True)
    return [body.add("Add", p.name, share) if p.rank == 3 else p.name for p, share in added]


def _apart(body: Body, name: str) -> str:
    """[B, S, H D] as [B, H, S, D]."""
    heads = body.integer("num_heads")
    split = body.add("Reshape", name, body.constant([0, 0, heads, -1]))
    return body.add("Transpose", split, perm=[0, 2, 1, 3])


def _attend(
    body: Body,
    parts: list[str],
    scores: Scores,
    mask: Operand | None,
    added: str,
    pasts: list[str],
    present: list[str],
) -> None:
    causal = body.integer("unidirectional")
    amounts = "" if mask is None else _hidden(body, mask, scores)
    if amounts and causal:
        amounts, causal = (
            body.add("Where", _later(body, scores), body.constant(LOWEST, np.float32), amounts),
            0,
        )
    amounts = body.add("Add", amounts, added) if amounts and added else amounts or added
    scale = {"scale": number} if (number := body.number("scale", 0.0)) else {}
    body.several("Attention", [*parts, amounts, *pasts], ["body.y", *present], is_causal=causal, **scale)
    together = body.add("Transpose", "body.y", perm=[0, 2, 1, 3])
    body.add("Reshape", together, body.constant([0, 0, -1]), into=body.wanted(0))


def _keys(body: Body, scores: Scores) -> str:
    """How many keys there are, as a scalar."""
    new = body.size(scores.new, 2)
    return body.add("Add", body.size(scores.past, 2), new) if scores.past else new


def _later(body: Body, scores: Scores) -> str:
    """[S, L]: whether a key is of a later token than the query."""
    rows = body.counted(body.size(scores.queries, 2))
    rows = body.add("Add", rows, body.size(scores.past, 2)) if scores.past else rows
    return body.add("Less", body.along(rows, [1]), body.counted(_keys(body, scores)))


def _hidden(body: Body, mask: Operand, scores: Scores) -> str:
    """[B, 1, 1 or S, L] to be added to the scores; "" where the mask hides nothing."""
    if mask.rank == 2 and mask.dims[1] == 1:
        return ""  # stands for no mask
    if mask.rank in (2, 3):
        seen = body.add("Greater", mask.name, body.constant(0, np.int32))
    elif mask.rank == 1:
        seen = _within(body, mask, scores)
    else:
        raise Unsupported(f"its mask has rank {mask.rank}")
    hidden = body.constant(body.number("mask_filter_value", HIDDEN), np.float32)
    amounts = body.add("Where", seen, body.constant(0.0, np.float32), hidden)
    return body.along(amounts, [1] if mask.rank == 3 else [1, 2])


def _within(body: Body, mask: Operand, scores: Scores) -> str:
    """[B, L]: whether a key lies before its row's end, and not before its start where the mask has starts."""
    batch, (count,) = scores.batch, mask.dims
    if count not in (batch, 2 * batch, 3 * batch + 2):
        raise Unsupported(f"its mask has shape {list(mask.dims)}")
    places = body.counted(_keys(body, scores))
    if count == batch:
        return body.add("Less", places, _column(body, mask.name, 0, scores))
    seen = body.add("Less", places, _column(body, mask.name, 0, scores))
    if count != 2 * batch:
        return seen
    started = body.add("GreaterOrEqual", places, _column(body, mask.name, 1, scores))
    return body.add("And", seen, started)


def _column(body: Body, name: str, part: int, scores: Scores) -> str:
    """Numbers part*B to part*B + B of a vector, as [B, 1]."""
    batch = body.add("Shape", scores.queries, start=0, end=1)
    begin = body.add("Mul", batch, body.constant([part]))
    taken = body.add("Slice", name, begin, body.add("Add", begin, batch))
    return body.along(body.add("Cast", taken, to=7), [1])
