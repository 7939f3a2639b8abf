"""References in float64 of onnxruntime's attention: Attention, MultiHeadAttention, GroupQueryAttention."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_ep.opdef.quantised_references import given

Array = npt.NDArray[Any]
Inputs = Sequence[Array | None]

LOWEST = float(np.finfo(np.float32).min)


def needed(inputs: Inputs, index: int) -> Array:
    found = given(inputs, index)
    if found is None:
        raise ValueError(f"input {index} is missing")
    return found


def contributed_attention(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    _refuse(attributes["do_rotary"] or attributes["past_present_share_buffer"], "that form")
    bias, sizes, past = given(inputs, 2), attributes["qkv_hidden_sizes"], given(inputs, 4)
    x = needed(inputs, 0) @ needed(inputs, 1)
    x = x if bias is None else x + bias
    parts = np.split(x, np.cumsum(sizes)[:2] if sizes else 3, axis=-1)
    pasts = (None, None) if past is None else (past[0], past[1])
    y, keys, values, _ = _attended(parts, given(inputs, 3), given(inputs, 5), pasts, attributes)
    return [y, np.stack([keys, values]) if keys.shape == values.shape else keys]


def multi_head_attention(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    parts = [needed(inputs, i) for i in range(3)]
    _refuse(parts[0].ndim != 3 or parts[1].ndim == 5, "packed inputs")
    _refuse(given(inputs, 8) is not None or given(inputs, 9) is not None, "a cache that is a buffer")
    if (bias := given(inputs, 3)) is not None:
        heads = attributes["num_heads"]
        sizes = [p.shape[2] if p.ndim == 3 else p.shape[3] * heads for p in parts]
        shares = np.split(bias, np.cumsum(sizes)[:2])
        parts = [p + s if p.ndim == 3 else p for p, s in zip(parts, shares, strict=True)]
    past = given(inputs, 6), given(inputs, 7)
    return _attended(parts, given(inputs, 4), given(inputs, 5), past, attributes)


def _refuse(refused: Any, what: str) -> None:
    if refused:
        raise ValueError(f"there is no reference of {what}")


def _attended(
    parts: Sequence[Array],
    mask: Array | None,
    added: Array | None,
    past: tuple[Array | None, Array | None],
    attributes: Mapping[str, Any],
) -> list[Array]:
    """The result [B, S, H D], keys and values with what is past, and the scores."""
    q, k, v = (_heads(p, attributes["num_heads"]) for p in parts)
    length, new = q.shape[2], k.shape[2]
    k, v = (x if old is None else np.concatenate([old, x], 2) for x, old in ((k, past[0]), (v, past[1])))
    _refuse(attributes["unidirectional"] and length != new, "causal attention of other keys")
    scores = q @ k.swapaxes(-1, -2) * (attributes["scale"] or 1 / math.sqrt(q.shape[-1]))
    keys = k.shape[2]
    amounts = np.zeros((1, 1, 1, 1))
    if mask is not None and (mask.ndim, mask.shape[-1]) != (2, 1):
        amounts = np.where(_visible(mask, len(q), keys), 0, attributes["mask_filter_value"])
    if attributes["unidirectional"]:
        amounts = np.where(np.tri(length, keys, keys - length, dtype=bool), amounts, LOWEST)
    # float32 absorbs the scores below its lowest number
    scores = (
        (scores + amounts).astype(np.float32).astype(np.float64)
        if amounts.min() < -1e30
        else scores + amounts
    )
    scores = scores if added is None else scores + added
    return [_together(_softmax(scores) @ v), k, v, scores]


def _visible(mask: Array, batch: int, keys: int) -> Array:
    """[B, 1, 1 or S, L]: of a mask of 0 and 1, of ends, of ends and starts, of lengths and their sums."""
    if mask.ndim > 1:
        seen = mask > 0
        return seen[:, None, None] if seen.ndim == 2 else seen[:, None]
    places = np.arange(keys)
    seen = places < mask[:batch, None]
    if len(mask) == 2 * batch:
        seen &= places >= mask[batch:, None]
    return seen[:, None, None]


def _softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    return np.asarray(weights / weights.sum(-1, keepdims=True))


def _heads(x: Array, heads: int) -> Array:
    return x if x.ndim == 4 else x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def _together(y: Array) -> Array:
    return y.swapaxes(1, 2).reshape(y.shape[0], y.shape[2], -1)


def grouped_attention(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    """Row by row, without the rows beyond its end, which are 0."""
    _refuse(any(x is not None for x in inputs[12:]), "a quantised or normed cache")
    _refuse(attributes["sliding_window_cache"], "a cache that forgets")
    heads, groups = attributes["num_heads"], attributes["kv_num_heads"]
    parts = [given(inputs, i) for i in range(3)]
    if parts[1] is None:
        size = needed(inputs, 0).shape[2] // (heads + 2 * groups)
        parts = [*np.split(needed(inputs, 0), [heads * size, (heads + groups) * size], axis=2)]
    q, k, v = (_heads(np.asarray(p), n) for p, n in zip(parts, (heads, groups, groups), strict=True))
    batch, _, length, size = q.shape
    ends = needed(inputs, 5).reshape(-1).astype(int) + 1
    total = int(needed(inputs, 6).reshape(-1)[0])
    pasts = given(inputs, 3), given(inputs, 4)
    rows = total if pasts[0] is None else max(total, pasts[0].shape[2])
    y = np.zeros(q.shape)
    present = [np.zeros((batch, groups, rows, size)) for _ in range(2)]
    for b in range(batch):
        start = 0 if total == length else ends[b] - length
        own = q[b], k[b]
        if attributes["do_rotary"]:
            places = start + np.arange(length)
            if (chosen := given(inputs, 9)) is not None:
                chosen = chosen.astype(int)
                places = chosen.flat[0] + np.arange(length) if total == length else chosen[b]
            cos, sin = (needed(inputs, i)[places] for i in (7, 8))
            interleaved = attributes["rotary_interleaved"]
            own = _rotated(q[b], cos, sin, interleaved), _rotated(k[b], cos, sin, interleaved)
        for cache, past, new in zip(present, pasts, (own[1], v[b]), strict=True):
            if past is not None:
                cache[b, :, :start] = past[b, :, :start]
            cache[b, :, start : ends[b]] = new[:, : ends[b] - start]
        extra = [None if (x := given(inputs, 10)) is None else x[b % len(x)], given(inputs, 11)]
        y[b] = _row(own[0], [c[b, :, : ends[b]] for c in present], start, extra, attributes)
    return [_together(y), *present]


def _rotated(x: Array, cos: Array, sin: Array, interleaved: int) -> Array:
    """The first elements of each head by the angles of its token."""
    half = cos.shape[-1]
    pairs = (
        (slice(0, 2 * half, 2), slice(1, 2 * half, 2))
        if interleaved
        else (slice(0, half), slice(half, 2 * half))
    )
    first, second = (x[..., p] for p in pairs)
    y = x.copy()
    y[..., pairs[0]], y[..., pairs[1]] = first * cos - second * sin, second * cos + first * sin
    return y


def _row(
    q: Array, cache: Sequence[Array], start: int, extra: Sequence[Array | None], attributes: Mapping[str, Any]
) -> Array:
    """[H, S, D] of the queries of one row over its keys and values [G, L, D]."""
    keys, values = (np.repeat(x, len(q) // len(x), axis=0) for x in cache)
    scores = q @ keys.swapaxes(-1, -2) * (attributes["scale"] or 1 / math.sqrt(q.shape[-1]))
    cap = attributes["softcap"]
    scores = cap * np.tanh(scores / cap) if cap else scores
    bias, sink = extra
    length, count = scores.shape[1:]
    scores = scores if bias is None else scores + bias[..., :count]
    if attributes["causal"]:
        own, places = start + np.arange(length)[:, None], np.arange(count)
        window = attributes["local_window_size"]
        # what pads a row sees its last key
        seen = (places <= own) & ((places > np.minimum(own, count - 1) - window) | (window < 0))
        scores = np.where(seen, scores, -np.inf)
    if sink is not None or attributes["smooth_softmax"] > 0:
        column = np.zeros(len(q)) if sink is None else sink
        column = np.broadcast_to(column[:, None, None], (len(q), length, 1))
        scores = np.concatenate([scores, column], axis=-1)
    with np.errstate(invalid="ignore"):  # a row that sees nothing
        return np.asarray(_softmax(scores)[..., :count] @ values)


ATTENTION_REFERENCES: dict[str, Callable[[Inputs, Mapping[str, Any]], list[Array]]] = {
    "contributed_attention": contributed_attention,
    "grouped_attention": grouped_attention,
    "multi_head_attention": multi_head_attention,
}
