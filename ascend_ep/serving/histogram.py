"""Durations by size, counted in fixed buckets: an index and two additions per value."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

#: Upper bounds of the buckets in nanoseconds, from 10 µs to 30 s; one more bucket takes what is above.
BOUNDS = (
    *(int(step * 10**power) for power in range(4, 10) for step in (1, 2.5, 5)),
    10 * 10**9,
    30 * 10**9,
)


@dataclass(slots=True)
class Histogram:
    """count, and ns: nanoseconds in all."""

    count: int = 0
    ns: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))

    def add(self, ns: int) -> None:
        self.count += 1
        self.ns += ns
        self.buckets[bisect_left(BOUNDS, ns)] += 1
