"""What happens around the runs: loading, peak memory, and the time of the converter."""

from __future__ import annotations

import statistics

from .fleet import WorkerFailed, rotated
from .stage import Stage

#: Processes of each backend whose peak memory is read, and runs of the converter.
REPEATS = 2


def measure_loads(stage: Stage) -> None:
    """Sessions made again and again in live processes, the files warm; and the first run of each."""
    record = stage.record
    paths = {b: path for b in stage.live("ort") if (path := stage.path(b))}
    first: dict[str, list[float]] = {}
    for i in range(-1, stage.schedule.rounds):  # the round before the first warms files and caches
        for backend in rotated(paths, max(i, 0)):
            found = stage.take(backend, "load", model=paths[backend], feeds=stage.feeds(backend))
            if found and i >= 0:
                record.rounds.setdefault(backend, []).append(found["load"])
                first.setdefault(backend, []).append(found["first"])
            stage.ask(backend, "close")
    record.first = {b: statistics.median(times) for b, times in first.items()}


def measure_memory(stage: Stage) -> None:
    """A process of its own for each backend: it loads, runs, and says its peak."""
    for backend in stage.live("openvino"):
        path = stage.path(backend)
        for _ in range(REPEATS if path else 0):
            worker = stage.fleet.setting.start(backend)
            try:
                worker.ask("load", model=path, feeds=stage.feeds(backend))
                peak = float(worker.ask("peak_memory"))
                stage.record.rounds.setdefault(backend, []).append(peak)
            except WorkerFailed as error:
                stage.record.missing[backend] = str(error)
            finally:
                worker.end()


def measure_command(stage: Stage) -> None:
    """ascend-atc, from the shell's point of view."""
    prepared = stage.prepared("own")
    for _ in range(REPEATS):
        seconds = stage.artefacts.convert(prepared, "own", fresh=True).seconds
        stage.record.rounds.setdefault("own", []).append(seconds)
