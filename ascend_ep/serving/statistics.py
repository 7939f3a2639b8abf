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


@dataclass(slots=True)
class VersionStatistics:
    success: Histogram = field(default_factory=Histogram)
    fail: Duration = field(default_factory=Duration)
    queue: Histogram = field(default_factory=Histogram)
    compute_input: Duration = field(default_factory=Duration)
    compute_infer: Histogram = field(default_factory=Histogram)
    compute_output: Duration = field(default_factory=Duration)
    last_inference_ms: int = 0
    #: failures by the code of their errors
    failures: Counter[str] = field(default_factory=Counter)

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
