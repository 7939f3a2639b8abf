"""Convolution and pooling in NumPy float64, for the reference: what onnx.reference does, at usable speed.

Formulas: the ONNX pages of Conv, ConvTranspose, AveragePool and MaxPool. Arrays are [N, C, spatial...].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

Array = npt.NDArray[np.float64]

#: Bytes of the columns that a convolution makes at a time.
BLOCK = 16 << 20


def _pads(
    dims: Sequence[int],
    extents: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int] | None,
    auto_pad: str,
) -> list[tuple[int, int]]:
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        result = []
        for dim, extent, stride in zip(dims, extents, strides, strict=True):
            total = max((math.ceil(dim / stride) - 1) * stride + extent - dim, 0)
            small, large = total // 2, total - total // 2
            result.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
        return result
    count = len(dims)
    if auto_pad == "VALID" or not pads:
        return [(0, 0)] * count
    return [(pads[i], pads[i + count]) for i in range(count)]


def _windows(x: Array, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Array:
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
    picked: Array = every[steps]
    return picked


def convolve(
    x: Array,
    w: Array,
    bias: Array | None,
    group: int,
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int] | None,
    auto_pad: str,
) -> Array:
    """Cross-correlation: w is [M, C/group, kernel...]."""
    kernel = w.shape[2:]
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    padding = _pads(x.shape[2:], extents, strides, pads, auto_pad)
    padded = np.pad(x, [(0, 0), (0, 0), *padding])
    windows = _windows(padded, kernel, strides, dilations)
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
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int] | None,
    auto_pad: str,
    output_padding: Sequence[int],
    output_shape: Sequence[int] | None,
) -> Array:
    """The gradient of convolution: w is [C, M/group, kernel...]."""
    kernel, dims = w.shape[2:], x.shape[2:]
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    full = [(i - 1) * s + e for i, s, e in zip(dims, strides, extents, strict=True)]
    if output_shape is not None or auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = list(output_shape or [i * s for i, s in zip(dims, strides, strict=True)])[-len(dims) :]
        totals = [f + p - o for f, p, o in zip(full, output_padding, wanted, strict=True)]
        upper = auto_pad == "SAME_UPPER"
        begins = [t // 2 if upper else t - t // 2 for t in totals]
    else:
        padding = _pads(dims, extents, strides, pads, auto_pad)
        begins = [p[0] for p in padding]
        wanted = [f + o - sum(p) for f, o, p in zip(full, output_padding, padding, strict=True)]
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


def pool(
    x: Array,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int] | None,
    auto_pad: str,
    ceil_mode: bool,
    average: bool,
    count_padding: bool = False,
) -> Array:
    """Maximum or mean of every window; elements beyond the padding (ceil_mode) never count."""
    around, further = _surroundings(x.shape[2:], kernel, strides, dilations, pads, auto_pad, ceil_mode)
    axes = tuple(range(x.ndim, 2 * x.ndim - 2))
    if not average:
        padded = np.pad(np.pad(x, around, constant_values=-np.inf), further, constant_values=-np.inf)
        result: Array = _windows(padded, kernel, strides, dilations).max(axis=axes)
        return result
    ones = np.pad(np.ones((1, 1, *x.shape[2:])), around, constant_values=float(count_padding))
    counts = _windows(np.pad(ones, further), kernel, strides, dilations).sum(axis=axes)
    total: Array = _windows(np.pad(np.pad(x, around), further), kernel, strides, dilations).sum(axis=axes)
    mean: Array = total / counts
    return mean


def places_of_maxima(
    x: Array,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int] | None,
    auto_pad: str,
    ceil_mode: bool,
    by_column: bool,
) -> npt.NDArray[np.int64]:
    """Where in the whole of x the first largest element of every window is. by_column: the first of the
    spatial axes counts fastest."""
    dims, size = x.shape[2:], math.prod(x.shape[2:])
    around, further = _surroundings(dims, kernel, strides, dilations, pads, auto_pad, ceil_mode)
    padded = np.pad(np.pad(x, around, constant_values=-np.inf), further, constant_values=-np.inf)
    numbers = np.arange(size).reshape(1, 1, *(dims[::-1] if by_column else dims))
    numbers = numbers.transpose(0, 1, *range(x.ndim - 1, 1, -1)) if by_column else numbers
    places = _windows(np.pad(np.pad(numbers, around), further), kernel, strides, dilations)
    windows = _windows(padded, kernel, strides, dilations)
    out = windows.shape[2 : x.ndim]
    first = windows.reshape(*x.shape[:2], *out, -1).argmax(-1)[..., None]
    every = np.broadcast_to(places, windows.shape).reshape(*x.shape[:2], *out, -1)
    images = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *(1 for _ in dims)) * size
    found: npt.NDArray[np.int64] = np.take_along_axis(every, first, -1)[..., 0] + images
    return found


def _surroundings(
    dims: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int] | None,
    auto_pad: str,
    ceil_mode: bool,
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The padding of each axis of [N, C, spatial...], and what ceil_mode adds beyond it."""
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    padding = _pads(dims, extents, strides, pads, auto_pad)
    beyond = []
    for dim, extent, stride, (begin, end) in zip(dims, extents, strides, padding, strict=True):
        count = (dim + begin + end - extent) // stride + 1
        if ceil_mode and auto_pad == "NOTSET":
            count = -(-(dim + begin + end - extent) // stride) + 1
            count -= (count - 1) * stride >= dim + begin
        beyond.append((0, max((count - 1) * stride + extent - dim - begin - end, 0)))
    return [(0, 0), (0, 0), *padding], [(0, 0), (0, 0), *beyond]
