"""What happens around the runs: loading, peak memory, and the time of the converter."""

from __future__ import annotations

from .fleet import WorkerFailed, rotated
from .stage import Stage

#: Rounds in which peak memory is read and the converter runs: they hardly vary.
REPEATS = 2


def measure_loads(stage: Stage) -> None:
    """A session made in each live process, libraries and files warm from one before; and its first run."""
    paths = {b: path for b in stage.live("ort") if (path := stage.path(b))}
    for warm in (False, True):
        for backend in rotated(paths, stage.turn):
            given = {"model": paths[backend], "feeds": stage.feeds(backend)}
            found = stage.take(backend, "load", **given) if warm else stage.ask(backend, "load", **given)
            if found and warm:
                stage.record.add(backend, found["load"])
                stage.record.first.setdefault(backend, []).append(found["first"])
            stage.ask(backend, "close")


def measure_memory(stage: Stage) -> None:
    """A process of its own for each backend: it loads, runs, and says its peak."""
    if stage.turn >= REPEATS:
        return
    for backend in stage.live("openvino"):
        path = stage.path(backend)
        if path is None:
            continue
        worker = stage.fleet.setting.start(backend)
        try:
            worker.ask("load", model=path, feeds=stage.feeds(backend))
            stage.record.add(backend, float(worker.ask("peak_memory")))
        except WorkerFailed as error:
            stage.record.missing[backend] = str(error)
        finally:
            worker.end()


def measure_command(stage: Stage) -> None:
    """ascend-atc, from the shell's point of view."""
    if stage.turn < REPEATS:
        stage.record.add("own", stage.artefacts.convert(stage.prepared("own"), "own", fresh=True).seconds)
