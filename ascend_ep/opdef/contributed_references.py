"""References in float64 of the operators that onnxruntime contributes, as their definitions say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_ep.opdef.quantised_references import given

Array = npt.NDArray[Any]
Inputs = Sequence[Array | None]


def _needed(inputs: Inputs, index: int) -> Array:
    found = given(inputs, index)
    if found is None:
        raise ValueError(f"input {index} is missing")
    return found


def fused_matmul(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    a, b = (
        x.swapaxes(-1, -2) if attributes[f"trans{side}"] else x
        for x, side in ((_needed(inputs, 0), "A"), (_needed(inputs, 1), "B"))
    )
    return [attributes["alpha"] * (a @ b)]


def fused_gemm(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    y = fused_matmul(inputs, attributes)[0]
    c = given(inputs, 2)
    y = y if c is None else y + attributes["beta"] * c
    alpha, beta = attributes["activation_alpha"], attributes["activation_beta"]
    activations: dict[str, Callable[[], Array]] = {
        "": lambda: y,
        "Relu": lambda: np.maximum(y, 0),
        "Sigmoid": lambda: 1 / (1 + np.exp(-y)),
        "Tanh": lambda: np.tanh(y),
        "LeakyRelu": lambda: np.where(y < 0, alpha * y, y),
        "HardSigmoid": lambda: np.clip(alpha * y + beta, 0, 1),
        "Clip": lambda: np.clip(y, alpha, beta),
    }
    return [activations[attributes["activation"]]()]


def embed_layer_norm(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    ids = _needed(inputs, 0).astype(np.int64)
    segments, mask, positions = (given(inputs, i) for i in (1, 7, 8))
    places = np.arange(ids.shape[1])[None] if positions is None else positions.astype(np.int64)
    summed = _needed(inputs, 2)[ids] + _needed(inputs, 3)[places]
    if segments is not None:
        summed = summed + _needed(inputs, 4)[segments.astype(np.int64)]
    centred = summed - summed.mean(-1, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(-1, keepdims=True) + attributes["epsilon"])
    count = np.zeros(len(ids)) if mask is None else mask.sum(1)
    return [centred / deviation * _needed(inputs, 5) + _needed(inputs, 6), count, summed]


def contributed_attention(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    if given(inputs, 4) is not None:
        raise ValueError("past has no reference")
    bias, sizes = given(inputs, 2), attributes["qkv_hidden_sizes"]
    x = _needed(inputs, 0) @ _needed(inputs, 1)
    x = x if bias is None else x + bias
    parts = np.split(x, np.cumsum(sizes)[:2] if sizes else 3, axis=-1)
    return _attended(parts, given(inputs, 3), given(inputs, 5), (None, None), attributes)


def multi_head_attention(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    parts = [_needed(inputs, i) for i in range(3)]
    if (bias := given(inputs, 3)) is not None:
        shares = np.split(bias, np.cumsum([p.shape[-1] for p in parts])[:2])
        parts = [p + share for p, share in zip(parts, shares, strict=True)]
    past = given(inputs, 6), given(inputs, 7)
    return _attended(parts, given(inputs, 4), given(inputs, 5), past, attributes)


def _attended(
    parts: Sequence[Array],
    mask: Array | None,
    added: Array | None,
    past: tuple[Array | None, Array | None],
    attributes: Mapping[str, Any],
) -> list[Array]:
    """The result [B, S, H D], and keys and values with what is past."""
    q, k, v = (_heads(p, attributes["num_heads"]) for p in parts)
    k, v = (x if old is None else np.concatenate([old, x], 2) for x, old in ((k, past[0]), (v, past[1])))
    scores = q @ k.swapaxes(-1, -2) * (attributes["scale"] or 1 / math.sqrt(q.shape[-1]))
    scores = scores if added is None else scores + added
    length, keys = scores.shape[2:]
    if mask is not None:
        seen = np.arange(keys) < mask[:, None] if mask.ndim == 1 else mask.astype(bool)
        seen = seen[:, None, None] if seen.ndim == 2 else seen[:, None]
        scores = scores + np.where(seen, 0, attributes["mask_filter_value"])
    if attributes["unidirectional"]:
        scores = np.where(np.tri(length, keys, keys - length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = weights / weights.sum(-1, keepdims=True) @ v
    return [y.swapaxes(1, 2).reshape(*y.shape[:1], y.shape[2], -1), k, v]


def _heads(x: Array, heads: int) -> Array:
    return x if x.ndim == 4 else x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


CONTRIBUTED_REFERENCES: dict[str, Callable[[Inputs, Mapping[str, Any]], list[Array]]] = {
    "contributed_attention": contributed_attention,
    "embed_layer_norm": embed_layer_norm,
    "fused_gemm": fused_gemm,
    "fused_matmul": fused_matmul,
    "multi_head_attention": multi_head_attention,
}
