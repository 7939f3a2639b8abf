"""Bounds of matrix products: sums of products in any order, as reduction_bound.py has sums.

The products of some rows of the left matrix with all of the right one are at hand at once, so that what a
proof takes doesn't grow with their number.
"""

from __future__ import annotations

import numpy as np

from ascend_ep.opbuild.proof.arithmetic import Arithmetic
from ascend_ep.opbuild.proof.bounded import Array, Bounded, apply
from ascend_ep.opbuild.proof.reduction_bound import Fold

#: Products at hand at once.
MOST_PRODUCTS = 1 << 18


def matrix_product(a: Bounded, b: Bounded, arithmetic: Arithmetic) -> Bounded:
    """a @ b, by NumPy's rules."""
    left, right = _matrix(a, 0), _matrix(b, 1)
    x, y = np.asarray(left.value), np.asarray(right.value)
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    left, right = (_spread(m, batch) for m in (left, right))
    rows, inner, columns = x.shape[-2], x.shape[-1], y.shape[-1]
    value = np.zeros((int(np.prod(batch)), rows, columns))
    error = np.zeros_like(value)
    step = max(1, MOST_PRODUCTS // max(inner * columns, 1))
    for i in range(len(value)):
        for start in range(0, rows, step):
            part = _rows(left, right, i, slice(start, start + step), arithmetic)
            value[i, start : start + step] = part.value
            error[i, start : start + step] = part.error
    shape = (
        *batch,
        *([] if np.ndim(a.value) == 1 else [rows]),
        *([] if np.ndim(b.value) == 1 else [columns]),
    )
    return Bounded(value.reshape(shape), error.reshape(shape))


def _matrix(x: Bounded, axis: int) -> Bounded:
    """A vector as a matrix of one row (axis 0) or column."""
    return x.moved(lambda v: np.expand_dims(v, axis)) if np.ndim(x.value) == 1 else x.moved(lambda v: v)


def _spread(x: Bounded, batch: tuple[int, ...]) -> Bounded:
    """The matrices of all products, in a row."""
    shape = np.shape(x.value)[-2:]
    return x.moved(lambda v: np.broadcast_to(v, (*batch, *shape)).reshape(-1, *shape))


def _rows(left: Bounded, right: Bounded, i: int, rows: slice, arithmetic: Arithmetic) -> Bounded:
    """Some rows of the product of matrices i."""

    def row(v: Array) -> Array:
        return np.asarray(v[i, rows, :, None])

    def column(v: Array) -> Array:
        return np.asarray(v[i, None])

    products = apply("mul", [left.moved(row), right.moved(column)], arithmetic)
    return Fold(products, (1,), False, arithmetic).total("sum")
