"""The scheduler of models that run on the event loop, except for requests far larger than those measured."""

from __future__ import annotations

from collections.abc import Callable

from ascend_ep.errors import AscendError

from .job import Job
from .scheduler import Scheduler


class BySize:
    """Jobs go to `small`, those with an input of more than `most` bytes to what `large` makes, when the first
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
