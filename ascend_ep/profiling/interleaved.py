"""Which of two things is faster, on a machine that others use: interleaved slots, and what noise hides.

A slot runs one of them several times and keeps the least time of a run: what others take can only add. A
round is one slot of each, in alternating order, so that what changes slowly changes both. The ratio of a
round's two times is one observation; their median is the estimate, and the interval holds the true median
with 99 % confidence whatever the distribution of the noise (order statistics of the binomial distribution).
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: Chance that the interval misses the median.
RISK = 0.01
LEAST_ROUNDS = 10
SLOT_SECONDS = 0.02
#: Seconds that may pass for one of the clock.
PATIENCE = 20

Run = Callable[[], object]
Clock = Callable[[], float]


@dataclass(frozen=True)
class Comparison:
    """The times of `new` as multiples of those of `old`: the median, and the interval around it. Seconds
    are the least that a run of each took. `noise`: half of the middle half of the ratios, relative."""

    ratio: float
    low: float
    high: float
    old_seconds: float
    new_seconds: float
    rounds: int
    noise: float

    @property
    def slowdown(self) -> float:
        return self.ratio - 1


def compare(
    old: Run,
    new: Run,
    seconds: float,
    settled: Callable[[Comparison], bool] = lambda _: False,
    clock: Clock = time.perf_counter,
    deadline: float = math.inf,
) -> Comparison:
    """Rounds until `settled` says so, at most for so many seconds of the clock (LEAST_ROUNDS at the least): a
    process that gets little of the CPU measures as much, only later. At `deadline`, of time.perf_counter,
    it ends with any number of rounds from one on."""
    repeats = [_repeats(run, clock) for run in (old, new)]
    times: list[list[float]] = [[], []]
    end, patience = clock() + seconds, time.perf_counter() + PATIENCE * seconds
    while True:
        order = (0, 1) if len(times[0]) % 2 == 0 else (1, 0)
        for which in order:
            times[which].append(_slot((old, new)[which], repeats[which], clock))
        rounds = len(times[0])
        over = clock() > end or time.perf_counter() > patience
        late = time.perf_counter() > deadline
        if late or (rounds >= LEAST_ROUNDS and (over or rounds % 5 == 0)):
            found = estimate(times[0], times[1])
            if late or over or settled(found):
                return found


def _repeats(run: Run, clock: Clock) -> int:
    if _slot(run, 1, clock) > SLOT_SECONDS:
        return 1
    return max(1, math.ceil(SLOT_SECONDS / max(_slot(run, 3, clock), 1e-9)))


def _slot(run: Run, repeats: int, clock: Clock) -> float:
    least = math.inf
    for _ in range(repeats):
        began = clock()
        run()
        least = min(least, clock() - began)
    return max(least, 1e-9)


def estimate(old: Sequence[float], new: Sequence[float]) -> Comparison:
    """From the times of as many slots of each."""
    ratios = sorted(b / a for a, b in zip(old, new, strict=True))
    n = len(ratios)
    outside = _outside(n)
    quarter = n // 4
    return Comparison(
        statistics.median(ratios),
        ratios[outside],
        ratios[n - 1 - outside],
        min(old),
        min(new),
        n,
        (ratios[n - 1 - quarter] - ratios[quarter]) / 2,
    )


def _outside(n: int) -> int:
    """How many observations on each side lie outside of the interval: as many as the risk allows."""
    total, k = 0.0, 0
    while k < n // 2:
        total += math.comb(n, k) / 2**n
        if 2 * total > RISK:
            break
        k += 1
    return max(0, k - 1)
