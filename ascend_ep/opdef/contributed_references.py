"""References in float64 of the operators that onnxruntime contributes, as their definitions say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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
    alpha, beta, gamma = (attributes[f"activation_{n}"] for n in ("alpha", "beta", "gamma"))
    activations: dict[str, Callable[[], Array]] = {
        "": lambda: y,
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
    if attributes["activation"] not in activations:
        raise ValueError(f"there is no reference of the activation {attributes['activation']}")
    return [activations[attributes["activation"]]()]


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
    "fused_gemm": fused_gemm,
    "fused_matmul": fused_matmul,
    "gated_rms_norm": gated_rms_norm,
}
