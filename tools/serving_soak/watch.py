"""A process from outside: its memory and its open files."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PAGE = os.sysconf("SC_PAGE_SIZE")
MIB = 1 << 20


def resident(pid: int) -> int:
    """Bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


@dataclass
class Watch:
    """memory: (seconds, bytes) since the beginning."""

    pid: int
    memory: list[tuple[float, int]] = field(default_factory=list)

    async def run(self, every: float) -> None:
        began = time.monotonic()
        while True:
            self.memory.append((time.monotonic() - began, resident(self.pid)))
            await asyncio.sleep(every)

    def growth(self) -> tuple[float, float]:
        """MiB that a straight line through the second half of the run rises in that time, and the MiB that it
        may: 2 % of the process and 6 MiB, which is what the allocator's arenas move about."""
        half = [(t, m) for t, m in self.memory if t >= self.memory[-1][0] / 2]
        if len(half) < 3:
            return 0.0, 0.0
        seconds, memory = np.array(half, np.float64).T
        slope = float(np.polyfit(seconds, memory, 1)[0])
        return slope * (seconds[-1] - seconds[0]) / MIB, 6.0 + 0.02 * float(memory.mean()) / MIB
