"""How fast a model runs inside onnxruntime with AscendEP, beside onnxruntime's CPU provider alone.

Each has a process of its own, new in every round, and short slots in turn, as in the benchmark; between two
slots nothing runs for so long that the threads of the one before fall asleep. A call of some microseconds
depends by some percent on where a process has its memory: then both run in one process, in turn.

Small inputs take turns with others of their size. A row of a table that comes again and again teaches the
branch predictor its way through the trees, and no row of a user's does.
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
#: Seconds of a call below which both run in one process.
BRIEF = 100e-6


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
                for name, median in _round(workers, path, given, patience).items():
                    found[name].append(median)
        finally:
            for worker in workers.values():
                worker.end()
        if all(decided(ratio(found[PLAIN], found[ASCEND])) for found in times):
            break
    return [ratio(found[PLAIN], found[ASCEND]) for found in times]


def _round(
    workers: dict[str, WorkerProcess], path: Path, feeds: Path, patience: Patience
) -> dict[str, float]:
    """The median seconds of one call of each, over slots in turn."""
    others = feeds.with_name(feeds.name.replace("feeds_", "others_"))
    given = {"feeds": str(feeds), "others": str(others) if others.exists() else None}
    for worker in workers.values():
        worker.ask("feed", **given)
    slots: dict[str, list[float]] = {name: [] for name in workers}
    for turn in range(SLOTS):
        for name in rotated(list(workers), turn):
            slots[name].append(_slot(workers[name], patience))
    medians = {name: statistics.median(found) for name, found in slots.items()}
    if max(medians.values()) > BRIEF:
        return medians
    return _in_one_process(workers[ASCEND], path, given, patience)


def _in_one_process(
    worker: WorkerProcess, path: Path, given: dict[str, str | None], patience: Patience
) -> dict[str, float]:
    worker.ask("open_beside", backend=PLAIN, model=str(path), **given)
    pairs = []
    for _ in range(SLOTS):
        time.sleep(REST)
        found, _ = patience.take(lambda: worker.ask("paired_slot", seconds=2 * SLOT), worker.process.pid)
        pairs.append(found)
    ascend, plain = (statistics.median(found) for found in zip(*pairs, strict=True))
    return {PLAIN: plain, ASCEND: ascend}


def _slot(worker: WorkerProcess, patience: Patience) -> float:
    time.sleep(REST)
    found, _ = patience.take(lambda: float(worker.ask("slot", seconds=SLOT)), worker.process.pid)
    return found


__all__ = ["Ratio", "WorkerFailed", "measure"]
