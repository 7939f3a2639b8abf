"""Weights as they lie in the bundle: little-endian bytes of a layout."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import numpy_dtype
from ascend_ep.errors import AscendError
from ascend_ep.plan.plan import Ref, Weight
from ascend_ep.runtime._rt import ffi, lib
from ascend_ep.runtime.layouts import LAYOUTS, Layout


def packed_bytes(ref: Ref) -> int:
    """Size of a weight in the bundle, from its dims alone."""
    dims = [int(d) for d in ref.dims if isinstance(d, int)]
    if ref.weight is None or ref.weight.layout == "plain":
        return prod(dims) * int(lib.asc_dtype_bytes(ref.dtype))
    return prod(dims[:-2]) * _matrix_bytes(LAYOUTS[ref.weight.layout], *dims[-2:])


def pack(weight: Weight, dtype: int) -> memoryview:
    """The weight's bytes. A plain one that is already little-endian and contiguous is not copied."""
    if weight.layout != "plain":
        array, layout = weight.array(), LAYOUTS[weight.layout]
        out = np.empty(prod(array.shape[:-2]) * _matrix_bytes(layout, *array.shape[-2:]), np.uint8)
        _panels(array, layout, out)
        return out.data
    return np.ascontiguousarray(_little(weight.load(), dtype)).reshape(-1).view(np.uint8).data


def pack_into(weight: Weight, dtype: int, out: NDArray[np.uint8]) -> None:
    """Writes the weight's bytes to `out`, which holds them exactly and begins at a multiple of ALIGN."""
    array = weight.array()
    if weight.layout != "plain":
        _panels(array, LAYOUTS[weight.layout], out)
    else:
        array = _little(array, dtype)
        if array.size:
            out.view(array.dtype).reshape(array.shape)[...] = array


def _little(array: NDArray[np.generic], dtype: int) -> NDArray[np.generic]:
    if array.dtype.itemsize != int(lib.asc_dtype_bytes(dtype)):
        raise AscendError("E40006", f"a weight of element type {dtype} can't be stored in a bundle")
    return array.astype(array.dtype.newbyteorder("<")) if array.dtype.byteorder == ">" else array


def _matrix_bytes(layout: Layout, k: int, n: int) -> int:
    return int(lib.asc_packed_bytes(layout.number, k, n))


def _panels(array: NDArray[np.generic], layout: Layout, out: NDArray[np.uint8]) -> None:
    """A [K, N] matrix, or a stack [..., K, N] of them back to back."""
    if array.ndim < 2 or array.dtype != numpy_dtype(layout.source):
        raise ValueError(f"{layout.name} is packed from matrices of {numpy_dtype(layout.source)}")
    k, n = array.shape[-2:]
    stack = array.reshape(prod(array.shape[:-2]), k, n)
    for matrix, packed in zip(stack, out.reshape(len(stack), _matrix_bytes(layout, k, n)), strict=True):
        rows, columns = (s // array.itemsize for s in matrix.strides)
        source, target = (ffi.cast("void *", a.ctypes.data) for a in (matrix, packed))
        lib.asc_pack(layout.number, source, k, n, rows, columns, target)
