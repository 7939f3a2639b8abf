"""One request on its way through a scheduler."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from ascend_ep.errors import AscendError
from ascend_ep.serving.profiles import RequestProfile
from ascend_ep.serving.request import Array, InferRequest, Timings

#: All outputs of the model in its order, or why there are none.
Done = Callable[["Job", Sequence[Array] | AscendError], None]


class Job:
    """Finished exactly once, on the event loop: by `finish`, `fail`, or `cancel` (nobody listens any more).

    rows: the size of the batch dimension, 1 for a model without one. level: 0 goes first. size: bytes of the
    inputs. start_by: on the clock of time.monotonic. These three are set by a scheduler that lets it wait.
    own_deadline: whether the request named its deadline. profile: what records its run, if it is recorded.
    arrived and thread: when, of time.monotonic_ns, and on which thread it was made.
    """

    __slots__ = (
        "arrived",
        "done",
        "finished",
        "inputs",
        "level",
        "own_deadline",
        "profile",
        "request",
        "rows",
        "size",
        "start_by",
        "thread",
        "timings",
    )

    def __init__(self, request: InferRequest, inputs: dict[str, Array], rows: int, done: Done) -> None:
        self.request = request
        self.inputs = inputs
        self.rows = rows
        self.done = done
        self.finished = False
        self.level = self.size = 0
        self.own_deadline = False
        self.profile: RequestProfile | None = None
        self.start_by: float | None = None
        self.timings = Timings(batch=rows)
        self.arrived = time.monotonic_ns()
        self.thread = threading.get_native_id()

    def finish(self, outputs: Sequence[Array]) -> None:
        if not self.finished:
            self.finished = True
            self.done(self, outputs)

    def fail(self, error: AscendError) -> None:
        if not self.finished:
            self.finished = True
            self.done(self, error)

    def cancel(self) -> None:
        """The client is gone: what waits isn't run, what runs is dropped."""
        self.fail(AscendError("E50018"))

    def is_late(self, now: float) -> bool:
        """Whether the deadline has passed. now: on the clock of time.monotonic."""
        deadline = self.request.deadline
        return deadline is not None and now >= deadline

    def is_late_to_start(self, now: float) -> bool:
        start_by = self.start_by
        return (start_by is not None and now >= start_by) or self.is_late(now)

    def too_late(self) -> AscendError:
        return AscendError("E50007", f"{(time.monotonic_ns() - self.arrived) / 1e6:.0f} ms")
