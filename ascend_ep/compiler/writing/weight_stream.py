"""Weights as they are written to a bundle: in pieces, so that no more than a piece of one is in memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.plan import Ref, Weight

from .packing import pack

#: Columns of a panel (ascend_rt.h).
PANEL = 32
#: Bytes of a weight that are packed at a time.
PIECE = 16 << 20


def pieces(ref: Ref) -> Iterator[memoryview]:
    """The bytes of a weight, those of `pack`, one piece after another."""
    assert ref.weight is not None
    array = ref.weight.array()
    if array.nbytes <= PIECE:
        yield pack(ref.weight, ref.dtype)
    elif ref.weight.layout == "plain":
        rows = array.reshape(-1) if array.flags.c_contiguous else array
        for part in _split(rows, 0):
            yield pack(Weight(part), ref.dtype)
    else:
        k, n = array.shape[-2:]
        for matrix in array.reshape(prod(array.shape[:-2]), k, n):
            for part in _split(matrix, 1, PANEL):  # panels are of columns, one after another
                yield pack(Weight(part, ref.weight.layout), ref.dtype)


def _split(array: NDArray[np.generic], axis: int, unit: int = 1) -> Iterator[NDArray[np.generic]]:
    """Pieces along an axis, of whole units of it."""
    length = array.shape[axis]
    step = max(PIECE * length // array.nbytes // unit, 1) * unit
    for start in range(0, length, step):
        yield array[(slice(None),) * axis + (slice(start, start + step),)]


def forget(array: NDArray[Any]) -> None:
    """Gives back the memory of a file that the array is a read-only view of; what it holds stays readable."""
    if array.flags.writeable or array.nbytes < mmap.PAGESIZE:
        return
    base: object = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    if isinstance(base, mmap.mmap):
        base.madvise(mmap.MADV_DONTNEED)
