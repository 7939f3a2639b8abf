"""Schedulers under a script of requests, and what became of each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.serving.execution.batch import Run
from ascend_ep.serving.execution.batched import BatchedScheduler
from ascend_ep.serving.execution.job import Job
from ascend_ep.serving.execution.rules import BatchRules
from ascend_ep.serving.execution.waiting import WaitingJobs
from ascend_ep.serving.execution.workers import Inline, Instances
from ascend_ep.serving.request import InferRequest
from ascend_ep.serving.statistics import VersionStatistics

INPUTS = (("x", ("N", "S")),)


@dataclass
class Asked:
    """A request and its answers, of which there must be one. refused: at once, by `submit`."""

    x: np.ndarray
    deadline: float | None = None
    priority: int = 0
    own_deadline: bool = False
    answers: list[Sequence[np.ndarray] | AscendError] = field(default_factory=list)
    refused: AscendError | None = None
    job: Job | None = None

    @property
    def code(self) -> str:
        """Of the error, "" for outputs."""
        (answer,) = self.answers
        return answer.code if isinstance(answer, AscendError) else ""

    @property
    def y(self) -> np.ndarray:
        (answer,) = self.answers
        assert not isinstance(answer, AscendError), answer
        return answer[0]


def scheduler(
    run: Run,
    rules: BatchRules,
    *,
    instances: int = 0,
    max_jobs: int = 1000,
    max_bytes: int = 1 << 30,
    statistics: VersionStatistics | None = None,
) -> BatchedScheduler:
    """On the running loop; instances 0: inline."""
    loop = asyncio.get_running_loop()

    def workers(done: Callable[..., None]) -> Inline | Instances:
        return Instances(instances, run, done, loop) if instances else Inline(run, done)

    waiting = WaitingJobs(max_jobs, max_bytes, rules.levels)
    return BatchedScheduler(workers, rules, waiting, statistics or VersionStatistics(), loop)


def ask(on: BatchedScheduler, asked: Asked) -> Asked:
    """Submits it."""
    deadline = None if asked.deadline is None else time.monotonic() + asked.deadline
    request = InferRequest("m", "", {"x": asked.x}, deadline=deadline)
    request.parameters = {"priority": asked.priority}
    job = Job(request, request.inputs, asked.x.shape[0], lambda _, result: asked.answers.append(result))
    job.own_deadline = asked.own_deadline
    asked.job = job
    try:
        on.submit(job)
    except AscendError as error:
        asked.refused = error
    return asked


class Model:
    """Counts its runs. y = x * 3 + 1 by rows, and a row that begins with NaN makes the run fail; every run
    whose number `fails_every` divides fails too. seconds: of a run."""

    def __init__(self, fails_every: int = 0, seconds: float = 0.0) -> None:
        self.rows: list[int] = []
        self._fails_every = fails_every
        self._seconds = seconds

    def __call__(self, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        x = inputs["x"]
        self.rows.append(x.shape[0])
        if self._seconds:
            time.sleep(self._seconds)
        if self._fails_every and len(self.rows) % self._fails_every == 0:
            raise RuntimeError("this run was to fail")
        if x.size and np.isnan(x[:, 0]).any():
            raise ValueError("a row is bad")
        return [self.expected(x)]

    @staticmethod
    def expected(x: np.ndarray) -> np.ndarray:
        return x * np.float32(3) + np.float32(1)


def rows(count: int, width: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32)
