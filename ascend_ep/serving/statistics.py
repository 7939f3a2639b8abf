"""Counters of one version, as the statistics extension of the protocol shows them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

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


#: Batch sizes that are counted each for itself.
_MANY_SIZES = 256


class BatchSize:
    """The runs of so many rows: how often, and nanoseconds in all."""

    __slots__ = ("compute_infer", "compute_input", "compute_output", "count")

    def __init__(self) -> None:
        self.count = self.compute_input = self.compute_infer = self.compute_output = 0


@dataclass(slots=True)
class VersionStatistics:
    """batches: by rows. A batch whose run failed counts as the runs that its requests then had alone."""

    success: Histogram = field(default_factory=Histogram)
    fail: Duration = field(default_factory=Duration)
    queue: Histogram = field(default_factory=Histogram)
    compute_input: Duration = field(default_factory=Duration)
    compute_infer: Histogram = field(default_factory=Histogram)
    compute_output: Duration = field(default_factory=Duration)
    last_inference_ms: int = 0
    #: failures by the code of their errors
    failures: Counter[str] = field(default_factory=Counter)
    batches: dict[int, BatchSize] = field(default_factory=dict)
    #: batches that failed and were run again, request by request
    divided: int = 0
    #: rows of all runs
    inferences: int = 0

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

    def succeeded(self, ns: int, timings: Timings) -> None:
        """ns: from the request's arrival to its answer."""
        self.success.add(ns)
        self.queue.add(timings.queue)
        self.compute_input.add(timings.compute_input)
        self.compute_infer.add(timings.compute_infer)
        self.compute_output.add(timings.compute_output)
        self.last_inference_ms = int(time.time() * 1000)

    def failed(self, ns: int, code: str) -> None:
        self.fail.add(ns)
        self.failures[code] += 1
