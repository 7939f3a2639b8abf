"""Bounds of reductions and of positions.

Sums may be in any order: n - 1 additions of relative error u (Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., section 4.2), and products likewise (section 3.1). The largest of n numbers moves no
further than they do. A position is certain where no other element comes as near to the chosen one as the
errors of both.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascend_ep.opbuild.proof.arithmetic import Arithmetic
from ascend_ep.opbuild.proof.bounded import Array, Bounded, apply, distance, rounded, unbounded_where


class Fold:
    """A reduction of `operand` over `axes`, counted from the front."""

    def __init__(
        self, operand: Bounded, axes: tuple[int, ...], keepdims: bool, arithmetic: Arithmetic
    ) -> None:
        self.x = np.asarray(operand.value, dtype=np.float64)
        self.error = np.broadcast_to(np.asarray(operand.error, dtype=np.float64), self.x.shape)
        self.over: dict[str, Any] = {"axis": axes, "keepdims": keepdims}
        self.count = math.prod(self.x.shape[a] for a in axes)
        self.arithmetic = arithmetic

    def extreme(self, op: str) -> Bounded:
        """max and min."""
        pick = np.max if op == "max" else np.min
        y, ends = pick(self.x, **self.over), []
        for sign in (-1.0, 1.0):
            ends.append(distance(pick(self.x + sign * self.error, **self.over), y))
        lost = np.any(np.isinf(self.error), **self.over)
        signs = (
            np.any((self.x == 0) & np.signbit(self.x), **self.over),
            np.any((self.x == 0) & ~np.signbit(self.x), **self.over),
        )
        either = np.where((y == 0) & signs[0] & signs[1], self.arithmetic.least, 0.0)  # as with two numbers
        return Bounded(y, unbounded_where(lost, np.maximum(np.maximum(*ends), either)))

    def truth(self, op: str) -> Bounded:
        """any and all: in doubt when no certain element decides."""
        holds, doubt = self.x != 0, self.error > 0
        decides = holds if op == "any" else ~holds
        y = np.any(holds, **self.over) if op == "any" else np.all(holds, **self.over)
        unsure = np.any(doubt, **self.over) & ~np.any(decides & ~doubt, **self.over)
        return Bounded(y, unsure * 1.0)

    def total(self, op: str) -> Bounded:
        """sum and mean."""
        x, error, over, most = self.x, self.error, self.over, self.arithmetic.most
        y, size = np.sum(x, **over), np.sum(np.abs(x) + error, **over)
        spread = np.sum(error, **over) + self.count * (self.arithmetic.spacing / 2) * size
        if self.arithmetic.rounded > 1:
            spread = spread + self.count * (self.arithmetic.spacing / 2) * size
        finite = np.isfinite(y) & np.isfinite(size)
        spread = np.where(finite, spread, unbounded_where(np.any(~np.isfinite(error), **over), 0.0))
        spread = unbounded_where(finite & (size > most) & (np.abs(y) - spread <= most), spread)
        spread = unbounded_where(self._may_meet_its_opposite(y), spread)
        result = rounded(Bounded(y, spread), self.arithmetic) if self.count > 1 else Bounded(y, spread)
        if op == "sum":
            return result
        return apply("div", [result, Bounded(np.float64(self.count))], self.arithmetic)

    def _may_meet_its_opposite(self, total: Array) -> Array:
        """Where a sum is infinite, and in another order NaN: elements of the other sign overflow alone."""
        against = np.where(np.isfinite(self.x), -np.sign(self._spread_out(total)) * self.x, 0.0)
        size = np.sum(np.maximum(against + self.error, 0.0), where=against > 0, **self.over)
        given = np.any(np.isinf(self.x), **self.over)
        meets: Array = np.isinf(total) & (size > np.where(given, self.arithmetic.most, 0.0))
        return meets

    def _spread_out(self, result: Array) -> Array:
        """A result per reduction, as it broadcasts with the elements."""
        return result if self.over["keepdims"] else np.expand_dims(result, self.over["axis"])

    def product(self) -> Bounded:
        """prod. A certain infinity, zero or NaN decides, unless the rest may overflow or vanish."""
        x, error, over, arithmetic = self.x, self.error, self.over, self.arithmetic
        y, size = np.prod(x, **over), np.prod(np.abs(x) + error, **over)
        above = np.prod(np.maximum(np.where(np.isfinite(x), np.abs(x), 1.0) + error, 1.0), **over)
        below = np.prod(np.minimum(np.where(np.isnan(x), 1.0, np.abs(x)), 1.0), **over)
        spread = size - np.abs(y) + self.count * arithmetic.spacing * size
        spread = spread + np.where(below < 2.0**-126, self.count * arithmetic.least * above, 0.0)
        lost = np.any(~np.isfinite(error), **over) | (above > arithmetic.most)
        sure = np.any(np.isnan(x), **over) | np.all((np.abs(x) > error) | (error == 0), **over)
        nonzero = below > 2.0**-126
        special = np.isnan(y) & sure & ~lost
        special = special | (np.isinf(y) & np.any(np.isinf(x), **over) & nonzero & sure & ~lost)
        zero = np.any((x == 0) & (error == 0), **over) & np.isfinite(y) & ~lost
        spread = np.where(special | zero, 0.0, unbounded_where(~np.isfinite(spread) | lost, spread))
        return rounded(Bounded(y, spread), arithmetic)

    def variance(self) -> Bounded:
        """The mean of the squared distances from the mean."""
        axes, arithmetic = self.over["axis"], self.arithmetic
        mean = Fold(Bounded(self.x, self.error), axes, True, arithmetic).total("mean")
        off = apply("sub", [Bounded(self.x, self.error), mean], arithmetic)
        square = apply("mul", [off, off], arithmetic)
        return Fold(square, axes, self.over["keepdims"], arithmetic).total("mean")


def chosen(operand: Bounded, axis: int, indices: Array) -> Array:
    """Errors of `indices`, positions along `axis` in order of size: 0 where certain, else infinite."""
    x = np.moveaxis(np.asarray(operand.value, dtype=np.float64), axis, -1)
    error = np.broadcast_to(np.asarray(operand.error, dtype=np.float64), np.shape(operand.value))
    error = np.moveaxis(error, axis, -1)
    at = np.moveaxis(indices, axis, -1).astype(np.int64)
    if not at.size:
        return np.zeros(indices.shape)
    mine, mine_error = (np.take_along_axis(a, at, -1)[..., None] for a in (x, error))
    room = mine_error + error[..., None, :]
    other = np.arange(x.shape[-1]) != at[..., None]
    doubt = other & (room > 0) & (distance(mine, x[..., None, :]) <= room)
    return np.moveaxis(unbounded_where(np.any(doubt, axis=-1), np.zeros(at.shape)), -1, axis)
