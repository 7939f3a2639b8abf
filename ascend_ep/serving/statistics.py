"""Counters of one version, as the statistics extension of the protocol shows them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

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
    success: Duration = field(default_factory=Duration)
    fail: Duration = field(default_factory=Duration)
    queue: Duration = field(default_factory=Duration)
    compute_input: Duration = field(default_factory=Duration)
    compute_infer: Duration = field(default_factory=Duration)
    compute_output: Duration = field(default_factory=Duration)
    last_inference_ms: int = 0

    def succeeded(self, ns: int, timings: Timings) -> None:
        """ns: from the request's arrival to its answer."""
        self.success.add(ns)
        self.queue.add(timings.queue)
        self.compute_input.add(timings.compute_input)
        self.compute_infer.add(timings.compute_infer)
        self.compute_output.add(timings.compute_output)
        self.last_inference_ms = int(time.time() * 1000)

    def failed(self, ns: int) -> None:
        self.fail.add(ns)
