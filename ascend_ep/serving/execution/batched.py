"""The scheduler of versions whose jobs wait: for others to share a run with, or for an instance."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable

from ascend_ep.errors import AscendError
from ascend_ep.serving.statistics import VersionStatistics

from .batch import Batch
from .job import Job
from .rules import BatchRules, inputs_bytes
from .waiting import Group, WaitingJobs
from .workers import Done, Workers


class BatchedScheduler:
    """Forms batches of jobs as `rules` say. Jobs that arrive in one turn of the event loop are seen together.

    made: gives the workers, which call what they are given with each batch they have run. estimate: seconds
    of a run, by which a job that has a deadline is run before it.
    """

    def __init__(
        self,
        made: Callable[[Done], Workers],
        rules: BatchRules,
        waiting: WaitingJobs,
        statistics: VersionStatistics,
        loop: asyncio.AbstractEventLoop,
        estimate: float = 0.0,
    ) -> None:
        self._rules = rules
        self._waiting = waiting
        self._statistics = statistics
        self._loop = loop
        self._estimate = estimate
        self._running = 0
        self._called = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._closed = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._workers = made(self._ran)

    @property
    def pending(self) -> int:
        return self._running + self._waiting.count

    def submit(self, job: Job) -> None:
        if self._closed:
            raise AscendError("E50003", job.request.model)
        rules = self._rules
        key = rules.key(job)
        job.size = inputs_bytes(job.inputs)
        if rules.levels > 1:
            job.level = rules.level(job)
        group = self._waiting.add(job, key)
        if rules.timeout and not (rules.allow_override and job.own_deadline):
            job.start_by = job.arrived * 1e-9 + rules.timeout
        if rules.max_delay:
            group.due = min(group.due, self._due(job))
        self._idle.clear()
        if rules.max_rows > 1:
            self._schedule()
        else:
            self._start()

    async def close(self) -> None:
        """Jobs that wait for others don't any more."""
        self._closed = True
        self._schedule()
        await self._idle.wait()
        if self._timer is not None:
            self._timer.cancel()
        self._workers.close()

    def _schedule(self) -> None:
        """At the end of this turn of the loop, when all that has arrived by now is here."""
        if not self._called:
            self._called = True
            self._loop.call_soon(self._start)

    def _start(self) -> None:
        self._called = False
        late: list[Job] = []
        while self._workers.free and self._waiting.count:
            group = self._choose()
            if group is None:
                break
            jobs, missed = self._waiting.take(group, self._rows(group))
            late += missed
            if self._rules.max_delay:
                group.due = min(map(self._due, group.jobs()), default=math.inf)
            if jobs:
                self._running += len(jobs)
                self._workers.start(Batch(jobs, self._rules, group.key))
                if self._workers.inline:  # it has run: let the loop see to the rest
                    break
        for job in late:
            job.fail(job.too_late())
        if not self.pending:
            self._idle.set()

    def _choose(self) -> Group | None:
        """The group to run now; else None, and it is called again when one is due."""
        groups = self._waiting.groups()
        if not self._rules.max_delay or self._closed:
            return groups[0]
        now = time.monotonic()
        for group in groups:
            if group.due <= now or self._rules.full(group.rows, group.key):
                return group
        self._call_at(min(group.due for group in groups))
        return None

    def _rows(self, group: Group) -> int:
        rules = self._rules
        return rules.full(group.rows, group.key) or rules.most(group.key)

    def _due(self, job: Job) -> float:
        """Until when it may wait for others; a deadline leaves time for the run."""
        due = job.arrived * 1e-9 + self._rules.max_delay
        deadline = job.request.deadline
        return due if deadline is None else min(due, deadline - 2 * self._estimate)

    def _call_at(self, due: float) -> None:
        if self._timer is not None:
            if self._timer_at <= due:
                return
            self._timer.cancel()
        self._timer_at = due
        self._timer = self._loop.call_later(max(due - time.monotonic(), 0.0), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._start()

    def _ran(self, batch: Batch) -> None:
        statistics = self._statistics
        statistics.divided += bool(batch.parts)
        for ran in batch.parts or (batch,):
            statistics.executed(ran.rows, ran.input_ns, ran.infer_ns, ran.output_ns)
        self._running -= len(batch.jobs)
        if self._waiting.count:
            self._schedule()
        batch.finish()
        if not self.pending:
            self._idle.set()
