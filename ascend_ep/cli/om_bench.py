"""`ascend-om bench`: how fast one bundle loads and runs here, and where its time goes."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.profiling.copying import copy_seconds
from ascend_ep.runtime.binding import ffi, lib, open_model
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.bundle_records import Instruction
from ascend_ep.runtime.executor import Executor
from ascend_ep.runtime.native_partition import NativePartition
from ascend_ep.runtime.options import SessionOptions
from ascend_ep.runtime.profile import Profile
from ascend_ep.runtime.session import InferenceSession, open_with_threads

Found = dict[str, Any]
#: Loads of which the median is shown.
LOADS = 5
#: Instructions of the profile that are shown one by one.
SLOWEST = 10
#: The copy that gives the memory floor is no larger than this.
LARGEST_COPY = 1 << 29


@dataclass(frozen=True)
class Trial:
    """What to time and how long: `rounds` slots of `seconds` each."""

    path: str
    feeds: Mapping[str, NDArray[Any]]
    threads: int
    trust: str | None
    rounds: int
    seconds: float

    def options(self) -> SessionOptions:
        """Of host partitions; native ones have what their model was opened with."""
        options = SessionOptions()
        options.intra_op_num_threads = self.threads
        return options

    def open(self) -> InferenceSession:
        return open_with_threads(self.path, self.threads, **({"trust": self.trust} if self.trust else {}))


def bench(trial: Trial, profile: bool) -> Found:
    """Everything in seconds; `profile` adds the time of every kernel. Raises AscendError."""
    found = times(trial) | {"threads": trial.threads, "floor": memory_floor(trial)}
    return found | ({"profile": kernel_shares(trial)} if profile else {})


def times(trial: Trial) -> Found:
    """Of loading, of the first run, and of all others: the median over slots of the median in a slot, the
    99th percentile and the least."""
    loads = []
    for _ in range(LOADS):
        began = time.perf_counter()
        session = trial.open()
        loads.append(time.perf_counter() - began)
    began = time.perf_counter()
    session.run(None, trial.feeds)
    first = time.perf_counter() - began
    slots = [run_slot(session, trial) for _ in range(trial.rounds)]
    every = np.concatenate(slots)
    return {
        "load": statistics.median(loads),
        "first": first,
        "median": statistics.median(float(np.median(s)) for s in slots),
        "p99": float(np.percentile(every, 99)),
        "least": float(every.min()),
        "runs": len(every),
    }


def run_slot(session: InferenceSession, trial: Trial) -> NDArray[np.float64]:
    """The seconds of every run."""
    found: list[float] = []
    clock, run, feeds = time.perf_counter, session.run, trial.feeds
    end = clock() + trial.seconds
    while not found or clock() < end:
        began = clock()
        run(None, feeds)
        found.append(clock() - began)
    return np.array(found)


class KernelTimes(Profile):
    """Keeps the seconds of every instruction of every run."""

    def __init__(self, options: SessionOptions) -> None:
        super().__init__(options)
        self.seconds: dict[str, list[NDArray[np.float64]]] = {}
        self.found: dict[str, list[Instruction]] = {}

    def instructions(self, bundle: Bundle, partition: NativePartition, ns: Any) -> None:
        count = len(partition.info.insns)
        if partition.name not in self.found:
            self.found[partition.name] = list(bundle.instructions(partition.info))
        stamps = np.frombuffer(ffi.buffer(ns), np.uint64, 2 * count).reshape(count, 2)
        seconds = (stamps[:, 1] - stamps[:, 0]).astype(np.float64) / 1e9
        self.seconds.setdefault(partition.name, []).append(seconds)


def kernel_shares(trial: Trial) -> Found:
    """Mean seconds of every instruction, by kernel and for the slowest, over the runs whose whole time is in
    the middle half. Over the same runs: `total`, the whole; `timer`, reading the clock before and after every
    instruction, which is taken off where it was measured with; `outside`, the rest: the caller, and host
    partitions. So kernels, timer and outside add up to the total; without a profile a run is `timer` shorter.
    """
    profile = KernelTimes(trial.options())
    walls = np.array(_profiled_runs(trial, profile))
    order = np.argsort(walls)
    middle = order[len(order) // 4 : len(order) - len(order) // 4]
    clock = clock_seconds()
    timed = [
        (instruction, max(0.0, float(mean) - clock))
        for name, found in profile.found.items()
        for instruction, mean in zip(found, np.stack(profile.seconds[name])[middle].mean(axis=0), strict=True)
    ]
    kernels: dict[str, Found] = {}
    for instruction, spent in timed:
        entry = kernels.setdefault(instruction.kernel, {"calls": 0, "seconds": 0.0})
        entry["calls"] += 1
        entry["seconds"] += spent
    total, timer = float(walls[middle].mean()), 2 * clock * len(timed)
    slowest = sorted(timed, key=lambda pair: -pair[1])[:SLOWEST]
    return {
        "total": total,
        "timer": timer,
        "outside": max(0.0, total - timer - sum(spent for _, spent in timed)),
        "kernels": dict(sorted(kernels.items(), key=lambda item: -item[1]["seconds"])),
        "slowest": [{"node": i.node, "kernel": i.kernel, "seconds": spent} for i, spent in slowest],
    }


def _profiled_runs(trial: Trial, profile: KernelTimes) -> list[float]:
    """The seconds of every run; those of its instructions go to the profile."""
    bundle = Bundle(open_model(trial.path, trial.threads, trial.trust))
    run = _one_call(bundle, trial, profile) or _call_by_partition(bundle, trial, profile)
    run()
    profile.seconds.clear()
    runs: list[float] = []
    end = time.perf_counter() + trial.seconds
    while len(runs) < 4 or time.perf_counter() < end:
        runs.append(run())
    return runs


def _one_call(bundle: Bundle, trial: Trial, profile: KernelTimes) -> Callable[[], float] | None:
    """A run as sessions do it, when that is one call."""
    executor = Executor(bundle, trial.options(), None)
    executor.run(None, trial.feeds, None)
    only = executor.partitions[0]
    if not isinstance(only, NativePartition):
        return None
    ns = profile.timestamps(only)
    if executor.run_timed(trial.feeds, ns) is None:
        return None

    def run() -> float:
        began = time.perf_counter()
        executor.run_timed(trial.feeds, ns)
        spent = time.perf_counter() - began
        profile.instructions(bundle, only, ns)
        return spent

    return run


def _call_by_partition(bundle: Bundle, trial: Trial, profile: KernelTimes) -> Callable[[], float]:
    executor = Executor(bundle, trial.options(), profile)

    def run() -> float:
        began = time.perf_counter()
        executor.run(None, trial.feeds, None)
        return time.perf_counter() - began

    return run


def clock_seconds() -> float:
    """One reading of the clock, without what calling the library costs."""
    return max(0.0, _seconds_a_call(lib.asc_clock_ns) - _seconds_a_call(lib.asc_abi_version))


def _seconds_a_call(function: Callable[[], int]) -> float:
    least, repeat = math.inf, range(1000)
    for _ in range(7):
        began = time.perf_counter()
        for _ in repeat:
            function()
        least = min(least, time.perf_counter() - began)
    return least / len(repeat)


def memory_floor(trial: Trial) -> Found:
    """The bytes that a run can't avoid (weights and inputs once, outputs once), and the seconds that the copy
    kernel takes to move as many here and now."""
    results = trial.open().run(None, trial.feeds)
    boundary = sum(a.nbytes for a in (*trial.feeds.values(), *results) if isinstance(a, np.ndarray))
    weights = Bundle(open_model(trial.path, flags=lib.ASC_OPEN_NO_NATIVE)).weights
    moved = boundary + sum(w.size for w in weights)
    half = min(max(moved // 2, 4), LARGEST_COPY) // 4
    source, target = np.ones(half, np.float32), np.ones(half, np.float32)
    least = min(copy_seconds(source, target, trial.threads) for _ in range(5))
    return {"bytes": moved, "seconds": least * moved / (2 * source.nbytes)}


def bench_text(found: Found) -> str:
    """What was measured, as lines."""
    lines = [
        f"load    {_ms(found['load'])}",
        f"first   {_ms(found['first'])}",
        f"median  {_ms(found['median'])}    p99 {_ms(found['p99'])}    least {_ms(found['least'])}"
        f"    {found['runs']} runs, {found['threads'] or 'default'} threads",
        f"floor   {_ms(found['floor']['seconds'])}    to move {found['floor']['bytes'] / 1e6:.3g} MB;"
        f" the median is {found['median'] / found['floor']['seconds']:.1f} times that",
    ]
    profile = found.get("profile")
    if profile:
        total = profile["total"]
        lines += ["", f"{'kernel':24} {'calls':>5} {'time':>12} {'share':>6}"]
        rows = [(name, str(k["calls"]), k["seconds"]) for name, k in profile["kernels"].items()]
        rows += [("outside kernels", "", profile["outside"]), ("timer of the profile", "", profile["timer"])]
        for name, calls, seconds in rows:
            lines.append(f"{name:24} {calls:>5} {_ms(seconds):>12} {100 * seconds / total:5.1f}%")
        lines += ["", "slowest:"]
        lines += [f"{_ms(s['seconds']):>12}  {s['kernel']:16} {s['node']}" for s in profile["slowest"]]
    return "\n".join(lines)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"
