"""Attention in training, forward and backward, as products and sums, for `torch.compile(backend="ascend")`.

PyTorch's own decomposition of the CPU's operator gives the weights in the place of the sums of exponentials
that the backward operator reads, and torch.onnx has no translation of that one. Here both take the weights.
"""

from __future__ import annotations

from typing import Any

#: Scores of more elements than this (queries times keys of one head) are left to PyTorch, which never stores
#: them whole.
MOST_SCORES = 1 << 20


def decompositions() -> dict[Any, Any]:
    """Of both operators, for a graph that is trained."""
    import torch

    aten = torch.ops.aten
    return {
        aten._scaled_dot_product_flash_attention_for_cpu.default: attention,
        aten._scaled_dot_product_flash_attention_for_cpu_backward.default: slopes,
    }


def attention(
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    """The result, laid out as PyTorch's, and the weights (batch, heads, queries, keys), in float32 or wider.

    query, key, value: (batch, heads, tokens, width); `attn_mask` is added to the scores. NotImplemented,
    which leaves the operator as it is, for dropout, shared keys and more scores than MOST_SCORES.
    """
    import torch

    queries, keys = query.shape[-2], key.shape[-2]
    if dropout_p or query.shape[1] != key.shape[1] or not _few(queries * keys):
        return NotImplemented
    scores = torch.matmul(_wide(query), _wide(key).mT) * _factor(query, scale)
    if attn_mask is not None:
        scores = scores + attn_mask
    if is_causal:
        hidden = torch.ones(queries, keys, dtype=torch.bool, device=query.device).tril().logical_not()
        scores = scores.masked_fill(hidden, float("-inf"))
    weights = torch.softmax(scores, -1)
    if attn_mask is not None or is_causal:  # nothing to look at: 0
        unseen = (scores == float("-inf")).all(-1, keepdim=True)
        weights = weights.masked_fill(unseen, 0.0)
    result = torch.matmul(weights, _wide(value)).to(query.dtype)
    return result.transpose(1, 2).contiguous().transpose(1, 2), weights


def slopes(
    slope: Any,
    query: Any,
    key: Any,
    value: Any,
    result: Any,
    weights: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    """Those of query, key and value. NotImplemented where `weights` are the sums that PyTorch's own gives."""
    import torch

    if weights.dim() != 4:
        return NotImplemented
    q, k, v, dy, y = (_wide(t) for t in (query, key, value, slope, result))
    dweights = torch.matmul(dy, v.mT)
    dscores = weights * (dweights - (dy * y).sum(-1, keepdim=True)) * _factor(query, scale)
    found = torch.matmul(dscores, k), torch.matmul(dscores.mT, q), torch.matmul(weights.mT, dy)
    return tuple(t.to(of.dtype) for t, of in zip(found, (query, key, value), strict=True))


def _wide(tensor: Any) -> Any:
    """In the type that PyTorch's operators sum in."""
    return tensor if tensor.element_size() == 8 else tensor.float()


def _factor(query: Any, scale: float | None) -> float:
    return float(query.shape[-1]) ** -0.5 if scale is None else scale


def _few(scores: Any) -> bool:
    """By the sizes that the graph is compiled with, where they are free."""
    import torch

    if isinstance(scores, torch.SymInt):
        scores = scores.node.hint
    return scores is not None and int(scores) <= MOST_SCORES
