"""One loaded version of a model: session, signature, scheduler, statistics."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.serving.datatypes import BYTES, DTYPES
from ascend_ep.serving.execution.direct import INLINE_SECONDS, DirectScheduler
from ascend_ep.serving.execution.job import Job
from ascend_ep.serving.execution.scheduler import Scheduler
from ascend_ep.serving.request import Array
from ascend_ep.serving.settings import Settings
from ascend_ep.serving.signature import Signature, TensorSpec
from ascend_ep.serving.statistics import VersionStatistics

from .config import ModelConfig

_WARM_RUNS = 5


class LoadedVersion:
    """`seconds`: the median of a run of one row, measured when it was loaded."""

    def __init__(self, model: str, number: int, session: Any, config: ModelConfig, where: str) -> None:
        self.model = model
        self.number = number
        self.name = str(number)
        self.session = session
        self.config = config
        self.signature = Signature.of_session(session, where)
        self.statistics = VersionStatistics()
        self.seconds = self._warm()
        self.scheduler: Scheduler | None = None

    def start(self, settings: Settings, loop: asyncio.AbstractEventLoop) -> None:
        """Gives it a scheduler: from now on it takes jobs."""
        self.scheduler = DirectScheduler(
            self.run,
            instances=self.config.instances or settings.instances,
            max_queue=settings.max_queue,
            inline=self.seconds < INLINE_SECONDS,
            loop=loop,
        )

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

    def _warm(self) -> float:
        feed = {spec.name: _sample(spec) for spec in self.signature.inputs}
        taken = []
        for _ in range(_WARM_RUNS):
            began = time.perf_counter()
            self.run(feed)
            taken.append(time.perf_counter() - began)
        return statistics.median(taken)


def _sample(spec: TensorSpec) -> Array:
    shape = [d if isinstance(d, int) else 1 for d in spec.dims]
    if spec.datatype == BYTES:
        return np.full(shape, "", object)
    return np.zeros(shape, DTYPES[spec.datatype])
