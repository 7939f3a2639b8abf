"""One loaded version of a model: session, signature, scheduler, statistics."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.bundle_records import Segment
from ascend_ep.serving.execution import candidates
from ascend_ep.serving.execution.batch import Run
from ascend_ep.serving.execution.boundary import BatchBoundary, batch_boundary
from ascend_ep.serving.execution.host_model import HostModel
from ascend_ep.serving.execution.implementations import Implementations
from ascend_ep.serving.execution.job import Job
from ascend_ep.serving.execution.samples import Samples
from ascend_ep.serving.execution.scheduler import Scheduler
from ascend_ep.serving.execution.schedulers import make_scheduler
from ascend_ep.serving.execution.tuning import Execution, Tuning
from ascend_ep.serving.execution.waiting import WaitingJobs
from ascend_ep.serving.native.native_session import NativeSession
from ascend_ep.serving.request import Array
from ascend_ep.serving.settings import Settings
from ascend_ep.serving.signature import Signature
from ascend_ep.serving.statistics import VersionStatistics

from .config import ModelConfig
from .config_check import check_config

#: A checked session with so many threads for a run, 0 for all; with the bundle's native code or without.
OpenSession = Callable[[int, bool], Any]

log = logging.getLogger("ascend_ep.serving")


class LoadedVersion:
    """execution: how it is run, found when it was loaded. rows_input: the input whose first size counts the
    rows of a request; None for a model without rows. implementations: those that can stand in for each other;
    None when there is only one. original: the ONNX model that the bundle was made from, if it is there.
    tuning: seconds for measurements. old: the one that this one replaces."""

    def __init__(
        self,
        model: str,
        number: int,
        open_session: OpenSession,
        config: ModelConfig,
        where: str,
        original: Path | None = None,
        tuning: float = 1.0,
        old: LoadedVersion | None = None,
    ) -> None:
        self.model = model
        self.number = number
        self.name = str(number)
        self._tuning = tuning
        self.session = session = open_session(config.threads or 0, True)
        #: when its code runs in a process of its own
        self.native = session if isinstance(session, NativeSession) else None
        #: why model.onnx answers in the place of the bundle, if it does, for clients; and the code of that
        self.unused_bundle = self.unused_code = ""
        if self.native is not None:
            config = replace(config, threads=config.threads or 0)
        self.config = config
        self.signature = Signature.of_session(session, where)
        self.statistics = VersionStatistics()
        if self.native is not None:
            self.statistics.processes = self.native.counts
        check_config(model, config, self.signature)
        bundle: Bundle | None = session.bundle
        boundary: BatchBoundary | str = "its bundle can't be read"
        if bundle is not None:
            boundary = batch_boundary(bundle, insisted=bool(config.max_batch_size))
        self.rows_input = boundary.inputs[0][0] if isinstance(boundary, BatchBoundary) else None
        # copies: an array of the bundle's keeps all of it in memory
        stored = {edge.name: np.array(array) for edge, array in bundle.samples()} if bundle else {}
        inputs = {spec.name: stored[spec.name] for spec in self.signature.inputs if spec.name in stored}
        sizes = bundle.sizes if bundle and not inputs else {}
        if not inputs and any(isinstance(d, str) for spec in self.signature.inputs for d in spec.dims):
            tried = ", ".join(f"{d}={n}" for d, n in sizes.items()) or "sizes of which it says nothing"
            log.info("%s, version %d: its bundle has no samples; it is tried at %s", model, number, tried)
        self._samples = Samples(self.signature, inputs, sizes)
        self._run: Run = partial(session.run, None)
        self.execution = self._tuned(boundary, open_session, self._chosen_before(old))
        self.implementations = self._alternatives(open_session, original, stored)
        self.scheduler: Scheduler | None = None
        del self._samples  # views of the bundle's memory

    def start(self, settings: Settings, loop: asyncio.AbstractEventLoop) -> None:
        """Gives it a scheduler: from now on it takes jobs."""
        batching = self.config.batching
        max_queue = (batching.max_queue if batching else None) or settings.max_queue
        waiting = WaitingJobs(max_queue, settings.max_queue_bytes, self.execution.rules.levels)
        self.scheduler = make_scheduler(self.execution, self.run, waiting, self.statistics, loop)

    def take_over(self, old: LoadedVersion) -> None:
        """Counts on where the version before is."""
        if self.native is not None:
            self.native.counts = old.statistics.processes = old.statistics.processes + self.native.counts
        self.statistics = old.statistics

    @property
    def refused_natives(self) -> tuple[Segment, ...]:
        """The generated code of the bundle that isn't trusted here and is interpreted."""
        if self.native is not None or isinstance(self.session, HostModel):
            return ()
        found: tuple[Segment, ...] = self.session.bundle.refused_natives
        return found

    def unused(self, code: str, why: str) -> None:
        """It was loaded from model.onnx, for its bundle can't be used."""
        self.unused_code, self.unused_bundle = code, f"{why} (model.onnx answers in its place)"

    def describe(self) -> dict[str, str]:
        """How it is run, for people."""
        shown = self.execution.describe()
        if self.unused_bundle:
            shown["bundle"] = self.unused_bundle
        if self.implementations is not None:
            shown["implementations"] = self.implementations.describe()
        return shown

    async def close(self) -> None:
        """Finishes what was taken; no more is."""
        if self.scheduler is not None:
            await self.scheduler.close()

    def release(self) -> None:
        """Gives the session's memory back, whoever still holds this object. It takes no more jobs."""
        self.scheduler = self.implementations = None
        if self.native is not None:
            self.native.close()
        del self.session, self._run

    def run(self, inputs: dict[str, Array]) -> Sequence[Array]:
        """All outputs in the model's order."""
        return self._run(inputs)

    def submit(self, job: Job) -> None:
        """Raises AscendError E50003 when it doesn't take jobs any more."""
        if self.scheduler is None:
            raise AscendError("E50003", f"{self.model}, version {self.number}")
        self.scheduler.submit(job)

    def _chosen_before(self, old: LoadedVersion | None) -> Execution | None:
        if old is None:
            return None
        mine, theirs = self.config, old.config
        same = (mine.max_batch_size, mine.batching, mine.instances, mine.threads) == (
            *(theirs.max_batch_size, theirs.batching),
            *(theirs.instances, theirs.threads),
        )
        return old.execution if same else None

    def _tuned(
        self, boundary: BatchBoundary | str, open_session: OpenSession, like: Execution | None
    ) -> Execution:
        opened: dict[int, Any] = {0: self.session}

        def single() -> Run:
            opened[1] = open_session(1, True)
            return partial(opened[1].run, None)

        here = self.native is None
        tuning = Tuning(self._run, single, self._samples, boundary, self.config, self._tuning, like, here)
        execution = tuning.choose()
        if execution.threads == 1 and 1 in opened:
            self.session = opened[1]
            self._run = partial(self.session.run, None)
        shown = ", ".join(f"{key} {text}" for key, text in execution.describe().items())
        log.info("%s, version %s: %s", self.model, self.name, shown)
        return execution

    def _alternatives(
        self, open_session: OpenSession, original: Path | None, stored: Mapping[str, Array]
    ) -> Implementations | None:
        if isinstance(self.session, HostModel):
            return None
        bundle, threads = self.session.bundle, self.execution.threads
        explore = bool(self.config.auto_implementation)
        others = candidates.others(bundle, lambda: open_session(threads, False), original, threads)
        if not others:
            return None
        names = [spec.name for spec in self.signature.outputs]
        outputs = {name: stored[name] for name in names if name in stored}
        foreign = self.native is not None
        proof = candidates.make_proof(self._run, self._samples, outputs, names, risky=foreign)
        first = candidates.first_name(bundle)
        made = Implementations(first, self._run, others, proof, explore=explore, doubted=foreign)
        if explore:
            for rows in (1, self.execution.rules.max_rows):
                made.learn(self._samples.feed(rows))
            log.info("%s, version %s: implementations %s", self.model, self.name, made.describe())
        self._run = made
        return made
