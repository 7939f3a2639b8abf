"""Constants in files that are mapped: what was read of them needn't stay in memory."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray


def release_pages(array: NDArray[Any]) -> None:
    """Gives back the memory of a file that the array is a read-only view of; what it holds stays readable."""
    if array.flags.writeable or array.nbytes < mmap.PAGESIZE:
        return
    base: object = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    if isinstance(base, mmap.mmap):
        base.madvise(mmap.MADV_DONTNEED)
