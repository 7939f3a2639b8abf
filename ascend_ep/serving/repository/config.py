"""What an operator can say of a model: batches, instances, versions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Batching:
    """preferred: sizes to stop waiting at. max_delay: seconds the first of a batch waits for others."""

    preferred: tuple[int, ...] = ()
    max_delay: float = 0.0


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
class ModelConfig:
    """None: chosen by the server, from the signature and by measurement. max_batch_size 0: no batches.
    split: weights of versions among requests that name none, by number."""

    max_batch_size: int | None = None
    batching: Batching | None = None
    instances: int | None = None
    threads: int | None = None
    policy: VersionPolicy = VersionPolicy()
    split: tuple[tuple[int, float], ...] = ()
    shadow: int | None = None
    warmup: bool = True
