"""Jobs that share a run: their inputs in one buffer each, and to each its own rows of the outputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.runtime.output_memory import allocator
from ascend_ep.serving.profiles import recorded
from ascend_ep.serving.refusals import internal
from ascend_ep.serving.request import Array

from .job import Job
from .rules import BatchRules
from .waiting import Key

#: Runs a model on named inputs: all outputs in its order. Any number of threads may call it.
Run = Callable[[dict[str, Array]], Sequence[Array]]
Outcome = Sequence[Array] | AscendError

_clock = time.monotonic_ns
_allocator = lru_cache(maxsize=64)(allocator)


class Batch:
    """`execute` may be called on any thread, once; `outcomes` are the jobs' in their order then.

    parts: when the batch failed, the batches of one job that were run instead.
    """

    __slots__ = ("_key", "_rules", "infer_ns", "input_ns", "jobs", "outcomes", "output_ns", "parts", "rows")

    def __init__(self, jobs: Sequence[Job], rules: BatchRules, key: Key) -> None:
        self._rules = rules
        self._key = key
        self.jobs = jobs
        self.rows = jobs[0].rows if len(jobs) == 1 else sum([job.rows for job in jobs])
        self.outcomes: list[Outcome] = []
        self.parts: list[Batch] = []
        self.input_ns = self.infer_ns = self.output_ns = 0

    def execute(self, run: Run) -> None:
        """Never raises."""
        jobs = self.jobs
        began = _clock()
        for job in jobs:
            job.timings.queue = began - job.arrived
        try:
            self.outcomes = self._together(run, began)
        except Exception as failure:
            if len(jobs) == 1:
                self.outcomes = [internal(failure)]
        if not self.outcomes:
            self._apart(run)

    def finish(self) -> None:
        """Gives every job its outcome, on the event loop."""
        now = time.monotonic()
        for job, outcome in zip(self.jobs, self.outcomes, strict=True):
            if isinstance(outcome, AscendError):
                job.fail(outcome)
            elif job.is_late(now):
                job.fail(job.too_late())
            else:
                job.finish(outcome)

    def _together(self, run: Run, began: int) -> list[Outcome]:
        jobs, rows = self.jobs, self.rows
        padded = self._rules.padded(rows, self._key)
        whole = len(jobs) == 1 and padded == rows
        feed = jobs[0].inputs if whole else _assembled(jobs, padded)
        assembled = _clock()
        asks = next((job for job in jobs if job.profile and not job.finished), None)
        waited = asks or jobs[0]
        outputs = recorded(run, asks.profile if asks else None, waited.arrived, waited.thread)(feed)
        ran = _clock()
        outcomes: list[Outcome] = [outputs] if whole else _cut(outputs, jobs, padded)
        cut = _clock()
        self.input_ns, self.infer_ns, self.output_ns = assembled - began, ran - assembled, cut - ran
        for job in jobs:
            timings = job.timings
            timings.compute_input, timings.compute_infer = self.input_ns, self.infer_ns
            timings.compute_output, timings.batch = self.output_ns, rows
        return outcomes

    def _apart(self, run: Run) -> None:
        """One of them made the run fail; the others shall not suffer."""
        self.outcomes = []
        for job in self.jobs:
            if job.finished:
                self.outcomes.append(AscendError("E50018"))
            elif job.is_late(time.monotonic()):
                self.outcomes.append(job.too_late())
            else:
                alone = Batch((job,), self._rules, self._key)
                alone.execute(run)
                self.outcomes += alone.outcomes
                self.parts.append(alone)


def padded_run(run: Run, rules: BatchRules) -> Run:
    """A run of any number of rows, as a batch of them would be run."""

    def run_padded(inputs: dict[str, Array]) -> Sequence[Array]:
        rows = len(next(iter(inputs.values())))
        more = rules.padded(rows, rules.key_of(inputs)) - rows
        if not more:
            return run(inputs)
        zeros = {name: np.zeros((more, *a.shape[1:]), a.dtype) for name, a in inputs.items()}
        outputs = run({name: np.concatenate([array, zeros[name]]) for name, array in inputs.items()})
        return [array[:rows] for array in outputs]

    return run_padded


def _assembled(jobs: Sequence[Job], padded: int) -> dict[str, Array]:
    """One array per input: the jobs' rows in their order, then zeros."""
    feed: dict[str, Array] = {}
    for name, first in jobs[0].inputs.items():
        buffer = _allocator((padded, *first.shape[1:]), first.dtype)()
        at = 0
        for job in jobs:
            buffer[at : at + job.rows] = job.inputs[name]
            at += job.rows
        if at < padded:
            buffer[at:] = 0
        feed[name] = buffer
    return feed


def _cut(outputs: Sequence[Array], jobs: Sequence[Job], padded: int) -> list[Outcome]:
    """To each job views of its rows."""
    for array in outputs:
        if not array.shape or array.shape[0] != padded:
            raise ValueError(f"an output of shape {array.shape} for {padded} rows")
    cuts: list[Outcome] = []
    at = 0
    for job in jobs:
        end = at + job.rows
        cuts.append([array[at:end] for array in outputs])
        at = end
    return cuts
