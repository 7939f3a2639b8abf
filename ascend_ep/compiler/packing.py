"""Weights as they lie in the bundle: little-endian bytes of a layout."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.errors import AscendError
from ascend_ep.runtime._rt import ffi, lib

from .plan import Ref, Weight

PANEL = 32

#: What a panel is made of: float32, pairs of bfloat16, bytes.
_UNITS: dict[str, np.dtype[Any]] = {
    "panel32": np.dtype(np.uint32),
    "pairs32": np.dtype(np.uint32),
    "bytes32": np.dtype(np.int8),
    "nibbles32": np.dtype(np.int8),
}


#: Layouts in which two neighbouring rows share their units.
_PAIRED = ("pairs32", "nibbles32")


def packed_bytes(ref: Ref) -> int:
    """Size of a weight in the bundle, from its dims alone."""
    dims = [int(d) for d in ref.dims if isinstance(d, int)]
    if ref.weight is not None and ref.weight.layout != "plain":
        dims[-1] = -(-dims[-1] // PANEL) * PANEL
    if ref.weight is not None and ref.weight.layout in _PAIRED:
        dims[-2] = -(-dims[-2] // 2) * (1 if ref.weight.layout == "nibbles32" else 2)
    count = 1
    for d in dims:
        count *= d
    return count * int(lib.asc_dtype_bytes(ref.dtype))


def pack(weight: Weight, dtype: int) -> memoryview:
    """The weight's bytes. A plain one that is already little-endian and contiguous is not copied."""
    array = weight.load()
    if weight.layout != "plain":
        out = np.empty(_panel_shape(array, weight.layout), _UNITS[weight.layout])
        _panels(array, weight.layout, out)
        return out.reshape(-1).view(np.uint8).data
    return np.ascontiguousarray(_little(array, dtype)).reshape(-1).view(np.uint8).data


def pack_into(weight: Weight, dtype: int, out: NDArray[np.uint8]) -> None:
    """Writes the weight's bytes to `out`, which holds them exactly and begins at a multiple of ALIGN."""
    array = weight.array()
    if weight.layout != "plain":
        _panels(
            array, weight.layout, out.view(_UNITS[weight.layout]).reshape(_panel_shape(array, weight.layout))
        )
    else:
        array = _little(array, dtype)
        if array.size:
            out.view(array.dtype).reshape(array.shape)[...] = array


def _little(array: NDArray[np.generic], dtype: int) -> NDArray[np.generic]:
    if array.dtype.itemsize != int(lib.asc_dtype_bytes(dtype)):
        raise AscendError("E40006", f"a weight of element type {dtype} can't be stored in a bundle")
    return array.astype(array.dtype.newbyteorder("<")) if array.dtype.byteorder == ">" else array


def _panel_shape(array: NDArray[np.generic], layout: str) -> tuple[int, int, int, int]:
    wanted = np.int8 if _UNITS[layout] == np.int8 else np.float32
    if array.ndim < 2 or array.dtype != wanted:
        raise ValueError(f"{layout} is packed from matrices of {np.dtype(wanted)}")
    k, n = array.shape[-2:]
    return prod(array.shape[:-2]), -(-n // PANEL), -(-k // 2) if layout in _PAIRED else k, PANEL


def _panels(array: NDArray[np.generic], layout: str, out: NDArray[np.generic]) -> None:
    """A [K, N] matrix, or a stack [..., K, N] of them back to back; as bfloat16 pairs of rows if asked."""
    k, n = array.shape[-2:]
    for matrix, packed in zip(array.reshape(len(out), k, n), out, strict=True):
        rows, columns = (s // array.itemsize for s in matrix.strides)
        source, target = matrix.ctypes.data, packed.ctypes.data
        if _UNITS[layout] == np.int8:
            given = ffi.cast("int8_t *", source)
            pack_integers = lib.asc_pack_bytes32 if layout == "bytes32" else lib.asc_pack_nibbles32
            pack_integers(given, k, n, rows, columns, ffi.cast("int8_t *", target))
        elif layout == "pairs32":
            given = ffi.cast("float *", source)
            lib.asc_pack_pairs32(given, k, n, rows, columns, ffi.cast("uint32_t *", target))
        else:
            given = ffi.cast("float *", source)
            lib.asc_pack_panel32(given, k, n, rows, columns, ffi.cast("float *", target))
