"""A scheduler that keeps its jobs until the test finishes them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from running import Running

from ascend_ep.serving.execution.job import Job


class Held:
    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def submit(self, job: Job) -> None:
        self.jobs.append(job)

    @property
    def pending(self) -> int:
        return sum(not job.finished for job in self.jobs)

    async def close(self) -> None:
        pass

    def wait(self, count: int) -> None:
        """Until so many jobs have come."""
        until(lambda: len(self.jobs) >= count)


@contextmanager
def held(running: Running, model: str = "rows", number: int = 2) -> Iterator[Held]:
    """Jobs of a version are kept, for a while."""
    version = running.server.repository.models[model].versions[number]
    before, version.scheduler = version.scheduler, Held()
    try:
        yield version.scheduler
    finally:
        version.scheduler = before


def until(true: Any) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end
        time.sleep(0.002)


def finish(running: Running, job: Job, value: float) -> None:
    running.loop.call_soon_threadsafe(job.finish, [np.full((3, 4), value, np.float32)])
