"""How a request ended, as what watches the service is told: logs, traces, the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ascend_ep.errors import AscendError

from .execution.job import Job
from .repository.version import LoadedVersion
from .request import InferRequest


@dataclass(frozen=True, slots=True)
class Outcome:
    """version, job: None when it was refused before it had them. ns: from its arrival."""

    request: InferRequest
    version: LoadedVersion | None
    job: Job | None
    error: AscendError | None
    ns: int


Observer = Callable[[Outcome], None]
