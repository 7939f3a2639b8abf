"""The roofline of a profile: for each kind of call what it attains, and what the machine allows it.

The five classes are those of msadvisor. A call is bound by what its least time is spent on; where it attains
less than half of that, its pipeline is low, and where it is so short that the call itself counts, it is bound
by latency.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.tables import Row, by_node

#: Below this share of what is attainable, something else than the machine is the limit.
LOW = 0.5
#: Seconds of a call below which its beginning and end count as much as what it does.
SHORT = 5e-6
CLASSES = (
    *("memory bound", "compute bound", "low pipeline"),
    *("latency bound (memory)", "latency bound (compute)", "unknown"),
)


@dataclass(frozen=True)
class Bound:
    """`attained` of the rate that the machine allows, between 0 and 1 (or a little above: from caches);
    `intensity` in operations a byte."""

    row: Row
    kind: str
    attained: float
    intensity: float
    least_seconds: float


def bounds(profile: Profile, machine: Machine) -> Iterator[Bound]:
    """By node, the longest first; what has no known work is unknown. Of the usual time of calls, since a mean
    has what neighbours took."""
    for row in sorted(by_node(profile), key=lambda row: -row.usual):
        if row.work is None or not row.bytes:
            yield Bound(row, "unknown", 0.0, 0.0, 0.0)
            continue
        work = row.work
        least, limit = machine.bound_seconds(work.products, work.functions, row.bytes)
        attained = least / row.usual if row.usual else 0.0
        if row.usual / row.calls < SHORT:
            kind = f"latency bound ({limit})"
        else:
            kind = f"{limit} bound" if attained >= LOW else "low pipeline"
        yield Bound(row, kind, attained, work.operations / row.bytes, least)
