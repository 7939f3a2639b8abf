"""Which requests of a version may share a run, and how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ascend_ep.errors import AscendError
from ascend_ep.serving.request import Array

from .job import Job
from .waiting import Key

#: An input's name, and its sizes or what they are called.
Boundary = tuple[str, tuple[int | str, ...]]


@dataclass(frozen=True)
class BatchRules:
    """max_rows: of a batch; 1: every request runs alone. preferred: sizes to stop waiting at. max_delay:
    seconds the first of a batch waits for others; 0: takes those that wait, and never waits. largest: a
    request of more rows is refused; None: one of more than max_rows runs alone. profiles: the only sizes of
    free dimensions at which the model runs, by name; empty: any. levels: of priority, the first goes first.
    timeout: seconds a request may wait to be run; one with a deadline of its own waits for that instead, if
    allow_override."""

    inputs: tuple[Boundary, ...]
    max_rows: int = 1
    preferred: tuple[int, ...] = ()
    max_delay: float = 0.0
    largest: int | None = None
    profiles: tuple[Mapping[str, int], ...] = ()
    levels: int = 1
    default_level: int = 0
    timeout: float | None = None
    allow_override: bool = True
    _sizes: dict[Key, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def _free(self) -> tuple[str, ...]:
        """The inputs with sizes, behind the first, that a request chooses."""
        return tuple(name for name, dims in self.inputs if any(isinstance(d, str) for d in dims[1:]))

    @cached_property
    def batched(self) -> bool:
        """Whether runs have another number of rows than the request: more of them, or a profile's."""
        return self.max_rows > 1 or bool(self.profiles)

    def key(self, job: Job) -> Key:
        """Equal for jobs that may share a run. Raises AscendError E50004 for a job of too many rows."""
        inputs = job.inputs
        self.check_rows(job)
        if self.batched and len(inputs) > 1 and any(a.shape[0] != job.rows for a in inputs.values()):
            raise AscendError("E50004", self._first, "the inputs differ in their number of rows")
        key = self.key_of(inputs)
        if self.profiles and job.rows > (most := self.most(key)):
            raise self._too_many(job.rows, most)
        return key

    def check_rows(self, job: Job) -> None:
        """Raises AscendError E50004 for a job of more rows than a request may have."""
        if self.largest is not None and job.rows > self.largest:
            raise self._too_many(job.rows, self.largest)

    def key_of(self, inputs: Mapping[str, Array]) -> Key:
        return tuple([inputs[name].shape[1:] for name in self._free]) if self._free else ()

    def level(self, job: Job) -> int:
        """From the request's parameter `priority`: 1 is the first level; 0, or none there is, the default."""
        asked = job.request.parameters.get("priority", 0)
        if isinstance(asked, int) and 1 <= asked <= self.levels:
            return asked - 1
        return self.default_level

    def most(self, key: Key) -> int:
        """The most rows of a batch of this key."""
        sizes = self._allowed(key)
        return sizes[-1] if sizes else self.max_rows

    def padded(self, rows: int, key: Key) -> int:
        """The rows of the run for a batch of so many."""
        return next((size for size in self._allowed(key) if size >= rows), rows)

    def full(self, rows: int, key: Key) -> int:
        """How many of so many waiting rows make a batch that need not wait for more; 0: none."""
        most = self.most(key)
        if rows >= most:
            return most
        reached = [size for size in self.preferred if size <= rows]
        return max(reached) if reached else 0

    @property
    def _first(self) -> str:
        return self.inputs[0][0]

    def _too_many(self, rows: int, most: int) -> AscendError:
        return AscendError("E50004", self._first, f"a batch of {rows} was sent; {most} is the most")

    def _allowed(self, key: Key) -> tuple[int, ...]:
        """The numbers of rows at which the model runs, ascending; empty: any."""
        if not self.profiles:
            return ()
        found = self._sizes.get(key)
        if found is None:
            if len(self._sizes) > 256:
                self._sizes.clear()
            found = self._sizes[key] = self._profile_sizes(key)
        return found

    def _profile_sizes(self, key: Key) -> tuple[int, ...]:
        batch = self.inputs[0][1][0]
        chosen: dict[str, int] = {}
        shapes = dict(zip(self._free, key, strict=True))
        for name, dims in self.inputs:
            sizes = zip(dims[1:], shapes.get(name, ()), strict=False)
            chosen |= {d: n for d, n in sizes if isinstance(d, str)}
        fits = (p for p in self.profiles if all(p.get(name, n) == n for name, n in chosen.items()))
        allowed = sorted({p[batch] for p in fits if isinstance(batch, str) and batch in p})
        if not allowed:
            names = ", ".join(f"{name}={n}" for name, n in chosen.items())
            raise AscendError("E50004", self._first, f"the model has no profile for {names}")
        return tuple(allowed)


def inputs_bytes(inputs: Mapping[str, Array]) -> int:
    return sum([array.nbytes for array in inputs.values()])
