"""Weights as they lie in the bundle: little-endian bytes of a layout."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ascend_ep.errors import AscendError
from ascend_ep.runtime._rt import ffi, lib

from .plan import Ref, Weight

PANEL = 32


def packed_bytes(ref: Ref) -> int:
    """Size of a weight in the bundle, from its dims alone."""
    dims = [int(d) for d in ref.dims if isinstance(d, int)]
    if ref.weight is not None and ref.weight.layout != "plain":
        dims[-1] = -(-dims[-1] // PANEL) * PANEL
    if ref.weight is not None and ref.weight.layout == "pairs32":
        dims[-2] = -(-dims[-2] // 2) * 2
    count = 1
    for d in dims:
        count *= d
    return count * int(lib.asc_dtype_bytes(ref.dtype))


def pack(weight: Weight, dtype: int) -> memoryview:
    """The weight's bytes. A plain one that is already little-endian and contiguous is not copied."""
    array = weight.load()
    if weight.layout == "pairs32":
        return _panels(array, pairs=True)
    size = int(lib.asc_dtype_bytes(dtype))
    if array.dtype.itemsize != size:
        raise AscendError("E40006", f"a weight of element type {dtype} can't be stored in a bundle")
    if weight.layout == "panel32":
        return _panels(array)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _panels(array: NDArray[np.generic], pairs: bool = False) -> memoryview:
    """A [K, N] matrix, or a stack [..., K, N] of them back to back; as bfloat16 pairs of rows if asked."""
    if array.ndim < 2 or array.dtype != np.float32:
        raise ValueError("panels are packed from float32 matrices")
    k, n = array.shape[-2:]
    stack = array.reshape(prod(array.shape[:-2]), k, n)
    out = np.empty((len(stack), -(-n // PANEL), -(-k // 2) if pairs else k, PANEL), np.uint32)
    for matrix, packed in zip(stack, out, strict=True):
        rows, columns = (s // array.itemsize for s in matrix.strides)
        source = ffi.cast("float *", matrix.ctypes.data)
        if pairs:
            lib.asc_pack_pairs32(source, k, n, rows, columns, ffi.cast("uint32_t *", packed.ctypes.data))
        else:
            lib.asc_pack_panel32(source, k, n, rows, columns, ffi.cast("float *", packed.ctypes.data))
    return out.reshape(-1).view(np.uint8).data
