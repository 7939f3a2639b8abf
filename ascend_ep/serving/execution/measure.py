"""How long runs take, in little time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable

from ascend_ep.errors import AscendError

from .batch import Run
from .samples import Samples

#: Runs and seconds for one measurement.
_RUNS = 15
_SECONDS = 0.03
_LEAST_RUNS = 3


def run_seconds(run: Run, samples: Samples, rows: int | None) -> float:
    """The least of some warm runs on so many rows: what else the machine does only adds to it.
    Of several rows with the time that it takes to put them together."""
    feed = samples.feed(rows)
    given = {name: array.copy() for name, array in feed.items()} if rows is not None and rows > 1 else {}
    run(feed)
    taken: list[float] = []
    until = time.perf_counter() + _SECONDS
    while len(taken) < _LEAST_RUNS or (len(taken) < _RUNS and time.perf_counter() < until):
        began = time.perf_counter()
        for name, array in given.items():
            feed[name][...] = array
        run(feed)
        taken.append(time.perf_counter() - began)
    return min(taken)


def cost_curve(
    run: Run, samples: Samples, sizes: Iterable[int], longest: float, until: float
) -> dict[int, float]:
    """Seconds of a run by number of rows, until one takes longer than `longest`, or it is `until` (on the
    clock of time.perf_counter)."""
    curve: dict[int, float] = {}
    for size in sizes:
        if curve and time.perf_counter() > until:
            break
        try:
            curve[size] = run_seconds(run, samples, size)
        except AscendError:  # more than the model takes
            break
        if curve[size] > longest:
            break
    return curve


def runs_per_second(run: Run, samples: Samples, rows: int | None, callers: int, seconds: float) -> float:
    """What so many threads that run at once get done together."""
    feed = samples.feed(rows)
    counts = [0] * callers
    until = time.perf_counter() + seconds

    def work(i: int) -> None:
        with contextlib.suppress(Exception):  # a run that fails is the last one
            while time.perf_counter() < until:
                run(feed)
                counts[i] += 1

    began = time.perf_counter()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - began)
