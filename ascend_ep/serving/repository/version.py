"""One loaded version of a model: session, signature, scheduler, statistics."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.serving.execution.batch import Run
from ascend_ep.serving.execution.job import Job
from ascend_ep.serving.execution.rim import BatchRim, batch_rim
from ascend_ep.serving.execution.samples import Samples
from ascend_ep.serving.execution.scheduler import Scheduler
from ascend_ep.serving.execution.schedulers import make_scheduler
from ascend_ep.serving.execution.tuning import Execution, Tuning
from ascend_ep.serving.request import Array
from ascend_ep.serving.settings import Settings
from ascend_ep.serving.signature import Signature
from ascend_ep.serving.statistics import VersionStatistics

from .config import ModelConfig
from .config_check import check_config

#: A checked session with so many threads for a run, 0 for all.
OpenSession = Callable[[int], Any]

log = logging.getLogger("ascend_ep.serving")


class LoadedVersion:
    """execution: how it is run, found when it was loaded. rows_input: the input whose first size counts the
    rows of a request; None for a model without rows."""

    def __init__(
        self, model: str, number: int, open_session: OpenSession, config: ModelConfig, where: str
    ) -> None:
        self.model = model
        self.number = number
        self.name = str(number)
        self.session = session = open_session(config.threads or 0)
        self.config = config
        self.signature = Signature.of_session(session, where)
        self.statistics = VersionStatistics()
        check_config(model, config, self.signature)
        rim = batch_rim(session.bundle, insisted=bool(config.max_batch_size))
        self.rows_input = rim.inputs[0][0] if isinstance(rim, BatchRim) else None
        self.execution = self._tuned(rim, open_session)
        self.scheduler: Scheduler | None = None

    def start(self, settings: Settings, loop: asyncio.AbstractEventLoop) -> None:
        """Gives it a scheduler: from now on it takes jobs."""
        self.scheduler = make_scheduler(self.execution, self.run, settings, self.statistics, loop)

    async def close(self) -> None:
        """Finishes what was taken; no more is."""
        if self.scheduler is not None:
            await self.scheduler.close()

    def release(self) -> None:
        """Gives the session's memory back, whoever still holds this object. It takes no more jobs."""
        self.scheduler = None
        del self.session

    def run(self, inputs: dict[str, Array]) -> Sequence[Array]:
        """All outputs in the model's order."""
        results: Sequence[Array] = self.session.run(None, inputs)
        return results

    def submit(self, job: Job) -> None:
        """Raises AscendError E50003 when it doesn't take jobs any more."""
        if self.scheduler is None:
            raise AscendError("E50003", f"{self.model}, version {self.number}")
        self.scheduler.submit(job)

    def _tuned(self, rim: BatchRim | str, open_session: OpenSession) -> Execution:
        stored = self.session.bundle.samples()
        samples = Samples(self.signature, {edge.name: array for edge, array in stored if edge.is_input})
        opened: dict[int, Any] = {0: self.session}

        def single() -> Run:
            opened[1] = open_session(1)
            return lambda inputs: opened[1].run(None, inputs)

        execution = Tuning(self.run, single, samples, rim, self.config).choose()
        if execution.threads == 1 and 1 in opened:
            self.session = opened[1]
        shown = ", ".join(f"{key} {text}" for key, text in execution.describe().items())
        log.info("%s, version %s: %s", self.model, self.name, shown)
        return execution
