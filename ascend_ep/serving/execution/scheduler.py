"""What decides when and where a job runs."""

from __future__ import annotations

from typing import Protocol

from .job import Job


class Scheduler(Protocol):
    """All methods are called on the event loop."""

    def submit(self, job: Job) -> None:
        """Takes the job, to finish it now or later. Raises AscendError E50006 when the queue is full."""

    @property
    def pending(self) -> int:
        """The jobs that were taken and aren't finished."""

    async def close(self) -> None:
        """Finishes what was taken, takes no more, and gives its threads back."""
