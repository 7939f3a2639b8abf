"""Runs cases in processes of their own, two at a time; a process that dies or hangs costs one case.

Processes are forked from one that has the cases and has started no runtime, so a new one costs little.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from onnx_suite.cases import Case
from onnx_suite.runners import run_case

_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Result:
    """`failure`: "" when the case passed. `host`: why it wasn't native, "" when it was."""

    case: str
    runner: str
    failure: str = ""
    host: str = ""

    @property
    def passed(self) -> bool:
        return not self.failure

    @property
    def native(self) -> bool:
        return self.passed and not self.host


class _Worker:
    def __init__(self, cases: Sequence[Case]) -> None:
        self.pipe, theirs = _FORK.Pipe()
        self.process = _FORK.Process(target=_work, args=(theirs, cases), daemon=True)
        self.process.start()
        theirs.close()
        self.job: tuple[int, str] | None = None
        self.began = 0.0

    def give(self, job: tuple[int, str]) -> None:
        self.job, self.began = job, time.monotonic()
        self.pipe.send(job)

    def stop(self) -> str:
        """Ends the process; how it ended."""
        if self.process.is_alive():
            with contextlib.suppress(OSError):
                self.pipe.send(None)
            self.process.join(0.5)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        return f"the process ended with {self.process.exitcode}"


def run_all(
    cases: Sequence[Case],
    runners: Sequence[str],
    processes: int = 2,
    limit: float = 300,
    tell: Callable[[Result], object] = lambda _: None,
) -> list[Result]:
    """The results of every case in every runner. `limit`: seconds that one may take."""
    jobs = [(i, runner) for i in reversed(range(len(cases))) for runner in reversed(runners)]
    results: list[Result] = []
    workers = [_Worker(cases) for _ in range(min(processes, len(jobs)))]
    while workers:
        for worker in workers:
            if worker.job is None and jobs:
                worker.give(jobs.pop())
        ready = wait([w.pipe for w in workers if w.job is not None], timeout=1)
        for i, worker in enumerate(workers):
            if worker.job is None:
                continue
            found = _outcome(worker, worker.pipe in ready, limit, cases)
            if found is not None:
                results.append(found)
                tell(found)
                worker.job = None
                if not worker.process.is_alive():
                    workers[i] = _Worker(cases)
        for worker in [w for w in workers if w.job is None and not jobs]:
            worker.stop()
            workers.remove(worker)
    return results


def _outcome(worker: _Worker, ready: bool, limit: float, cases: Sequence[Case]) -> Result | None:
    """The result of a worker's job, once there is one."""
    assert worker.job is not None
    name, runner = cases[worker.job[0]].name, worker.job[1]
    if ready:
        try:
            return Result(**worker.pipe.recv())
        except (EOFError, OSError):
            return Result(name, runner, worker.stop())
    if time.monotonic() - worker.began > limit:
        worker.process.kill()
        worker.stop()
        return Result(name, runner, f"took more than {limit:.0f} s")
    return None


def _work(pipe: Connection, cases: Sequence[Case]) -> None:
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    warnings.simplefilter("ignore")
    loaded: tuple[int, Any] = (-1, None)
    while True:
        job = pipe.recv()
        if job is None:
            return
        index, runner = job
        case = cases[index]
        try:
            if loaded[0] != index:
                loaded = (index, case.load())
            result = Result(case.name, runner, host=run_case(case, loaded[1], runner))
        except Exception as error:
            result = Result(case.name, runner, f"{type(error).__name__}: {error}".strip()[:600])
        pipe.send(asdict(result))
