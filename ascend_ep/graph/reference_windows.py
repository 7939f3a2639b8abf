"""Convolution and pooling in NumPy float64, for the reference: what onnx.reference does, at usable speed.

Formulas: the ONNX pages of Conv, ConvTranspose, AveragePool, LpPool and MaxPool. Arrays are
[N, C, spatial...].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from ascend_ep.graph import sliding

Array = npt.NDArray[np.float64]

#: Bytes of the columns that a convolution makes at a time.
BLOCK = 16 << 20


@dataclass(frozen=True)
class Sliding:
    """How a node's windows lie, as its attributes say. kernel, strides, dilations: of each axis. pads: before
    each axis, then after each."""

    kernel: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    pads: Sequence[int] | None = None
    auto_pad: str = "NOTSET"
    ceil_mode: bool = False

    @classmethod
    def of(cls, kernel: Sequence[int], attributes: Mapping[str, Any]) -> Sliding:
        """As onnx.reference gives a node's attributes."""
        ones = [1] * len(kernel)
        strides, dilations = (attributes.get(name) or ones for name in ("strides", "dilations"))
        auto_pad = attributes.get("auto_pad") or "NOTSET"
        auto_pad = auto_pad.decode() if isinstance(auto_pad, bytes) else str(auto_pad)
        is_up = bool(attributes.get("ceil_mode"))
        return cls(kernel, strides, dilations, attributes.get("pads"), auto_pad, is_up)

    def windows(self) -> list[sliding.Window]:
        """Of each axis."""
        count = len(self.kernel)
        given = [int(p) for p in self.pads] if self.pads else [0] * (2 * count)
        parts = zip(self.kernel, self.strides, self.dilations, given[:count], given[count:], strict=True)
        return [sliding.Window(int(k), int(s), int(d), b, a, self.auto_pad) for k, s, d, b, a in parts]


