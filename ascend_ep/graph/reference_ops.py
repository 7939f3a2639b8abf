"""Operators that the reference computes itself in float64, in the form onnx.reference takes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_attention, op_cast, op_cum_sum, op_grid_sample

from ascend_ep.graph.reference_quantised import DequantizeLinear
from ascend_ep.graph.reference_recurrent import GRU, LSTM, RNN
from ascend_ep.graph.reference_windows import (
    Sliding,
    convolve,
    convolve_transposed,
    norms_of_windows,
    places_of_maxima,
    pool,
)
from ascend_ep.graph.shapes.movement_slicing import sliced
from ascend_ep.opdef.dtypes import SUB_BYTE


class Conv(OpRun):
    def _run(self, x: Any, w: Any, b: Any = None, **a: Any) -> tuple[Any]:
        return (convolve(x, w, b, a.get("group") or 1, Sliding.of(w.shape[2:], a)),)


class Cast(OpRun):
    """To integers of less than a byte with onnxruntime's rounding, of halves away from zero."""

    def _run(self, x: Any, to: Any = None, saturate: Any = None, round_mode: Any = None) -> tuple[Any]:
        if to in SUB_BYTE and x.dtype.kind == "f":
            finite = np.where(np.isfinite(x), x, 0)
            x = np.fmod(np.copysign(np.floor(np.abs(finite) + 0.5), finite), 256).astype(np.int64)
        return (op_cast.cast_to(x, to, True if saturate is None else saturate, round_mode or "up"),)


class CumSum(op_cum_sum.CumSum):
    """With an axis of one element too, as PyTorch's exporter gives it and onnxruntime takes it."""

    def _run(self, x: Any, axis: Any, exclusive: Any = None, reverse: Any = None) -> Any:
        one = np.asarray(axis).reshape(())
        return super()._run(x, one, exclusive, reverse)  # type: ignore[no-untyped-call]


class GridSample(op_grid_sample.GridSample):
    """Of opsets 16 to 19 too, which call two of the modes otherwise."""

    def _run(
        self, X: Any, grid: Any, mode: Any = None, padding_mode: Any = None, align_corners: Any = None
    ) -> Any:
        names = {None: "linear", "bilinear": "linear", "bicubic": "cubic"}
        mode = names.get(mode, mode)
        return super()._run(X, grid, mode, padding_mode, align_corners)  # type: ignore[no-untyped-call]


class ConvTranspose(OpRun):
    def _run(self, x: Any, w: Any, b: Any = None, **a: Any) -> tuple[Any]:
        more = a.get("output_padding") or [0] * (x.ndim - 2)
        how = Sliding.of(w.shape[2:], a)
        return (convolve_transposed(x, w, b, a.get("group") or 1, how, more, a.get("output_shape")),)


class _Pool(OpRun):
    average = False

    def _run(self, x: Any, **a: Any) -> tuple[Any, ...]:
        how = Sliding.of(a["kernel_shape"], a)
        result = pool(x.astype(np.float64), how, self.average, bool(a.get("count_include_pad")))
        return (result.astype(x.dtype),)


class AveragePool(_Pool):
    average = True


class LpPool(OpRun):
    def _run(self, x: Any, **a: Any) -> tuple[Any]:
        result = norms_of_windows(x.astype(np.float64), Sliding.of(a["kernel_shape"], a), a.get("p") or 2)
        return (result.astype(x.dtype),)


class MaxPool(_Pool):
    def _run(self, x: Any, **a: Any) -> tuple[Any, ...]:
        maxima = super()._run(x, **a)
        if len(self.onnx_node.output) < 2:
            return maxima
        how = Sliding.of(a["kernel_shape"], a)
        places = places_of_maxima(x.astype(np.float64), how, bool(a.get("storage_order")))
        return (*maxima, places)


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


