"""A bundle whose native code runs in a process of its own, as a session: when the process ends, the next run
starts another one, after a pause when that happens again and again."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence

from ascend_ep.errors import AscendError
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.options import NodeArg
from ascend_ep.serving.request import Array
from ascend_ep.serving.statistics import ProcessCounts

from .line import Gone
from .process import NativeProcess, Opening

log = logging.getLogger("ascend_ep.serving")

#: Ends of a process within so many seconds, after which the next one has to wait.
_WINDOW = 60.0
_FREE = 3
#: Processes that may end before a run begins.
_TRIES = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class NativeSession:
    """Runs as an InferenceSession does, on any number of threads. bundle: opened in this process, without its
    code. Raises AscendError as NativeProcess does."""

    def __init__(self, bundle: Bundle, opening: Opening) -> None:
        self.bundle = bundle
        self.counts = ProcessCounts()
        self._opening = opening
        self._lock = threading.Lock()
        self._closed = False
        self._ends: deque[float] = deque(maxlen=64)
        self._process = self._start()

    def get_inputs(self) -> list[NodeArg]:
        return self._process.inputs

    def get_outputs(self) -> list[NodeArg]:
        return self._process.outputs

    def run(self, names: Sequence[str] | None, inputs: Mapping[str, Array]) -> list[Array]:
        """All outputs; `names` is None. Raises AscendError E50050 when the process doesn't outlive the run,
        E50051 while it isn't started again."""
        assert names is None
        for _ in range(_TRIES):
            process = self._process if self._process.alive else self._another()
            try:
                return process.run(inputs)
            except Gone:  # before this run began, which is not to blame
                continue
        raise AscendError("E50050", self._opening.version, self._process.reason)

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process.alive

    def close(self) -> None:
        """Ends the process; no other one is started."""
        with self._lock:
            self._closed = True
        self._process.close()

    def _another(self) -> NativeProcess:
        """Whichever thread comes first starts it."""
        with self._lock:
            if not self._process.alive:
                if self._closed:
                    raise AscendError("E50003", self._opening.version)
                self._process.close()
                pause = self._pause(time.monotonic())
                if pause > 0:
                    why = f"{self._process.reason}; it is started again in {pause:.1f} s"
                    raise AscendError("E50051", self._opening.version, why)
                if not self._opening.unchanged():
                    why = f"{self._process.reason}, and the files have changed since it was loaded"
                    raise AscendError("E50051", self._opening.version, why, fix="Load it again.")
                self._process = self._start()
            return self._process

    def _start(self) -> NativeProcess:
        self.counts.starts += 1
        return NativeProcess(self._opening, self._ended)

    def _ended(self, kind: str, reason: str) -> None:
        self._ends.append(time.monotonic())
        self.counts.ends[kind] += 1
        log.error("%s: the process with its native code ended: %s", self._opening.version, reason)

    def _pause(self, now: float) -> float:
        """Seconds until a process may be started again."""
        recent = [end for end in self._ends if now - end < _WINDOW]
        if len(recent) <= _FREE:
            return 0.0
        pause = min(_FIRST_PAUSE * 2.0 ** (len(recent) - _FREE - 1), _LONGEST_PAUSE)
        return recent[-1] + pause - now
