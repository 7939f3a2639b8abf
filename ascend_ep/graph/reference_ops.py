"""Operators that the reference computes itself in float64, in the form onnx.reference takes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from ascend_ep.graph.reference_windows import convolve, convolve_transposed, pool


class Conv(OpRun):
    def _run(self, x: Any, w: Any, b: Any = None, **a: Any) -> tuple[Any]:
        count = x.ndim - 2
        ones = [1] * count
        return (
            convolve(
                x, w, b, a.get("group") or 1, a.get("strides") or ones, a.get("dilations") or ones,
                a.get("pads"), _text(a.get("auto_pad")),
            ),
        )  # fmt: skip


class ConvTranspose(OpRun):
    def _run(self, x: Any, w: Any, b: Any = None, **a: Any) -> tuple[Any]:
        count = x.ndim - 2
        ones = [1] * count
        return (
            convolve_transposed(
                x, w, b, a.get("group") or 1, a.get("strides") or ones, a.get("dilations") or ones,
                a.get("pads"), _text(a.get("auto_pad")), a.get("output_padding") or [0] * count,
                a.get("output_shape"),
            ),
        )  # fmt: skip


class _Pool(OpRun):
    average = False

    def _run(self, x: Any, **a: Any) -> tuple[Any]:
        count = x.ndim - 2
        ones = [1] * count
        result = pool(
            x.astype(np.float64), a["kernel_shape"], a.get("strides") or ones, a.get("dilations") or ones,
            a.get("pads"), _text(a.get("auto_pad")), bool(a.get("ceil_mode")), self.average,
            bool(a.get("count_include_pad")),
        )  # fmt: skip
        return (result.astype(x.dtype),)


class AveragePool(_Pool):
    average = True


class MaxPool(_Pool):
    """Without the Indices output; a graph that wants those gets onnx.reference's."""


class Erf(OpRun):
    """Of the C library, at double precision."""

    def _run(self, x: Any) -> tuple[Any]:
        return (_erf(x),)


class Gelu(OpRun):
    def _run(self, x: Any, approximate: Any = None) -> tuple[Any]:
        if approximate in ("tanh", b"tanh"):
            return (0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),)
        return (0.5 * x * (1 + _erf(x / math.sqrt(2))),)


class Pad(OpRun):
    """Negative pads cut before positive ones are added."""

    def _run(self, x: Any, pads: Any = None, value: Any = None, axes: Any = None, **a: Any) -> tuple[Any]:
        amounts = [int(p) for p in (a["pads"] if pads is None else pads)]
        places = range(x.ndim) if axes is None else [int(p) for p in axes]
        count, around = len(places), [(0, 0)] * x.ndim
        for i, axis in enumerate(places):
            around[axis] = (amounts[i], amounts[i + count])
        cut = tuple(slice(max(-b, 0), n - max(-e, 0)) for n, (b, e) in zip(x.shape, around, strict=True))
        grown = [(max(b, 0), max(e, 0)) for b, e in around]
        mode = _text(a.get("mode")) if a.get("mode") else "constant"
        if mode != "constant":
            return (np.pad(x[cut], grown, mode=mode),)  # type: ignore[call-overload]
        fill = a.get("value") or 0 if value is None else np.asarray(value).reshape(())
        return (np.pad(x[cut], grown, constant_values=fill),)


class LayerNormalization(OpRun):
    """Statistics at double precision, whatever the node's stash_type."""

    def _run(
        self, x: Any, scale: Any = None, bias: Any = None, axis: Any = -1, epsilon: Any = 1e-5, **_: Any
    ) -> tuple[Any, ...]:
        places = tuple(range(axis % x.ndim, x.ndim))
        mean = x.mean(axis=places, keepdims=True)
        inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axis=places, keepdims=True) + epsilon)
        y = (x - mean) * inverse * scale
        results = (y if bias is None else y + bias, mean, inverse)
        return results[: max(1, len(self.onnx_node.output))]


class MeanVarianceNormalization(OpRun):
    def _run(self, x: Any, axes: Any = None) -> tuple[Any]:
        places = tuple(axes or (0, 2, 3))
        centred = x - x.mean(axis=places, keepdims=True)
        deviation = np.sqrt((centred * centred).mean(axis=places, keepdims=True))
        return (centred / (deviation + 1e-9),)


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[np.float64])(x) if x.size else x


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "NOTSET")


FAST_OPS: tuple[type[OpRun], ...] = (
    Conv,
    ConvTranspose,
    AveragePool,
    MaxPool,
    Erf,
    Gelu,
    LayerNormalization,
    MeanVarianceNormalization,
    Pad,
)
