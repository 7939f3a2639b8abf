"""From how a version is to be run to what runs it."""

from __future__ import annotations

import asyncio

from ascend_ep.serving.statistics import VersionStatistics

from .batch import Run
from .batched import BatchedScheduler
from .by_size import BySize
from .direct import DirectScheduler
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
