"""From how a version is to be run to what runs it: the event loop, threads, or either by the inputs' size."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from ascend_ep.errors import AscendError
from ascend_ep.serving.refusals import internal
from ascend_ep.serving.statistics import VersionStatistics

from .batch import Run
from .batched import BatchedScheduler
from .job import Job
from .rules import BatchRules
from .scheduler import Scheduler
from .tuning import Execution
from .waiting import WaitingJobs
from .workers import Done, Inline, Instances, Workers


def make_scheduler(
    execution: Execution,
    run: Run,
    waiting: WaitingJobs,
    statistics: VersionStatistics,
    loop: asyncio.AbstractEventLoop,
) -> Scheduler:
    """Called on the event loop; threads are started."""
    rules = execution.rules

    def on_threads() -> Scheduler:
        def instances(done: Done) -> Workers:
            return Instances(execution.instances, run, done, loop)

        return BatchedScheduler(instances, rules, waiting.another(), statistics, loop, execution.longest)

    if not execution.inline:
        return on_threads()
    if not rules.batched:
        return BySize(DirectScheduler(run, rules, statistics), on_threads, execution.inline_bytes)

    def inline(done: Done) -> Workers:
        return Inline(run, done)

    small = BatchedScheduler(inline, rules, waiting, statistics, loop, execution.longest)
    return BySize(small, on_threads, execution.inline_bytes)


class DirectScheduler:
    """Of models that take microseconds: each job runs where it arrives, on the event loop."""

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
            run = self._run if job.profile is None else job.profile.around(self._run)
            outputs = run(job.inputs)
        except Exception as failure:
            job.fail(internal(failure))
            return
        taken = job.timings.compute_infer = time.monotonic_ns() - began
        self._statistics.executed(job.rows, 0, taken, 0)
        job.finish(outputs)

    async def close(self) -> None:
        self._closed = True


class BySize:
    """Of models that run on the event loop, except for requests far larger than those measured.

    Jobs go to `small`, those with an input of more than `most` bytes to what `large` makes, when the first
    of them comes: on the event loop they would keep everything else from it."""

    def __init__(self, small: Scheduler, large: Callable[[], Scheduler], most: int) -> None:
        self._small = small
        self._make_large = large
        self._large: Scheduler | None = None
        self._most = most
        self._closed = False

    def submit(self, job: Job) -> None:
        most = self._most
        for array in job.inputs.values():
            if array.nbytes > most:
                self._submit_large(job)
                return
        self._small.submit(job)

    @property
    def pending(self) -> int:
        return self._small.pending + (0 if self._large is None else self._large.pending)

    async def close(self) -> None:
        self._closed = True
        await self._small.close()
        if self._large is not None:
            await self._large.close()

    def _submit_large(self, job: Job) -> None:
        if self._closed:
            raise AscendError("E50003", job.request.model)
        if self._large is None:
            self._large = self._make_large()
        self._large.submit(job)
