"""Weights in integers: 8 bits with a scale for each channel, 4 bits with one for each block, rounded to the
nearest or as GPTQ does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .observe import Floats

#: Shares of a block's range that are tried for 4 bits.
_SHARES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7)
#: Columns that GPTQ rounds before it corrects all others (Frantar et al. 2022).
_GROUP = 128
#: GPTQ adds this share of the mean to the diagonal.
_DAMPING = 0.01


@dataclass(frozen=True)
class Integers:
    """`values` of the weights' dims; `scale` is one element, one for each index of `axis`, or, with a
    `block`, one for each so many of axis K, of the rank of the weights."""

    values: NDArray[np.integer]
    scale: NDArray[np.float32]
    axis: int
    block: int = 0

    def floats(self) -> NDArray[np.float32]:
        """The weights that they stand for."""
        if self.block:
            spread = np.repeat(self.scale, self.block, axis=self.axis)
        elif self.scale.ndim:
            spread = self.scale.reshape([-1 if a == self.axis else 1 for a in range(self.values.ndim)])
        else:
            spread = self.scale
        found: NDArray[np.float32] = self.values * spread
        return found


def channel_scales(
    weight: NDArray[np.float32], axis: int, channel_wise: bool, least: Floats | float = 0.0
) -> NDArray[np.float32]:
    """max / 127 of each index of `axis`, or of all. `least`: below which a scale isn't (for the bias)."""
    others = tuple(a for a in range(weight.ndim) if a != axis) if channel_wise else None
    largest = np.abs(weight).max(axis=others, initial=0.0).astype(np.float64)
    scale = np.maximum(largest / 127, least)
    return np.where(scale > np.finfo(np.float32).tiny, scale, 1.0).astype(np.float32)


def rounded(weight: NDArray[np.float32], axis: int, scale: NDArray[np.float32]) -> Integers:
    """8 bits, to the nearest."""
    dims = [-1 if a == axis else 1 for a in range(weight.ndim)]
    spread = scale.reshape(dims) if scale.ndim else scale
    return Integers(np.clip(np.rint(weight / spread), -127, 127).astype(np.int8), scale, axis)


def block_of(k: int, block: int) -> int:
    """The block for K rows: `block`, or all of them where it doesn't divide K."""
    return block if k % block == 0 else k


def rounded_blocks(matrix: NDArray[np.float32], block: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """[K, N] in 4 bits, and scales [K / block, N]: of some shares of the range, that with the least error."""
    k, n = matrix.shape
    blocks = matrix.reshape(k // block, block, n)
    whole = _block_scale(blocks)
    best = np.full(whole.shape, np.inf)
    values, scales = np.zeros(blocks.shape, np.int8), whole
    for share in _SHARES:
        scale = (whole * np.float32(share)).astype(np.float32)
        tried = np.clip(np.rint(blocks / scale), -8, 7)
        error = np.square(tried * scale - blocks).sum(axis=1, keepdims=True)
        better = error < best
        best, scales = np.where(better, error, best), np.where(better, scale, scales)
        values = np.where(better, tried, values).astype(np.int8)
    return values.reshape(k, n), scales.reshape(k // block, n).astype(np.float32)


def _block_scale(blocks: NDArray[np.float32]) -> NDArray[np.float32]:
    """[.., 1, N]: max / 7 of each column of a block."""
    scale = np.abs(blocks).max(axis=-2, keepdims=True) / np.float32(7)
    found: NDArray[np.float32] = np.where(scale > np.finfo(np.float32).tiny, scale, np.float32(1))
    return found


def gptq(
    matrix: NDArray[np.float32], moment: Floats, bits: int, block: int, scale: NDArray[np.float32] | None
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """[K, N] as integers and their scales, [K / block, N]: rows are rounded in turn, and what each loses is
    made up for by those that aren't yet, as the inverse of `moment` [K, K] says (Frantar et al. 2022).

    `scale` [1, N] is kept for all blocks; None: each block's is chosen when it is reached.
    """
    k, n = matrix.shape
    weights = matrix.astype(np.float64)
    hessian = moment.copy()
    dead = np.diag(hessian) <= 0
    hessian[dead, dead] = 1
    weights[dead] = 0
    hessian[np.diag_indices(k)] += _DAMPING * np.mean(np.diag(hessian))
    upper = np.linalg.cholesky(np.linalg.inv(hessian)).T  # inverse = upper^T upper
    low, high = (-8, 7) if bits == 4 else (-127, 127)
    values = np.zeros((k, n), np.int8)
    scales = np.zeros((k // block, n), np.float32)
    for first in range(0, k, _GROUP):
        last = min(first + _GROUP, k)
        errors = np.zeros((last - first, n))
        for row in range(first, last):
            if row % block == 0:
                rest = weights[row : row + block].astype(np.float32)
                scales[row // block] = rounded_blocks(rest, block)[1][0] if scale is None else scale[0]
            step = scales[row // block].astype(np.float64)
            found = np.clip(np.rint(weights[row] / step), low, high)
            values[row] = found
            error = (weights[row] - found * step) / upper[row, row]
            weights[row:last] -= np.outer(upper[row, row:last], error)
            errors[row - first] = error
        weights[last:] -= upper[first:last, last:].T @ errors
    return values, scales