class BatchNormalization(OpRun):
    """Of opsets 9 to 13 too, whose `momentum` onnx.reference takes for a wish to train."""

    def _run(
        self, x: Any, *rows: Any, epsilon: Any = 1e-5, momentum: Any = 0.9, training_mode: Any = 0, **a: Any
    ) -> tuple[Any, ...]:
        if a.get("spatial") == 0 or (len(self.onnx_node.output) > 1 and not training_mode):
            raise NotImplementedError("BatchNormalization of each place, or of old opsets in training")
        scale, bias, mean, variance = (r.reshape(-1, *[1] * (x.ndim - 2)) for r in rows)
        moving: list[Any] = []
        if training_mode:
            axes = (0, *range(2, x.ndim))
            batch = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
            for before, now in zip((rows[2], rows[3]), batch, strict=True):
                moving.append(before * momentum + now.reshape(-1) * (1 - momentum))
            mean, variance = (now[0] for now in batch)
        y = scale * (x - mean) / np.sqrt(variance + epsilon) + bias
        return (y, *moving)[: len(self.onnx_node.output)]


class LRN(OpRun):
    """Sums over `size` channels around each; the bounds are those of the channels."""

    def _run(
        self, x: Any, alpha: Any = 1e-4, beta: Any = 0.75, bias: Any = 1.0, size: Any = None
    ) -> tuple[Any]:
        before, squares = (size - 1) // 2, np.square(x)
        sums = np.zeros_like(squares)
        for channel in range(x.shape[1]):
            around = slice(max(0, channel - before), channel - before + size)
            sums[:, channel] = squares[:, around].sum(axis=1)
        return (x / (bias + alpha / size * sums) ** beta,)


