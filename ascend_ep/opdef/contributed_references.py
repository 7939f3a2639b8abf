"""References in float64 of the operators that onnxruntime contributes, as their definitions say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from ascend_ep.opdef.attention_references import ATTENTION_REFERENCES, needed
from ascend_ep.opdef.quantised_references import given

Array = npt.NDArray[Any]
Inputs = Sequence[Array | None]


def fused_matmul(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    a, b = (
        _transposed(needed(inputs, i), attributes[f"transBatch{side}"], attributes[f"trans{side}"])
        for i, side in enumerate("AB")
    )
    return [attributes["alpha"] * (a @ b)]


def _transposed(x: Array, behind_batch: int, exchanged: int) -> Array:
    """The first axis moved behind those of the batch, then the last two exchanged."""
    if behind_batch and x.ndim > 2:
        x = np.moveaxis(x, 0, -2)
    return x.swapaxes(-1, -2) if exchanged and x.ndim > 1 else x


def fused_gemm(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    a, b = (
        x.T if attributes[f"trans{side}"] else x
        for x, side in ((needed(inputs, 0), "A"), (needed(inputs, 1), "B"))
    )
    y, c = attributes["alpha"] * (a @ b), given(inputs, 2)
    y = y if c is None else y + attributes["beta"] * c
    numbers = (attributes[f"activation_{n}"] for n in ("alpha", "beta", "gamma"))
    return [_activated(y, attributes["activation"], *numbers)]


def _activated(y: Array, name: str, alpha: float = 0, beta: float = 0, gamma: float = 0) -> Array:
    activations: dict[str, Callable[[], Array]] = {
        "": lambda: y,
        "Clip": lambda: np.minimum(np.maximum(y, alpha), beta),
        "Elu": lambda: np.where(y < 0, alpha * np.expm1(y), y),
        "HardSigmoid": lambda: np.clip(alpha * y + beta, 0, 1),
        "LeakyRelu": lambda: np.where(y < 0, alpha * y, y),
        "ParametricSoftplus": lambda: alpha * np.logaddexp(beta * y, 0),
        "Relu": lambda: np.maximum(y, 0),
        "ScaledTanh": lambda: alpha * np.tanh(beta * y),
        "Selu": lambda: gamma * np.where(y < 0, alpha * np.expm1(y), y),
        "Sigmoid": lambda: 1 / (1 + np.exp(-y)),
        "Softplus": lambda: np.logaddexp(y, 0),
        "Softsign": lambda: y / (1 + np.abs(y)),
        "Tanh": lambda: np.tanh(y),
        "ThresholdedRelu": lambda: np.where(y > alpha, y, 0),
    }
    if name not in activations:
        raise ValueError(f"there is no reference of the activation {name}")
    return activations[name]()


def fused_conv(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    x, w = needed(inputs, 0), needed(inputs, 1)
    axes = tuple(range(2, x.ndim))
    steps = list(attributes["strides"] or [1] * len(axes))
    apart = list(attributes["dilations"] or [1] * len(axes))
    extents = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], apart, strict=True)]
    pads = _padding(x.shape[2:], extents, steps, attributes["auto_pad"], list(attributes["pads"]))
    every = sliding_window_view(np.pad(x, [(0, 0), (0, 0), *pads]), extents, axis=axes)
    places: Any = (..., *(slice(None, None, s) for s in (*steps, *apart)))
    windows = every[places]
    groups = np.split(windows, attributes["group"], axis=1)
    weights = np.split(w, attributes["group"])
    over = [1, *range(x.ndim, windows.ndim)], list(range(1, w.ndim))
    parts = [np.tensordot(g, v, over) for g, v in zip(groups, weights, strict=True)]
    y = np.moveaxis(np.concatenate(parts, -1), -1, 1)
    bias, z = given(inputs, 2), given(inputs, 3)
    y = y if bias is None else y + bias.reshape(-1, *(1 for _ in axes))
    y = y if z is None else y + z
    return [_activated(y, attributes["activation"], *attributes["activation_params"])]


def _padding(
    sizes: Sequence[int], extents: Sequence[int], steps: Sequence[int], auto: str, pads: Sequence[int]
) -> list[tuple[int, int]]:
    """What goes before and behind each spatial axis."""
    count = len(sizes)
    if not auto.startswith("SAME"):
        kept = pads if pads and auto != "VALID" else [0] * (2 * count)
        return list(zip(kept[:count], kept[count:], strict=True))
    found = []
    for size, extent, step in zip(sizes, extents, steps, strict=True):
        total = max(0, (-(-size // step) - 1) * step + extent - size)
        less, more = total // 2, total - total // 2
        found.append((less, more) if auto == "SAME_UPPER" else (more, less))
    return found


def embed_layer_norm(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    ids = needed(inputs, 0).astype(np.int64)
    segments, mask, positions = (given(inputs, i) for i in (1, 7, 8))
    places = np.arange(ids.shape[1])[None] if positions is None else positions.astype(np.int64)
    summed = needed(inputs, 2)[ids] + needed(inputs, 3)[places]
    if segments is not None:
        summed = summed + needed(inputs, 4)[segments.astype(np.int64)]
    centred = summed - summed.mean(-1, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(-1, keepdims=True) + attributes["epsilon"])
    count = np.zeros(len(ids)) if mask is None else (mask == 1).sum(1)
    return [centred / deviation * needed(inputs, 5) + needed(inputs, 6), count, summed]


def gated_rms_norm(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    x, scale, gate = (needed(inputs, i) for i in range(3))
    groups = x.reshape(*x.shape[:-1], -1, len(scale))
    sizes = np.sqrt((groups * groups).mean(-1, keepdims=True) + attributes["epsilon"])
    opened = 1 / (1 + np.exp(-gate))
    opened = opened if attributes["activation"] == "sigmoid" else gate * opened
    return [(groups / sizes * scale).reshape(x.shape) * opened]


CONTRIBUTED_REFERENCES: dict[str, Callable[[Inputs, Mapping[str, Any]], list[Array]]] = {
    **ATTENTION_REFERENCES,
    "embed_layer_norm": embed_layer_norm,
    "fused_conv": fused_conv,
    "fused_gemm": fused_gemm,
    "fused_matmul": fused_matmul,
    "gated_rms_norm": gated_rms_norm,
}
