"""The classification extension: an output's best classes, as text, in the place of its values."""

from __future__ import annotations

import math

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.serving.request import Array


def best_classes(array: Array, count: int, name: str) -> Array:
    """BYTES [batch, k] of `value:index`, best first, k = min(count, classes). An array of one dimension is
    one batch's classes: [k]. Raises AscendError E50004 for an output that isn't of numbers."""
    if array.dtype.kind == "O" or array.ndim == 0:
        raise AscendError("E50004", name, "only an output of numbers with dimensions can be classified")
    rows = (
        array.reshape(1, -1) if array.ndim == 1 else array.reshape(array.shape[0], math.prod(array.shape[1:]))
    )
    values = rows.astype(np.float64)
    # NaN sorts last, equal values by their index.
    order = np.argsort(-values, axis=1, kind="stable")[:, : max(count, 0)]
    best = np.empty(order.shape, object)
    for row, picked in enumerate(order):
        best[row] = [f"{values[row, index]:f}:{index}" for index in picked]
    return best[0] if array.ndim == 1 else best
