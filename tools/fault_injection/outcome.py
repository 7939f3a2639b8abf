"""What became of one failure, and whether it breaks a promise."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Outcome:
    """`at`: which call failed. `end`: "as without it", "an error", or what is a finding."""

    at: int
    end: str
    detail: str = ""

    @property
    def is_finding(self) -> bool:
        return self.end not in ("as without it", "an error")


@dataclass
class Campaign:
    """All failures of one kind in one scenario; `calls`: how many there are without a failure."""

    name: str
    calls: int
    outcomes: list[Outcome] = field(default_factory=list)

    def findings(self) -> list[Outcome]:
        return [o for o in self.outcomes if o.is_finding]

    def line(self) -> str:
        ends = Counter(o.end for o in self.outcomes)
        counts = ", ".join(f"{n} {end}" for end, n in sorted(ends.items()))
        return f"{self.name}: {self.calls} calls, {len(self.outcomes)} failed in turn: {counts}"


def title(name: str, what: str, kind: str, on: bool) -> str:
    calls = "allocations" if what == "alloc" else f"system calls ({kind})"
    return f"{name}, {calls}{', all from there' if on else ''}"


def ended_by(status: int) -> str:
    """A finding for a status of subprocess: a signal, or a code that programs of ours don't end with."""
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def total(campaigns: Iterable[Campaign]) -> int:
    return sum(len(c.outcomes) for c in campaigns)