def _windows(
    x: npt.NDArray[Any], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> npt.NDArray[Any]:
    """[N, C, out..., kernel...] of an already padded input."""
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    axes = tuple(range(2, x.ndim))
    every = sliding_window_view(x, extents, axis=axes)
    steps = (
        slice(None),
        slice(None),
        *(slice(None, None, s) for s in strides),
        *(slice(None, None, d) for d in dilations),
    )
    picked: npt.NDArray[Any] = every[steps]
    return picked


def convolve(x: Array, w: Array, bias: Array | None, group: int, how: Sliding) -> Array:
    """Cross-correlation: w is [M, C/group, kernel...]."""
    kernel = how.kernel
    axes = zip(x.shape[2:], how.windows(), strict=True)
    places = [sliding.convolved(dim, w) for dim, w in axes]
    padded = np.pad(x, [(0, 0), (0, 0), *(p.numbers()[:2] for p in places)])
    windows = _windows(padded, kernel, how.strides, how.dilations)
    n, out = x.shape[0], windows.shape[2 : x.ndim]
    per_group = x.shape[1] // group
    order = (0, 1, *range(x.ndim, windows.ndim), *range(2, x.ndim))
    weights = w.reshape(group, w.shape[0] // group, per_group * math.prod(kernel))
    y = np.empty((n, w.shape[0], *out), np.result_type(x, w))
    rows = max(1, BLOCK // max(1, 8 * n * x.shape[1] * math.prod(kernel) * math.prod(out[1:])))
    for first in range(0, out[0], rows):
        part = windows[:, :, first : first + rows].transpose(order)
        spatial = part.shape[2 - x.ndim :]
        columns = part.reshape(n, group, per_group * math.prod(kernel), math.prod(spatial))
        y[:, :, first : first + rows] = (weights @ columns).reshape(n, w.shape[0], *spatial)
    if bias is not None:
        y += bias.reshape(1, -1, *(1 for _ in out))
    return y


def convolve_transposed(
    x: Array,
    w: Array,
    bias: Array | None,
    group: int,
    how: Sliding,
    output_padding: Sequence[int],
    output_shape: Sequence[int] | None,
) -> Array:
    """The gradient of convolution: w is [C, M/group, kernel...]."""
    kernel, strides, dilations, dims = how.kernel, how.strides, how.dilations, x.shape[2:]
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    full = [(i - 1) * s + e for i, s, e in zip(dims, strides, extents, strict=True)]
    given = [None] * len(dims) if output_shape is None else [int(n) for n in output_shape][-len(dims) :]
    places = [
        sliding.transposed(dim, w, more, size)
        for dim, w, more, size in zip(dims, how.windows(), output_padding, given, strict=True)
    ]
    begins, _, wanted = zip(*(p.numbers() for p in places), strict=True)
    n, per_group, per_out = x.shape[0], x.shape[1] // group, w.shape[1]
    room = [max(f + p, b + o) for f, p, b, o in zip(full, output_padding, begins, wanted, strict=True)]
    y = np.zeros((n, group, per_out, *room))
    columns = x.reshape(n, group, per_group, -1)
    weights = w.reshape(group, per_group, per_out, *kernel)
    for place in product(*map(range, kernel)):
        at: tuple[Any, ...] = (slice(None), slice(None), slice(None), *place)
        part = np.swapaxes(weights[at], 1, 2) @ columns
        spans = [
            slice(k * d, k * d + (i - 1) * s + 1, s)
            for k, d, i, s in zip(place, dilations, dims, strides, strict=True)
        ]
        y[(slice(None), slice(None), slice(None), *spans)] += part.reshape(n, group, per_out, *dims)
    cut = tuple(slice(b, b + o) for b, o in zip(begins, wanted, strict=True))
    result: Array = y.reshape(n, group * per_out, *room)[(slice(None), slice(None), *cut)]
    return result if bias is None else result + bias.reshape(1, -1, *(1 for _ in dims))


def pool(x: Array, how: Sliding, average: bool, count_padding: bool = False) -> Array:
    """Maximum or mean of every window; elements beyond the padding (ceil_mode) never count."""
    axes = tuple(range(x.ndim, 2 * x.ndim - 2))
    if not average:
        result: Array = _seen(x, how, -np.inf).max(axis=axes)
        return result
    ones = _seen(np.ones((1, 1, *x.shape[2:])), how, float(count_padding), 0.0)
    counts = ones.sum(axis=axes)
    total: Array = _seen(x, how, 0.0).sum(axis=axes)
    mean: Array = np.divide(total, counts, out=np.zeros_like(total), where=counts > 0)
    return mean


def norms_of_windows(x: Array, how: Sliding, p: int) -> Array:
    """The p-norm of every window."""
    windows = _seen(np.abs(x), how, 0.0)
    sums: Array = (windows**p).sum(axis=tuple(range(x.ndim, 2 * x.ndim - 2)))
    return sums ** (1 / p)


def places_of_maxima(x: Array, how: Sliding, by_column: bool) -> npt.NDArray[np.int64]:
    """Where in the whole of x the first largest element of every window is; NaN is larger than any number.
    by_column: the first of the spatial axes counts fastest."""
    dims, size = x.shape[2:], math.prod(x.shape[2:])
    numbers = np.arange(size).reshape(1, 1, *(dims[::-1] if by_column else dims))
    numbers = numbers.transpose(0, 1, *range(x.ndim - 1, 1, -1)) if by_column else numbers
    places = _seen(numbers, how, -1)
    windows = _seen(x, how, -np.inf)
    out, taps = windows.shape[: x.ndim], math.prod(how.kernel)
    every = np.broadcast_to(places, windows.shape).reshape(*out, taps)
    seen = windows.reshape(*out, taps)
    largest = (seen == seen.max(-1, keepdims=True)) | np.isnan(seen)
    first = (largest & (every >= 0)).argmax(-1)[..., None]
    images = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *(1 for _ in dims)) * size
    found: npt.NDArray[np.int64] = np.take_along_axis(every, first, -1)[..., 0] + images
    return found


def _seen(x: npt.NDArray[Any], how: Sliding, fill: float, beyond: float | None = None) -> npt.NDArray[Any]:
    """What a pool's windows see, as `_windows` has it. beyond: what is further out than the padding, if not
    `fill` too."""
    counts, around, further = [], [(0, 0)] * 2, [(0, 0)] * 2
    for dim, w in zip(x.shape[2:], how.windows(), strict=True):
        places = sliding.pooled(dim, w, how.ceil_mode)
        before, after, count = places.numbers()
        after = max(after, 0)  # what is left out is seen where dilation reaches it
        reach = (count - 1) * w.stride + w.extent - before - dim  # of the last window, from the image's end
        around.append((before, min(reach, after)))
        further.append((0, max(reach - after, 0)))
        counts.append(count)
    if 0 in counts:
        return np.zeros((*x.shape[:2], *counts, *how.kernel), x.dtype)
    cut = tuple(slice(max(-a, 0), n + min(b, 0)) for n, (a, b) in zip(x.shape, around, strict=True))
    padded = np.pad(x[cut], [(max(a, 0), max(b, 0)) for a, b in around], constant_values=fill)
    padded = np.pad(padded, further, constant_values=fill if beyond is None else beyond)
    return _windows(padded, how.kernel, how.strides, how.dilations)
