"""How much of the machine others use, so that a slot they disturbed can be taken again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

#: Shares of all CPUs above which the machine is busy, and a slot disturbed.
BUSY, DISTURBED = 0.25, 0.10
#: Seconds over which the use is sampled between slots; the threads of the slot before fall asleep meanwhile.
SAMPLE = 0.03
#: A disturbed slot is taken this many times at most; the least disturbed counts.
ATTEMPTS = 3


@dataclass(frozen=True)
class Clock:
    """A moment: seconds on the wall, of all CPUs busy (stolen ones too), and of one process busy."""

    wall: float
    busy: float
    process: float

    @classmethod
    def now(cls, pid: int = 0) -> Clock:
        tick = float(os.sysconf("SC_CLK_TCK"))
        try:
            ticks = [int(t) for t in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() if pid else []
        except OSError:  # no Linux, or the process has ended
            return cls(time.perf_counter(), 0.0, 0.0)
        idle = ticks[3] + ticks[4]
        own = sum(int(t) for t in fields[11:13])
        return cls(time.perf_counter(), (sum(ticks) - idle) / tick, own / tick)

    def foreign(self, until: Clock) -> float:
        """The share of all CPUs that others than the process used."""
        others = (until.busy - self.busy) - (until.process - self.process)
        return max(0.0, others / ((until.wall - self.wall) * (os.cpu_count() or 1)))


class Patience:
    """Seconds to spend on waiting for a quiet machine and on taking disturbed slots again."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def wait(self) -> None:
        """Returns when little runs, or when patience has run out."""
        while True:
            before = Clock.now()
            time.sleep(SAMPLE)
            if before.foreign(Clock.now()) <= BUSY or self.left <= 0:
                return
            self.left -= SAMPLE

    def take(self, slot: Callable[[], T], pid: int) -> tuple[T, float]:
        """What `slot` returns, and the share that others than `pid` used meanwhile: of several attempts, the
        one they disturbed least."""
        best: tuple[T, float] | None = None
        for attempt in range(ATTEMPTS):
            self.wait()
            before = Clock.now(pid)
            found = slot()
            after = Clock.now(pid)
            share = before.foreign(after)
            if best is None or share < best[1]:
                best = found, share
            if attempt:
                self.left -= after.wall - before.wall
            if share <= DISTURBED or self.left <= 0:
                break
        assert best is not None
        return best
