"""Memory of outputs that is used again once the caller has let go of it.

A large array that numpy frees goes back to the system, and the next one costs a page fault every 4 KB: more
than many kernels. So the last arrays handed out stay known, and one that nobody else refers to is given out
again; every view a caller makes of it keeps a reference.

They begin at a page, where numpy's own begin 16 bytes behind one: there most vectors would cross a cache
line, and none could be stored past the caches. Any other line of a page is worse: a kernel that walks through
an array of numpy at the same pace would read where, but for the page, it has just written, and CPUs wait for
such stores.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.errors import AscendError

#: Smaller arrays come from the allocator's own free lists; memory of 128 KB and about is given back to the
#: system as arrays are freed.
LEAST_BYTES = 1 << 16
KEPT = 3
ALIGNMENT = 4096
#: References to memory that only this module knows: the list's, its array's, the loop variable's, and that of
#: getrefcount itself.
_ALONE = 4


def allocator(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[], NDArray[Any]]:
    """What gives an array of this shape and dtype, with any content, that nobody else has."""
    if math.prod(shape) * dtype.itemsize < LEAST_BYTES:
        return partial(np.empty, shape, dtype)
    return OutputMemory(shape, dtype).take


class OutputMemory:
    """Arrays of one shape and dtype. Any number of threads may take from it."""

    __slots__ = ("_bytes", "_dtype", "_known", "_lock", "_shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._shape = shape
        self._dtype = dtype
        self._bytes = math.prod(shape) * dtype.itemsize
        self._known: list[tuple[NDArray[Any], NDArray[Any]]] = []  # memory, and the array in it
        self._lock = threading.Lock()

    def take(self) -> NDArray[Any]:
        """An array that nobody else has; one that was handed out before, if it was let go of."""
        with self._lock:
            for memory, array in self._known:
                if sys.getrefcount(memory) == _ALONE:
                    return array.view()
            made = self._memory()
            start = -made.ctypes.data % ALIGNMENT
            array = made[start : start + self._bytes].view(self._dtype).reshape(self._shape)
            self._known.append((made, array))
            if len(self._known) > KEPT:
                del self._known[0]
            return array.view()

    def _memory(self) -> NDArray[Any]:
        try:
            return np.empty(self._bytes + ALIGNMENT, np.uint8)
        except (MemoryError, ValueError) as error:  # ValueError: more than an address can say
            raise AscendError("E40008", f"there is no memory for an output of {self._bytes} bytes") from error
