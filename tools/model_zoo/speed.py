"""How fast a model runs inside onnxruntime with AscendEP, beside onnxruntime's CPU provider alone.

Each has a process of its own, new in every round, and short slots in turn, as in the benchmark; between two
slots nothing runs for so long that the threads of the one before fall asleep.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmark.fleet import Setting, WorkerFailed, WorkerProcess, rotated
from benchmark.noise import Ratio, ratio
from benchmark.quiet import Patience

PLAIN, ASCEND = "ort", "ascend_in_ort"
THREADS = 2
#: Slots of each process for each size in a round, and seconds of a slot and of the rest behind it.
SLOTS, SLOT, REST = 5, 0.1, 0.12
#: Seconds for each model to wait for a quiet machine and take slots again that others disturbed.
PATIENCE = 30.0


def measure(
    path: Path, feeds: Sequence[Path], folder: Path, rounds: int, decided: Callable[[Ratio], bool]
) -> list[Ratio]:
    """Of each of the feeds the time of the CPU provider over that with AscendEP. At most so many rounds, no
    more once each ratio is `decided`. Raises WorkerFailed."""
    setting, patience = Setting(THREADS, folder), Patience(PATIENCE)
    times: list[dict[str, list[float]]] = [{PLAIN: [], ASCEND: []} for _ in feeds]
    for turn in range(rounds):
        workers = {name: setting.start(name) for name in rotated((PLAIN, ASCEND), turn)}
        try:
            for worker in workers.values():
                worker.ask("open", model=str(path), feeds=str(feeds[0]))
            for given, found in zip(feeds, times, strict=True):
                for name, median in _round(workers, given, patience).items():
                    found[name].append(median)
        finally:
            for worker in workers.values():
                worker.end()
        if all(decided(ratio(found[PLAIN], found[ASCEND])) for found in times):
            break
    return [ratio(found[PLAIN], found[ASCEND]) for found in times]


def _round(workers: dict[str, WorkerProcess], feeds: Path, patience: Patience) -> dict[str, float]:
    """The median seconds of one call of each, over slots in turn."""
    for worker in workers.values():
        worker.ask("feed", feeds=str(feeds))
    slots: dict[str, list[float]] = {name: [] for name in workers}
    for turn in range(SLOTS):
        for name in rotated(list(workers), turn):
            slots[name].append(_slot(workers[name], patience))
    return {name: statistics.median(found) for name, found in slots.items()}


def _slot(worker: WorkerProcess, patience: Patience) -> float:
    time.sleep(REST)
    found, _ = patience.take(lambda: float(worker.ask("slot", seconds=SLOT)), worker.process.pid)
    return found


__all__ = ["Ratio", "WorkerFailed", "measure"]
