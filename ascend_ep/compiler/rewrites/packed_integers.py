"""Constant matrices of integers as kernels read them: int8, with the sums of their columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascend_ep.plan.plan import TensorSource


@dataclass(eq=False)
class Int8Matrix:
    """A [K, N] matrix of int8, read when the bundle is written. uint8 becomes int8 by subtracting 128."""

    source: NDArray[np.generic] | TensorSource
    transposed: bool = False

    def numpy(self) -> NDArray[np.generic]:
        array = self.source if isinstance(self.source, np.ndarray) else self.source.numpy()
        return (signed(array)).T if self.transposed else signed(array)


@dataclass(eq=False)
class ColumnSums:
    """The sums of a matrix's columns, in int32: [.., K, N] -> [.., N], flat."""

    matrix: TensorSource

    def numpy(self) -> NDArray[np.generic]:
        return np.asarray(np.sum(self.matrix.numpy(), -2, dtype=np.int32)).reshape(-1)


def signed(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """int8 as it is, uint8 less 128."""
    if array.dtype == np.uint8:
        return (np.ascontiguousarray(array) ^ np.uint8(128)).view(np.int8).reshape(array.shape)
    return array


def signed_zero(zero: NDArray[np.generic] | None, dtype: np.dtype[np.generic]) -> NDArray[np.generic] | None:
    """The zero point that goes with `signed`; None when it is 0 everywhere."""
    if zero is None:
        zero = np.zeros((), dtype)
    made = signed(zero)
    return made if made.any() else None
