"""The setting of a server that serves most within a latency: instances, threads and batch, one by one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.errors import AscendError

from .measure import Measured

_STARTED = 60.0


@dataclass(frozen=True)
class Setting:
    """instances and threads of the server, rows of a request."""

    instances: int
    threads: int
    batch: int

    @property
    def flags(self) -> list[str]:
        return [f"--instances={self.instances}", f"--threads={self.threads}"]


@dataclass(frozen=True)
class Tried:
    """The best of a setting: the concurrency of most rows a second whose latency is in the budget; None where
    none is."""

    setting: Setting
    best: Measured | None

    @property
    def throughput(self) -> float:
        return 0.0 if self.best is None else self.best.window.throughput * self.setting.batch


def settings(most_instances: int, cores: int, batches: list[int]) -> list[Setting]:
    """Instances and threads as powers of two that share the cores, each with each batch."""
    powers = [1 << n for n in range(cores.bit_length()) if 1 << n <= cores]
    return [
        Setting(i, t, b)
        for b in batches
        for i in powers
        for t in powers
        if i <= most_instances and i * t <= cores
    ]


async def best_concurrency(
    measure: Callable[[int], Awaitable[Measured]], most: int, budget: float, percentile: int | None
) -> Measured | None:
    """Doubles the concurrency while latency is in the budget (seconds) and throughput grows by 5 %."""
    best: Measured | None = None
    callers = 1
    while callers <= most:
        found = await measure(callers)
        if found.window.latency(percentile) > budget:
            break
        grew = best is None or found.window.throughput > best.window.throughput * 1.05
        best = found if best is None or found.window.throughput > best.window.throughput else best
        if not grew:
            break
        callers *= 2
    return best


@contextmanager
def served(repository: Path, setting: Setting) -> Iterator[dict[str, str]]:
    """A server of its own with that setting; its addresses, by name (HTTP, gRPC). Raises AscendError."""
    command = [
        sys.executable,
        "-m",
        "ascend_ep.cli.serve",
        f"--model-repository={repository}",
        *setting.flags,
    ]
    ports = ["--http-port=0", "--grpc-port=0", "--allow-metrics=false"]
    process = subprocess.Popen([*command, *ports], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    log: list[str] = []
    assert process.stdout is not None
    assert process.stderr is not None
    drain = threading.Thread(target=lambda: log.extend(process.stderr or ()), daemon=True)
    drain.start()
    try:
        yield _addresses(process, log)
    finally:
        process.terminate()
        try:
            process.wait(_STARTED)
        except subprocess.TimeoutExpired:
            process.kill()
        drain.join(5)


def _addresses(process: subprocess.Popen[str], log: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    assert process.stdout is not None
    for line in process.stdout:
        name, _, where = line.strip().partition(" on ")
        found[name] = where
        if {"HTTP", "gRPC"} <= set(found):
            return found
    process.wait(5)
    said = log[-1].strip() if log else "it ended"
    raise AscendError("E40001", f"the server doesn't start: {said}", fix="Try the same with ascend-serve.")


def text(tried: list[Tried], budget: float, percentile: int | None, repository: str) -> str:
    """The settings, the best first, and the command line of the best."""
    ordered = sorted(tried, key=lambda t: -t.throughput)
    latency = "mean" if percentile is None else f"p{percentile}"
    lines = [
        f"{'instances':>9} {'threads':>7} {'batch':>5} {'callers':>7} {'infer/sec':>10} {latency + ' ms':>9}"
    ]
    for t in ordered:
        s = t.setting
        row = f"{s.instances:>9} {s.threads:>7} {s.batch:>5} "
        if t.best is None:
            lines.append(row + f"{'-':>7} {'over the budget':>20}")
        else:
            ms = t.best.window.latency(percentile) * 1e3
            lines.append(row + f"{t.best.value:>7g} {t.throughput:>10.1f} {ms:>9.3f}")
    if ordered[0].best is None:
        return "\n".join([*lines, f"no setting keeps its {latency} latency within {budget * 1e3:g} ms"])
    flags = " ".join(ordered[0].setting.flags)
    return "\n".join([*lines, f"best: ascend-serve --model-repository={repository} {flags}"])


def cores() -> int:
    return len(os.sched_getaffinity(0))
