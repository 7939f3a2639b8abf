"""Durations by size, counted in fixed buckets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

#: Upper bounds of the buckets in nanoseconds, from 10 µs to 30 s; one more bucket takes what is above.
BOUNDS = (
    *(int(step * 10**power) for power in range(4, 10) for step in (1, 2.5, 5)),
    10 * 10**9,
    30 * 10**9,
)
_BOUNDS = np.array(BOUNDS, np.int64)


@dataclass(slots=True)
class Histogram:
    """count, and ns: nanoseconds in all."""

    count: int = 0
    ns: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))

    def add_all(self, ns: NDArray[np.int64]) -> None:
        """Durations in nanoseconds, in an array of one dimension."""
        self.count += ns.size
        self.ns += int(ns.sum())
        found = np.bincount(_BOUNDS.searchsorted(ns), minlength=len(self.buckets))
        self.buckets[:] = (found + self.buckets).tolist()
