"""Timing calls: alone, or two of one process in turn."""

from __future__ import annotations

import statistics
import time
from itertools import cycle, islice

from .backends import Call

#: Calls are timed in blocks of about this many seconds, so that the clock costs nothing.
BLOCK = 20e-6
#: A slot has at least this many blocks, besides the first, which finds the caches cold.
LEAST_BLOCKS = 3
#: Of two calls in turn, each has about this many seconds at a time, after some that are not seen: runs that
#: move as much as the caches hold need up to ten of their own before they take their time again.
STRETCH, UNSEEN = 0.015, 0.005


class Timed:
    """A call, or several of like work one after another, and how many make a block."""

    def __init__(self, *calls: Call) -> None:
        self._calls = cycle(calls)
        self.block = 1
        next(self._calls)()
        while (spent := self._spend()) < BLOCK and self.block < 1000:
            self.block = min(1000, max(self.block * 2, int(self.block * BLOCK / max(spent, 1e-9))))

    def blocks(self, seconds: float, least: int = LEAST_BLOCKS, unseen: float = 0.0) -> list[float]:
        """Runs for about `seconds`: the seconds of one call, by block. What runs before, for `unseen` seconds
        and at least one block, finds the caches cold and doesn't count."""
        warm = time.perf_counter() + unseen
        self._spend()
        while time.perf_counter() < warm:
            self._spend()
        times: list[float] = []
        end = time.perf_counter() + seconds
        while len(times) < least or time.perf_counter() < end:
            times.append(self._spend() / self.block)
        return times

    def _spend(self) -> float:
        calls = islice(self._calls, self.block)
        begin = time.perf_counter()
        for call in calls:
            call()
        return time.perf_counter() - begin


def in_turn(first: Timed, second: Timed, seconds: float) -> tuple[float, float]:
    """Stretches of both in turn for about `seconds` together: the median seconds of one call of each. Each
    goes first in every second turn, so that what drifts meanwhile is neither's."""
    pair = first, second
    times: tuple[list[float], list[float]] = [], []
    end = time.perf_counter() + seconds
    turn = 0
    while turn < LEAST_BLOCKS or time.perf_counter() < end:
        for which in (0, 1) if turn % 2 else (1, 0):
            times[which].extend(pair[which].blocks(STRETCH, 1, UNSEEN))
        turn += 1
    return statistics.median(times[0]), statistics.median(times[1])
