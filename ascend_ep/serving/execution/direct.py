"""The scheduler without batches: each job runs alone, on the event loop when that takes microseconds, else on
one of the version's instances."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from ascend_ep.errors import AscendError
from ascend_ep.serving.refusals import internal
from ascend_ep.serving.request import Array

from .job import Job

#: Runs a model on named inputs: all outputs in its order. Any number of threads may call it.
Run = Callable[[dict[str, Array]], Sequence[Array]]

#: A run that takes longer than this goes to a thread: handing it over costs about half as much.
INLINE_SECONDS = 200e-6


class DirectScheduler:
    def __init__(
        self, run: Run, *, instances: int, max_queue: int, inline: bool, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._run = run
        self._inline = inline
        self._loop = loop
        self._free = instances
        self._max_queue = max_queue
        self._waiting: deque[Job] = deque()
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._threads = None if inline else ThreadPoolExecutor(instances, "ascend-instance")

    @property
    def pending(self) -> int:
        return self._running + len(self._waiting)

    def submit(self, job: Job) -> None:
        if self._threads is None:
            began = time.monotonic_ns()
            try:
                outputs = self._run(job.inputs)
            except Exception as failure:
                job.fail(internal(failure))
                return
            job.timings.compute_infer = time.monotonic_ns() - began
            job.finish(outputs)
            return
        if len(self._waiting) >= self._max_queue:
            raise AscendError("E50006", len(self._waiting))
        self._waiting.append(job)
        self._idle.clear()
        self._start()

    async def close(self) -> None:
        await self._idle.wait()
        if self._threads is not None:
            self._threads.shutdown(wait=False)

    def _start(self) -> None:
        while self._free and self._waiting:
            job = self._waiting.popleft()
            if job.finished:
                continue
            late = job.late()
            if late is not None:
                job.fail(late)
                continue
            job.timings.queue = time.monotonic_ns() - job.arrived
            self._free -= 1
            self._running += 1
            assert self._threads is not None
            self._threads.submit(self._work, job)
        if not self._running and not self._waiting:
            self._idle.set()

    def _work(self, job: Job) -> None:
        began = time.monotonic_ns()
        result: Sequence[Array] | AscendError
        try:
            result = self._run(job.inputs)
        except Exception as failure:
            result = internal(failure)
        job.timings.compute_infer = time.monotonic_ns() - began
        self._loop.call_soon_threadsafe(self._finished, job, result)

    def _finished(self, job: Job, result: Sequence[Array] | AscendError) -> None:
        self._free += 1
        self._running -= 1
        if isinstance(result, AscendError):
            job.fail(result)
        else:
            job.finish(result)
        self._start()
