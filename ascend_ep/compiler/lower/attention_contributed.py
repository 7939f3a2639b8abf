"""Attention and MultiHeadAttention that onnxruntime contributes, by ONNX's Attention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.function_body_written import Body
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Unsupported, lowers
from ascend_ep.opdef import dtypes

#: What is added to scores that the mask hides, unless the node says so.
HIDDEN = -10000.0


@lowers("contributed_attention")
def lower_contributed_attention(node: NodeView, b: PlanBuilder) -> None:
    """Attention of onnxruntime: the projections of one input, and self attention over them."""
    body = Body(node)
    source, weights = needed(node.inputs, 0), needed(node.inputs, 1)
    bias, mask, past, added = (operand(node.inputs, i) for i in range(2, 6))
    if past is not None or body.wanted(1):
        raise Unsupported("it keeps keys and values in one tensor")
    if int(node.attr("do_rotary", 0)):
        raise Unsupported("it rotates")
    heads = int(node.attr("num_heads", 0))
    sizes = [int(v) for v in node.attr("qkv_hidden_sizes", [])]
    projected = body.add("MatMul", source.name, weights.name)
    if bias is not None:
        projected = body.add("Add", projected, bias.name)
    names = ["body.q", "body.k", "body.v"]
    split = {"num_outputs": 3} if not sizes else {}
    body.several("Split", [projected, *([body.constant(sizes)] if sizes else [])], names, axis=-1, **split)
    _attend(node, body, names, _mask(body, mask, added, source), heads, [])
    body.lower(b)


@lowers("multi_head_attention")
def lower_multi_head_attention(node: NodeView, b: PlanBuilder) -> None:
    """Queries, keys and values that are projected already, keys and values also as [B, H, S, D]."""
    body = Body(node)
    q, k, v, bias, mask, added, past_key, past_value = (operand(node.inputs, i) for i in range(8))
    if q is None or k is None or v is None or q.rank != 3 or k.rank not in (3, 4):
        raise Unsupported("its queries, keys and values are in one tensor")
    if any(operand(node.inputs, i) is not None for i in (8, 9)) or body.wanted(3):
        raise Unsupported("its cache is a buffer, or it hands out its scores")
    heads = int(node.attr("num_heads", 0))
    names = [q.name, k.name, v.name]
    if bias is not None:
        names = _with_bias(body, names, bias, (q, k, v))
    past = [past_key.name, past_value.name] if past_key is not None and past_value is not None else []
    if past and mask is not None:
        raise Unsupported("it has a mask of keys and a cache")
    _attend(node, body, names, _mask(body, mask, added, k), heads, past)
    body.lower(b)


def _with_bias(body: Body, names: list[str], bias: Operand, parts: Sequence[Operand]) -> list[str]:
    """Each part with its share of the biases, of keys and values only where they are new."""
    if any(p.rank != 3 for p in parts):
        raise Unsupported("it has a bias, and keys of another layer")
    sizes = [p.dims[-1] for p in parts]
    if not all(isinstance(s, int) for s in sizes):
        raise Unsupported("its hidden size is known only at run time")
    shares = [f"body.bias{i}" for i in range(3)]
    body.several("Split", [bias.name, body.constant(sizes)], shares, axis=0)
    return [body.add("Add", name, share) for name, share in zip(names, shares, strict=True)]


def _mask(body: Body, mask: Operand | None, added: Operand | None, keys: Operand) -> str:
    """What is added to scores: of [B, L] or [B, S, L] the hidden, of [B] what is past a row's length."""
    found = "" if added is None else added.name
    if mask is None:
        return found
    if mask.rank == 1:
        if keys.rank != 3 or mask.dims[0] != keys.dims[0]:
            raise Unsupported(f"its mask has shape {list(mask.dims)}")
        length = body.add("Squeeze", body.add("Shape", keys.name, start=1, end=2), body.constant([0]))
        places = body.add("Range", body.constant(0), length, body.constant(1))
        ends = body.add("Unsqueeze", body.add("Cast", mask.name, to=dtypes.INT64), body.constant([1]))
        seen = body.add("Less", places, ends)
    elif mask.rank in (2, 3):
        seen = body.add("Cast", mask.name, to=dtypes.BOOL)
    else:
        raise Unsupported(f"its mask has rank {mask.rank}")
    axes = [1] if mask.rank == 3 else [1, 2]
    hidden = body.constant(body.number("mask_filter_value", HIDDEN), np.float32)
    amounts = body.add("Where", seen, body.constant(0.0, np.float32), hidden)
    amounts = body.add("Unsqueeze", amounts, body.constant(axes))
    return body.add("Add", amounts, found) if found else amounts


def _attend(node: NodeView, body: Body, names: list[str], mask: str, heads: int, past: list[str]) -> None:
    causal = int(node.attr("unidirectional", 0))
    if causal and past:
        raise Unsupported("it hides later tokens, and has a cache")
    apart = [_apart(body, name, heads) for name in names]
    scale = {"scale": scale} if (scale := body.number("scale", 0.0)) else {}
    results = ["body.y", body.wanted(1), body.wanted(2)]
    inputs = [*apart, mask, *past]
    while not inputs[-1]:
        inputs.pop()
    while not results[-1]:
        results.pop()
    body.several("Attention", inputs, results, is_causal=causal, **scale)
    together = body.add("Transpose", "body.y", perm=[0, 2, 1, 3])
    body.add("Reshape", together, body.constant([0, 0, -1]), into=body.wanted(0))


def _apart(body: Body, name: str, heads: int) -> str:
    """[B, S, H D] as [B, H, S, D]."""
    for given in body.node.inputs:
        if given is not None and given.name == name and given.rank == 4:
            return name
    return body.add(
        "Transpose", body.add("Reshape", name, body.constant([0, 0, heads, -1])), perm=[0, 2, 1, 3]
    )
