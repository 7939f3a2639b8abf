"""What an operator can say of a model: batches, instances, versions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ascend_ep.serving.request import Array


@dataclass(frozen=True)
class Batching:
    """preferred: sizes to stop waiting at. max_delay: seconds the first of a batch waits for others; 0: they
    don't wait. max_queue: requests that may wait. timeout: seconds a request may wait that names no deadline;
    allow_override: whether one that does may wait longer than that. None: the server's own.
    priority_levels: 0 for none; 1 goes first. default_priority: of requests that name none."""

    preferred: tuple[int, ...] = ()
    max_delay: float = 0.0
    max_queue: int | None = None
    timeout: float | None = None
    allow_override: bool = True
    priority_levels: int = 0
    default_priority: int = 0


@dataclass(frozen=True)
class VersionPolicy:
    """latest: so many of the highest numbers; or `specific` ones; or all, when both are empty."""

    latest: int = 1
    specific: tuple[int, ...] = ()

    def choose(self, there: Iterable[int]) -> list[int]:
        """Those of the versions that are there which are to be served, ascending."""
        numbers = sorted(there)
        if self.specific:
            return [n for n in numbers if n in self.specific]
        return numbers[-self.latest :] if self.latest else numbers


@dataclass(frozen=True)
class DeclaredTensor:
    """An input or output as the operator describes it. dims: -1 for one that a request chooses; without the
    batch's when there is a max_batch_size. line: where that is."""

    name: str
    datatype: str
    dims: tuple[int, ...]
    line: int


@dataclass(frozen=True)
class Declarations:
    """What the bundle must agree with; nothing was said of tensors that aren't there. batch_line: of
    max_batch_size."""

    inputs: tuple[DeclaredTensor, ...] = ()
    outputs: tuple[DeclaredTensor, ...] = ()
    batch_line: int = 0


@dataclass(frozen=True)
class Warmup:
    """Inputs to run before requests are taken, so many times. They have the batch's size, if any."""

    name: str
    inputs: tuple[tuple[str, Array], ...]
    count: int = 1


@dataclass(frozen=True)
class ModelConfig:
    """None: chosen by the server, from the signature and by measurement. max_batch_size 0: no batches.
    split: weights of versions among requests that name none, by number. shadow: the version that runs
    shadow_share of the requests once more, to be compared. auto_implementation: whether the fastest of
    several implementations is found from live runs. warmup: whether versions are run before they take
    requests; warmups: on what, besides their stored samples."""

    max_batch_size: int | None = None
    batching: Batching | None = None
    instances: int | None = None
    threads: int | None = None
    policy: VersionPolicy = VersionPolicy()
    split: tuple[tuple[int, float], ...] = ()
    shadow: int | None = None
    shadow_share: float = 1.0
    auto_implementation: bool | None = None
    warmup: bool = True
    warmups: tuple[Warmup, ...] = ()
    declared: Declarations = Declarations()
