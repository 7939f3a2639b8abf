"""A model that several implementations can run: the fastest is taken, and one that fails is replaced.

`compiled`: the bundle with its native code; `interpreted`: the same without it; `host`: the ONNX model it was
converted from, on onnxruntime's CPU provider. Only those answer whose results agree with its samples.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from ascend_ep.errors import AscendError
from ascend_ep.serving.refusals import STATUSES
from ascend_ep.serving.request import Array

from .batch import Run

log = logging.getLogger("ascend_ep.serving")

COMPILED, INTERPRETED, HOST = "compiled", "interpreted", "host"

#: Raises what there is to say against a run that others are to be replaced by.
Proof = Callable[[Run], None]

_FAILURES = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
#: One run in so many goes to one that isn't the fastest, unless that takes so many times as long.
_EXPLORED = 64
_HOPELESS = 4.0
#: What another one must be faster by to be taken instead.
_BETTER = 0.9
_WEIGHT = 0.2


class Implementation:
    """One way to run the model, and what is known of it. out_until: on the clock of time.monotonic; it isn't
    tried before. seconds: of a run, by the number of bits of its number of rows."""

    def __init__(self, name: str, run: Run) -> None:
        self.name = name
        self.run = run
        self.runs = 0
        self.failures = 0
        self.out_until = 0.0
        self.seconds: dict[int, float] = {}
        self._in_a_row = 0
        self._pause = _FIRST_PAUSE

    def timed(self, inputs: dict[str, Array], size: int) -> Sequence[Array]:
        """Runs it. Raises what the run raises."""
        began = time.perf_counter()
        outputs = self.run(inputs)
        taken = time.perf_counter() - began
        known = self.seconds.get(size, taken)
        self.seconds[size] = known + _WEIGHT * (taken - known)
        self.worked()
        return outputs

    def worked(self) -> None:
        self.runs += 1
        if self._in_a_row:
            self._in_a_row, self._pause = 0, _FIRST_PAUSE

    def failed(self, failure: BaseException) -> None:
        """Counts it; from the third time in a row on, it is out for a while, longer each time."""
        self.failures += 1
        self._in_a_row += 1
        if self._in_a_row >= _FAILURES:
            self.out_until = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        if self.failures & (self.failures - 1) == 0:  # the 1st, 2nd, 4th, 8th ...
            log.error("implementation %s failed, %d times by now: %s", self.name, self.failures, failure)


class Implementations:
    """A Run of the first implementation, which others stand in for.

    others: by name, what opens them, in the order in which they are tried; one is opened when it is needed
    first, and used when `proof` finds nothing against it. explore: the fastest is found from live runs.
    doubted: the first refuses values and shapes as its maker wrote it to; that is the request's fault only if
    no other one answers it.
    A request is run by one of them alone, whose rounding may differ from the others'.
    """

    def __init__(
        self,
        name: str,
        run: Run,
        others: Mapping[str, Callable[[], Run]],
        proof: Proof,
        *,
        explore: bool = False,
        doubted: bool = False,
    ) -> None:
        self.first = Implementation(name, run)
        self.all = [self.first]
        self.refused: dict[str, str] = {}
        self._closed = dict(others)
        self._proof = proof
        self._explore = explore
        self._doubted = doubted
        self._lock = threading.Lock()
        self._count = 0
        if explore:
            while self._open_next():
                pass

    def __call__(self, inputs: dict[str, Array]) -> Sequence[Array]:
        """Raises what the request is to blame for, and what every implementation fails with."""
        size = _size(inputs) if self._explore else 0
        chosen = self._choose(size) if self._explore else self._usable()
        try:
            if self._explore:
                return chosen.timed(inputs, size)
            outputs = chosen.run(inputs)
        except Exception as failure:
            if _is_the_requests(failure) and not self._doubts(chosen, failure):
                raise
            return self._replaced(chosen, inputs, failure)
        chosen.worked()
        return outputs

    def learn(self, inputs: dict[str, Array], times: int = 3) -> None:
        """Measures every implementation on these."""
        for implementation in self.all:
            for _ in range(times):
                try:
                    implementation.timed(inputs, _size(inputs))
                except Exception as failure:
                    implementation.failed(failure)

    def describe(self) -> str:
        """In a line, for people."""
        shown = [f"{i.name} ({i.runs} runs, {i.failures} failures)" for i in self.all]
        return ", ".join(shown + [f"not {name}: {why}" for name, why in self.refused.items()])

    # --- choosing -----------------------------------------------------------------------------

    def _usable(self) -> Implementation:
        first = self.first
        if not first.out_until or time.monotonic() >= first.out_until:
            return first
        now = time.monotonic()
        return next((i for i in self.all if now >= i.out_until), first)

    def _choose(self, size: int) -> Implementation:
        """The fastest for runs of this size; now and then another, to see whether it still is."""
        now = time.monotonic()
        usable = [i for i in self.all if now >= i.out_until] or [self.first]
        unknown = [i for i in usable if size not in i.seconds]
        if unknown:
            return unknown[0]
        best = usable[0]
        for other in usable[1:]:
            if other.seconds[size] < _BETTER * best.seconds[size]:
                best = other
        self._count += 1
        if self._count % _EXPLORED == 0:
            hopeful = [i for i in usable if i.seconds[size] < _HOPELESS * best.seconds[size]]
            return hopeful[self._count // _EXPLORED % len(hopeful)]
        return best

    # --- replacing ----------------------------------------------------------------------------

    def _replaced(
        self, failed: Implementation, inputs: dict[str, Array], failure: Exception
    ) -> Sequence[Array]:
        """The result of the next one that has one. What none of them takes is the request's fault."""
        if not _is_the_requests(failure):
            failed.failed(failure)
        tried = {failed.name}
        while True:
            now = time.monotonic()
            other = next((i for i in self.all if i.name not in tried and now >= i.out_until), None)
            if other is None:
                known = len(self.all)
                if not self._open_next() and len(self.all) == known:
                    raise failure
                continue
            tried.add(other.name)
            try:
                outputs = other.run(inputs)
            except Exception as another:
                if _is_the_requests(another):
                    raise another if not _is_the_requests(failure) else failure from None
                other.failed(another)
                continue
            other.worked()
            if _is_the_requests(failure):
                failed.failed(failure)
            return outputs

    def _doubts(self, chosen: Implementation, failure: Exception) -> bool:
        return self._doubted and chosen is self.first and getattr(failure, "code", "") in _DOUBTFUL

    def _open_next(self) -> bool:
        """Opens and tries one more; False when there is none left."""
        with self._lock:
            if not self._closed:
                return False
            name, opened = next(iter(self._closed.items()))
            del self._closed[name]
            try:
                run = opened()
                self._proof(run)
            except Exception as against:
                self.refused[name] = str(against)
                log.warning("implementation %s isn't used: %s", name, against)
            else:
                self.all = [*self.all, Implementation(name, run)]
            return True


def _is_the_requests(failure: Exception) -> bool:
    """Whether another implementation would have to refuse it too."""
    return isinstance(failure, AscendError) and STATUSES.get(failure.code, _SERVERS).http < 500


#: What a library says of shapes, and of values.
_DOUBTFUL = ("E40007", "E40011")
_SERVERS = STATUSES["E50010"]


def _size(inputs: dict[str, Array]) -> int:
    first = next(iter(inputs.values()), None)
    return int(first.shape[0]).bit_length() if first is not None and first.ndim else 0
