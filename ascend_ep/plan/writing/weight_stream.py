"""Weights as they are written to a bundle: in pieces, so that no more than a piece of one is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray

from ascend_ep.graph.mapped import forget
from ascend_ep.plan.plan import Ref, Weight
from ascend_ep.runtime._rt import lib

from .packing import pack

PANEL = lib.ASC_PANEL
#: Bytes of a weight that are packed at a time.
PIECE = 16 << 20


def pieces(ref: Ref) -> Iterator[memoryview]:
    """The bytes of a weight, those of `pack`, one piece after another; its elements are asked for once."""
    assert ref.weight is not None
    array = ref.weight.array()
    if array.nbytes <= PIECE:
        yield pack(Weight(array, ref.weight.layout), ref.dtype)
    elif ref.weight.layout == "plain":
        rows = array.reshape(-1) if array.flags.c_contiguous else array
        for part in _split(rows, 0):
            yield pack(Weight(part), ref.dtype)
    else:
        k, n = array.shape[-2:]
        for matrix in array.reshape(prod(array.shape[:-2]), k, n):
            for part in _split(matrix, 1, PANEL):  # panels are of columns, one after another
                yield pack(Weight(part, ref.weight.layout), ref.dtype)
    forget(array)


def _split(array: NDArray[np.generic], axis: int, unit: int = 1) -> Iterator[NDArray[np.generic]]:
    """Pieces along an axis, of whole units of it."""
    length = array.shape[axis]
    step = max(PIECE * length // array.nbytes // unit, 1) * unit
    for start in range(0, length, step):
        yield array[(slice(None),) * axis + (slice(start, start + step),)]
