"""Counters of one version, as the statistics extension of the protocol shows them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .histogram import Histogram
from .request import Timings


@dataclass(slots=True)
class Duration:
    """How often, and nanoseconds in all."""

    count: int = 0
    ns: int = 0

    def add(self, ns: int) -> None:
        self.count += 1
        self.ns += ns

    def add_all(self, ns: NDArray[np.int64]) -> None:
        self.count += ns.size
        self.ns += int(ns.sum())


@dataclass
class ProcessCounts:
    """ends: those that nobody asked for, by their kind."""

    starts: int = 0
    ends: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: ProcessCounts) -> ProcessCounts:
        return ProcessCounts(self.starts + other.starts, self.ends + other.ends)


#: Batch sizes that are counted each for itself.
_MANY_SIZES = 256


class BatchSize:
    """The runs of so many rows: how often, and nanoseconds in all."""

    __slots__ = ("compute_infer", "compute_input", "compute_output", "count")

    def __init__(self) -> None:
        self.count = self.compute_input = self.compute_infer = self.compute_output = 0


#: Answered requests that may wait to be counted, and what is kept of each.
_FRESH = 1024
_FIELDS = 6


class VersionStatistics:
    """batches: by rows. A batch whose run failed counts as the runs that its requests then had alone.

    A request that was answered is kept as bare numbers; they are counted together, when there are enough of
    them or when somebody looks.
    """

    __slots__ = (
        *("_compute_infer", "_compute_input", "_compute_output", "_fresh", "_last", "_queue", "_success"),
        *("batches", "divided", "fail", "failures", "inferences", "processes"),
    )

    def __init__(self) -> None:
        self.fail = Duration()
        #: failures by the code of their errors
        self.failures: Counter[str] = Counter()
        self.batches: dict[int, BatchSize] = {}
        #: batches that failed and were run again, request by request
        self.divided = 0
        #: those that run native code of users
        self.processes = ProcessCounts()
        #: rows of all runs
        self.inferences = 0
        self._success, self._queue, self._compute_infer = Histogram(), Histogram(), Histogram()
        self._compute_input, self._compute_output = Duration(), Duration()
        self._last = 0
        self._fresh: list[int] = []

    @property
    def success(self) -> Histogram:
        """From a request's arrival to its answer."""
        self._count()
        return self._success

    @property
    def queue(self) -> Histogram:
        self._count()
        return self._queue

    @property
    def compute_input(self) -> Duration:
        self._count()
        return self._compute_input

    @property
    def compute_infer(self) -> Histogram:
        self._count()
        return self._compute_infer

    @property
    def compute_output(self) -> Duration:
        self._count()
        return self._compute_output

    @property
    def last_inference_ms(self) -> int:
        """Milliseconds since 1970, 0 before the first."""
        self._count()
        return (time.time_ns() - time.monotonic_ns() + self._last) // 10**6 if self._last else 0

    @property
    def executions(self) -> int:
        """Runs of the model."""
        return sum(size.count for size in self.batches.values())

    def executed(self, rows: int, input_ns: int, infer_ns: int, output_ns: int) -> None:
        """A run of the model on so many rows."""
        self.inferences += rows
        size = self.batches.get(rows) or self._size(rows)
        size.count += 1
        size.compute_input += input_ns
        size.compute_infer += infer_ns
        size.compute_output += output_ns

    def _size(self, rows: int) -> BatchSize:
        """Clients choose sizes: beyond the first hundreds they are counted in powers of two."""
        if len(self.batches) >= _MANY_SIZES:
            rows = 1 << (rows - 1).bit_length()
        return self.batches.setdefault(rows, BatchSize())

    def succeeded(self, ended: int, ns: int, timings: Timings) -> None:
        """ended: on the clock of time.monotonic_ns; ns: from the request's arrival until then."""
        fresh = self._fresh
        t = timings
        fresh += (ended, ns, t.queue, t.compute_input, t.compute_infer, t.compute_output)
        if len(fresh) >= _FRESH * _FIELDS:
            self._count()

    def failed(self, ns: int, code: str) -> None:
        self.fail.add(ns)
        self.failures[code] += 1

    def _count(self) -> None:
        if not self._fresh:
            return
        columns = np.array(self._fresh, np.int64).reshape(-1, _FIELDS).T
        self._fresh.clear()
        ended, request, queue, compute_input, compute_infer, compute_output = columns
        self._last = int(ended[-1])
        self._success.add_all(request)
        self._queue.add_all(queue)
        self._compute_infer.add_all(compute_infer)
        self._compute_input.add_all(compute_input)
        self._compute_output.add_all(compute_output)
