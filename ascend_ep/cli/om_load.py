"""`ascend-om bench --concurrency` and `--against`: many callers of one session, and two bundles by turns."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.cli import om_bench
from ascend_ep.cli.atc_files import write_renamed
from ascend_ep.cli.om_bench import Found, Trial
from ascend_ep.errors import AscendError

PERCENTILES = (50, 90, 95, 99, 99.9)
#: Resamples of the slots' medians, from which the interval of a ratio comes.
RESAMPLES = 2000

Seconds = NDArray[np.float64]


def under_load(trial: Trial, callers: int, warm_up: float) -> tuple[Found, list[Seconds]]:
    """Percentiles and throughput of `callers` threads that each call one session again and again, after
    `warm_up` seconds of the same; and the seconds of every run, by caller."""
    session = trial.open()
    if warm_up:
        om_bench.run_slot(session, replace(trial, seconds=warm_up))
    timed = replace(trial, seconds=trial.seconds * trial.rounds)
    runs: list[Seconds] = [np.empty(0)] * callers
    failures: list[BaseException] = []
    barrier = threading.Barrier(callers + 1)

    def call(number: int) -> None:
        barrier.wait()
        try:
            runs[number] = om_bench.run_slot(session, timed)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=call, args=(i,), daemon=True) for i in range(callers)]
    for thread in threads:
        thread.start()
    barrier.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - began
    if failures:
        raise failures[0]
    every = np.concatenate(runs)
    found: Found = {"callers": callers, "throughput": len(every) / spent, "mean": float(every.mean())}
    found["percentiles"] = {f"p{p:g}": float(np.percentile(every, p)) for p in PERCENTILES}
    return found | {"warm_up": warm_up}, runs


def beside(trial: Trial, other: Trial) -> Found:
    """Both bundles in slots by turns, so that what else the machine does meets both: the ratio of the medians
    of slots (below 1: the first is faster), and the interval in which it lies in 95 of 100 resamples."""
    first, second = trial.open(), other.open()
    for session, one in ((first, trial), (second, other)):
        session.run(None, one.feeds)
    pairs = []
    for number in range(max(trial.rounds, 2)):
        turns = [(first, trial), (second, other)]
        found = {
            id(s): float(np.median(om_bench.run_slot(s, t)))
            for s, t in (turns if number % 2 else turns[::-1])
        }
        pairs.append((found[id(first)], found[id(second)]))
    medians = np.array(pairs)
    chosen = np.random.default_rng(0).integers(0, len(pairs), (RESAMPLES, len(pairs)))
    ratios = np.median(medians[chosen, 0], axis=1) / np.median(medians[chosen, 1], axis=1)
    low, high = np.percentile(ratios, [2.5, 97.5])
    mine, theirs = np.median(medians, axis=0)
    return {
        "path": other.path,
        "median": float(mine),
        "other": float(theirs),
        "ratio": float(mine / theirs),
        "interval": [float(low), float(high)],
        "slots": len(pairs),
    }


def export_times(path: str, runs: list[Seconds]) -> None:
    """Every run in milliseconds with its caller, as JSON, or as CSV where the name says so."""
    rows = [(caller, float(seconds) * 1e3) for caller, own in enumerate(runs) for seconds in own]
    if path.endswith(".csv"):
        text = "caller,ms\n" + "".join(f"{caller},{ms:.6g}\n" for caller, ms in rows)
    else:
        text = json.dumps([{"caller": caller, "ms": round(ms, 6)} for caller, ms in rows])
    write_renamed(Path(path), text, "--export-times")


def text(found: Mapping[str, Any]) -> list[str]:
    """What was measured, as lines."""
    lines = []
    if load := found.get("load_of_callers"):
        times = "    ".join(f"{name} {1e3 * seconds:.4g} ms" for name, seconds in load["percentiles"].items())
        lines += [f"callers {load['callers']}    {load['throughput']:.5g} runs/s    {times}"]
    if other := found.get("beside"):
        low, high = other["interval"]
        verdict = "no difference shows" if low <= 1 <= high else "faster" if high < 1 else "slower"
        lines += [
            f"beside  {other['path']}: {1e3 * other['other']:.4g} ms; ratio {other['ratio']:.3f}, "
            f"95 % within {low:.3f} and {high:.3f}: {verdict}"
        ]
    return lines


def check(callers: int, warm_up: float) -> None:
    """Raises AscendError E40001 for numbers that can't be meant."""
    if not 1 <= callers <= 1024 or not 0 <= warm_up <= 600:
        fix = "--concurrency is from 1 to 1024, --warm-up from 0 to 600 seconds."
        raise AscendError("E40001", "the load to make makes no sense", fix=fix)
