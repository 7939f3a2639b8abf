"""How far an output is from what it should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Largest difference from the reference, relative to the largest magnitude of the output. The bounds leave
#: room for the rounding of long sums in the output's type; a wrong kernel misses them by orders.
BOUNDS = {"float32": 2e-4, "float64": 1e-8, "float16": 2e-2, "bfloat16": 1e-1}


@dataclass(frozen=True)
class Difference:
    """How far an output is from its reference. `relative`: largest difference over largest magnitude."""

    relative: float
    bound: float
    note: str = ""

    @property
    def exceeds(self) -> bool:
        return bool(self.note) or not self.relative <= self.bound

    def __str__(self) -> str:
        return self.note or f"relative difference {self.relative:.3g}, bound {self.bound:.3g}"


def compare(result: Array, expected: Array, bound: float | None = None) -> Difference:
    """An output against its reference: floats by `bound` or that of their type, all else by equality."""
    if result.shape != expected.shape:
        return Difference(np.inf, 0, f"shape {list(result.shape)}, the reference has {list(expected.shape)}")
    own = BOUNDS.get(result.dtype.name)
    bound = own if bound is None else bound
    if own is None or bound is None:
        unequal = int(np.count_nonzero(result != expected))
        return Difference(float(unequal), 0, f"{unequal} elements differ" if unequal else "")
    got, want = result.astype(np.float64), expected.astype(np.float64)
    special = ~np.isfinite(want)
    if not np.array_equal(got[special], want[special], equal_nan=True):
        return Difference(np.inf, bound, "NaN or infinity differ")
    got, want = got[~special], want[~special]
    if not got.size:
        return Difference(0.0, bound)
    scale = float(np.abs(want).max())
    worst = float(np.abs(got - want).max())
    return Difference(worst / scale if scale else worst, bound)
