"""The scheduler of models that take microseconds: each job runs where it arrives, on the event loop."""

from __future__ import annotations

import time

from ascend_ep.errors import AscendError
from ascend_ep.serving.refusals import internal
from ascend_ep.serving.statistics import VersionStatistics

from .batch import Run
from .job import Job
from .rules import BatchRules


class DirectScheduler:
    pending = 0

    def __init__(self, run: Run, rules: BatchRules, statistics: VersionStatistics) -> None:
        self._run = run
        self._rules = rules
        self._statistics = statistics
        self._closed = False

    def submit(self, job: Job) -> None:
        if self._closed:
            raise AscendError("E50003", job.request.model)
        self._rules.check_rows(job)
        if job.own_deadline and job.is_late(time.monotonic()):
            job.fail(job.too_late())
            return
        began = time.monotonic_ns()
        try:
            outputs = self._run(job.inputs)
        except Exception as failure:
            job.fail(internal(failure))
            return
        taken = job.timings.compute_infer = time.monotonic_ns() - began
        self._statistics.executed(job.rows, 0, taken, 0)
        job.finish(outputs)

    async def close(self) -> None:
        self._closed = True
