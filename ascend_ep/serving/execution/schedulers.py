"""From how a version is to be run to what runs it."""

from __future__ import annotations

import asyncio

from ascend_ep.serving.statistics import VersionStatistics

from .batch import Run
from .batched import BatchedScheduler
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
    if execution.inline and not rules.batched:
        return DirectScheduler(run, rules, statistics)

    def workers(done: Done) -> Workers:
        if execution.inline:
            return Inline(run, done)
        return Instances(execution.instances, run, done, loop)

    return BatchedScheduler(workers, rules, waiting, statistics, loop, execution.longest)
