"""How fast the copy kernel moves bytes: what memory attains here and now."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ascend_ep.runtime.binding import fail, ffi, lib, new_status


def copy_seconds(source: NDArray[np.float32], target: NDArray[np.float32], threads: int) -> float:
    """The seconds of one copy of arrays of one dimension; `threads` 0: all."""
    tensors = ffi.new("asc_tensor[2]")
    for tensor, array in zip(tensors, (source, target), strict=True):
        tensor.data = ffi.cast("void *", array.ctypes.data)
        tensor.dtype, tensor.rank = lib.ASC_FLOAT32, 1
        tensor.dims[0], tensor.strides[0] = array.size, 1
    status, nothing = new_status(), ffi.NULL
    began = time.perf_counter()
    if lib.asc_kernel_call(-1, b"copy", tensors, 1, tensors + 1, 1, nothing, 0, nothing, 0, threads, status):
        raise fail(status, "copy")
    return time.perf_counter() - began
