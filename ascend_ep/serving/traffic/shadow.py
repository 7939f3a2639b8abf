"""A share of the requests run once more, on another version, after their answers went out."""

from __future__ import annotations

import logging
import random
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.serving.execution.batch import padded_run
from ascend_ep.serving.execution.job import Job
from ascend_ep.serving.repository.version import LoadedVersion
from ascend_ep.serving.request import Array

from .difference import difference

log = logging.getLogger("ascend_ep.serving")

#: What may wait for its copy to run, in all: more is dropped.
_MOST_WAITING = 32
_MOST_BYTES = 64 << 20
_EXAMPLES = 5


@dataclass(frozen=True)
class ShadowRule:
    """Raises AscendError E50036 for values out of range."""

    version: int
    share: float = 1.0
    rtol: float = 1e-3
    atol: float = 1e-5

    def __post_init__(self) -> None:
        if self.version < 1:
            raise AscendError("E50036", "shadow", "version is the number of a version")
        if not 0 < self.share <= 1:
            raise AscendError("E50036", "shadow", "share is more than 0, and at most 1")
        if not (0 <= self.rtol < 1e9 and 0 <= self.atol < 1e9):
            raise AscendError("E50036", "shadow", "rtol and atol are numbers from 0")


@dataclass
class Comparison:
    """What came of the copies. dropped: not run, for the server was busy or the version wasn't there."""

    compared: int = 0
    mismatched: int = 0
    failed: int = 0
    dropped: int = 0
    absolute: float = 0.0
    relative: float = 0.0
    examples: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_EXAMPLES))

    @property
    def outcomes(self) -> dict[str, int]:
        """Of every copy: one of these came of it."""
        return {
            "same": self.compared - self.mismatched,
            "mismatched": self.mismatched,
            "failed": self.failed,
            "dropped": self.dropped,
        }

    def shown(self) -> dict[str, Any]:
        """For JSON; the examples are the last."""
        return asdict(self) | {"examples": list(self.examples)}


class Shadow:
    """The copies of one model's requests: one after another, on a thread of their own, so that they never
    delay or change an answer."""

    def __init__(self, rule: ShadowRule) -> None:
        self.rule = rule
        self.comparison = Comparison()
        self._thread = ThreadPoolExecutor(1, "ascend-shadow")
        self._lock = threading.Lock()
        self._waiting = self._bytes = 0

    def copy(
        self, answered: LoadedVersion, target: LoadedVersion | None, job: Job, outputs: Sequence[Array]
    ) -> None:
        """Takes a request that was answered; its share of them is run on the target, when there is room."""
        if self.rule.share < 1 and random.random() >= self.rule.share:
            return
        if target is answered:
            return
        size = sum(a.nbytes for a in job.inputs.values()) + sum(a.nbytes for a in outputs)
        with self._lock:
            gone = target is None or target.scheduler is None
            if gone or self._waiting >= _MOST_WAITING or self._bytes + size > _MOST_BYTES:
                self.comparison.dropped += 1
                return
            assert target is not None
            self._waiting += 1
            self._bytes += size
        self._thread.submit(self._run, answered, target, job, outputs, size)

    def close(self) -> None:
        """Drops what waits."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _run(
        self, answered: LoadedVersion, target: LoadedVersion, job: Job, outputs: Sequence[Array], size: int
    ) -> None:
        comparison = self.comparison
        try:
            if target.scheduler is None:  # released while this waited
                comparison.dropped += 1
                return
            target.signature.check(job.inputs)
            made = padded_run(target.run, target.execution.rules)(job.inputs)
            names = [spec.name for spec in answered.signature.outputs]
            found = difference(names, outputs, made, self.rule.rtol, self.rule.atol)
        except Exception as failure:
            comparison.failed += 1
            self._note(job, f"the shadow failed: {failure}")
            return
        finally:
            with self._lock:
                self._waiting -= 1
                self._bytes -= size
        comparison.compared += 1
        comparison.absolute = max(comparison.absolute, found.absolute)
        comparison.relative = max(comparison.relative, found.relative)
        if found.mismatch:
            comparison.mismatched += 1
            self._note(job, found.mismatch)

    def _note(self, job: Job, what: str) -> None:
        request = job.request
        example = {"id": request.id, "key": request.key, "what": what}
        self.comparison.examples.append(example)
        log.warning("shadow of %s on version %d: %s", request.model, self.rule.version, what)
