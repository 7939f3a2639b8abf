"""`acl.util`: addresses of Python's data, and data at addresses."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .library import ffi

#: numpy's types by the numbers of its C API.
_TYPES: dict[int, np.dtype[Any]] = {
    np.dtype(code).num: np.dtype(code) for code in np.typecodes["All"] if np.dtype(code).itemsize
}

#: Programs take the address of a temporary, as in `bytes_to_ptr(array.tobytes())`, and copy from it at once.
#: That works on a device, where no Python runs in between. So the last ones are kept, up to so many bytes.
_RECENT, _RECENT_BYTES = 16, 64 << 20
_recent: deque[tuple[Any, int]] = deque(maxlen=_RECENT)


def _keep(data: Any, size: int) -> None:
    _recent.append((data, size))
    while len(_recent) > 1 and sum(n for _, n in _recent) > _RECENT_BYTES:
        _recent.popleft()


def bytes_to_ptr(data: bytes) -> int:
    """The address of the bytes, which the caller keeps. Raises TypeError for what are none."""
    if not isinstance(data, bytes | bytearray):
        raise TypeError(f"bytes are needed, not {type(data).__name__}")
    _keep(data, len(data))
    return int(ffi().cast("uintptr_t", ffi().from_buffer(data)))


def ptr_to_bytes(ptr: int, size: int) -> bytes:
    """A copy of `size` bytes at an address."""
    return ctypes.string_at(ptr, size)


def numpy_to_ptr(array: NDArray[Any]) -> int:
    """The address of the array's elements; the array, which is contiguous, is the caller's to keep.

    Raises TypeError for what is no array, ValueError for one with gaps.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"an array is needed, not {type(array).__name__}")
    if not array.flags.c_contiguous:
        raise ValueError("the array isn't contiguous; np.ascontiguousarray makes one that is")
    _keep(array, array.nbytes)
    return int(array.ctypes.data)


def numpy_contiguous_to_ptr(array: NDArray[Any]) -> tuple[int, NDArray[Any]]:
    """The address of the elements of a contiguous array, and that array, which the caller keeps."""
    contiguous = np.ascontiguousarray(array)
    return int(contiguous.ctypes.data), contiguous


def ptr_to_numpy(ptr: int, shape: Sequence[int], npy_type: int) -> NDArray[Any]:
    """The memory at an address as an array; npy_type is numpy's number of its type.

    Raises ValueError for no number of a type, or no address.
    """
    kind = _TYPES.get(npy_type)
    if kind is None or not ptr:
        raise ValueError(f"[{npy_type}] is no number of a type of numpy's" if ptr else "the address is 0")
    count = int(np.prod(shape, dtype=np.int64))
    raw = (ctypes.c_uint8 * (count * kind.itemsize)).from_address(ptr)
    found: NDArray[Any] = np.ctypeslib.as_array(raw).view(kind).reshape(tuple(shape))
    return found