class LpNormalization(OpRun):
    def _run(self, x: Any, axis: Any = -1, p: Any = 2) -> tuple[Any]:
        size = (np.abs(x) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
        return (np.divide(x, size, out=np.zeros_like(x), where=size != 0),)


class _Softmax(OpRun):
    """Along one axis; before opset 13 over all axes from `axis` (1 when not given) on."""

    def _run(self, x: Any, **_: Any) -> tuple[Any]:
        axis = next((a.i for a in self.onnx_node.attribute if a.name == "axis"), None)
        if self.run_params["opsets"][""] >= 13:
            return (self.over(x, -1 if axis is None else axis),)
        first = (1 if axis is None else axis) % max(x.ndim, 1)
        rows = x.reshape(math.prod(x.shape[:first]), math.prod(x.shape[first:]))
        return (self.over(rows, 1).reshape(x.shape),)

    def over(self, x: Any, axis: int) -> Any:
        raise NotImplementedError


class Softmax(_Softmax):
    def over(self, x: Any, axis: int) -> Any:
        powers = np.exp(x - x.max(axis=axis, keepdims=True, initial=-np.inf))
        return powers / powers.sum(axis=axis, keepdims=True)


class LogSoftmax(_Softmax):
    def over(self, x: Any, axis: int) -> Any:
        centred = x - x.max(axis=axis, keepdims=True, initial=-np.inf)
        return centred - np.log(np.exp(centred).sum(axis=axis, keepdims=True))


class Hardmax(_Softmax):
    def over(self, x: Any, axis: int) -> Any:
        result = np.zeros_like(x)
        np.put_along_axis(result, np.expand_dims(x.argmax(axis=axis), axis), 1, axis=axis)
        return result


class MeanVarianceNormalization(OpRun):
    def _run(self, x: Any, axes: Any = None) -> tuple[Any]:
        places = tuple(axes or (0, 2, 3))
        centred = x - x.mean(axis=places, keepdims=True)
        deviation = np.sqrt((centred * centred).mean(axis=places, keepdims=True))
        return (centred / (deviation + 1e-9),)


class Attention(getattr(op_attention, "Attention_23", op_attention.Attention)):  # type: ignore[misc]
    """onnx.reference's, with a row of the mask for each query: it counts queries by the mask's rows."""

    def _run(self, q: Any, k: Any, v: Any, mask: Any = None, *more: Any, **a: Any) -> tuple[Any, ...]:
        if mask is not None and mask.ndim > 1:
            mask = np.broadcast_to(mask, (*mask.shape[:-2], q.shape[-2], mask.shape[-1]))
        return tuple(super()._run(q, k, v, mask, *more, **a))


class GatherElements(OpRun):
    """With fewer places than x has along the other axes, too."""

    def _run(self, x: Any, places: Any, axis: Any = 0) -> tuple[Any]:
        along = axis % x.ndim
        cut = tuple(slice(n if d != along else None) for d, n in enumerate(places.shape))
        return (np.take_along_axis(x[cut], places, axis=along),)


class GlobalMaxPool(OpRun):
    def _run(self, x: Any) -> tuple[Any]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


class OneHot(OpRun):
    """With a depth of one element too; a place outside [-depth, depth) is off everywhere."""

    def _run(self, places: Any, depth: Any, values: Any, axis: Any = -1) -> tuple[Any]:
        size = int(np.asarray(depth).reshape(()))
        along = axis % (places.ndim + 1)
        numbers = np.expand_dims(np.asarray(places, np.float64), along)
        row = np.arange(size).reshape([size if d == along else 1 for d in range(numbers.ndim)])
        return (np.where((numbers == row) | (numbers + size == row), values[1], values[0]),)


class Optional(OpRun):
    """What is in it, as OptionalGetElement takes it, or None."""

    def _run(self, x: Any = None, type: Any = None) -> tuple[Any]:
        return (x,)


class Range(OpRun):
    """Of bounds of one element too."""

    def _run(self, *bounds: Any, **_: Any) -> tuple[Any]:
        start, limit, step = (np.asarray(bound).reshape(()) for bound in bounds)
        count = max(math.ceil((limit - start) / step), 0)
        return ((start + np.arange(count) * step).astype(start.dtype),)


class Scatter(OpRun):
    """Of opsets 9 and 10, which ScatterElements replaced."""

    def _run(self, x: Any, places: Any, values: Any, axis: Any = 0) -> tuple[Any]:
        result = x.copy()
        np.put_along_axis(result, places, values, axis=axis or 0)
        return (result,)


class Slice(OpRun):
    """Backwards, NumPy takes other elements."""

    def _run(
        self, x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None
    ) -> tuple[Any]:
        return (sliced(x, starts, ends, axes, steps),)


class STFT(OpRun):
    """Of signals [batch, samples] or [batch, samples, 1 or 2], in frames of the window's size or `length`."""

    def _run(
        self, x: Any, step: Any, window: Any = None, length: Any = None, onesided: Any = 1
    ) -> tuple[Any]:
        signal = x if x.ndim == 2 else x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
        size = len(window) if length is None else int(length)
        count = 1 + (signal.shape[1] - size) // int(step)
        places = np.arange(count)[:, None] * int(step) + np.arange(size)
        frames = signal[:, places] * (1 if window is None else window)
        bins = np.fft.fft(frames)[..., : size // 2 + 1 if onesided else size]
        return (np.stack([bins.real, bins.imag], axis=-1),)


def _erf(x: Any) -> Any:
    return np.fromiter(map(math.erf, x.flat), np.float64, x.size).reshape(x.shape)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "NOTSET")


FAST_OPS: tuple[type[OpRun], ...] = (
    Attention,
    Conv,
    ConvTranspose,
    CumSum,
    GridSample,
    AveragePool,
    BatchNormalization,
    Cast,
    DequantizeLinear,
    MaxPool,
    Erf,
    GRU,
    GatherElements,
    Gelu,
    GlobalMaxPool,
    Hardmax,
    LRN,
    LSTM,
    LayerNormalization,
    LogSoftmax,
    LpNormalization,
    LpPool,
    MeanVarianceNormalization,
    OneHot,
    Optional,
    Pad,
    RNN,
    Range,
    STFT,
    Scatter,
    Slice,
    Softmax,
)
