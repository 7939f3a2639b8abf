"""The roofline of a profile: for each kind of call what it attains, and what the machine allows it.

The five classes are those of msadvisor. A call is bound by what its least time is spent on; where it attains
less than half of that, its pipeline is low, and where it is so short that the call itself counts, it is bound
by latency.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.msprof_reading import UNITS
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.tables import Row, by_node

#: Below this share of what is attainable, something else than the machine is the limit.
LOW = 0.5
#: Seconds of a call below which its beginning and end count as much as what it does.
SHORT = 5e-6
#: Units of a chip that compute, and that move what is in its memory.
COMPUTING, TRANSFERS = ("mac", "vec"), ("mte2", "mte3")
CLASSES = (
    *("memory bound", "compute bound", "low pipeline"),
    *("latency bound (memory)", "latency bound (compute)", "unknown"),
)


@dataclass(frozen=True)
class Bound:
    """`attained` of the rate that the machine allows, between 0 and 1 (or a little above: from caches);
    `intensity` in operations a byte. Of a chip: of its cycles, by msprof's counters, and `unit` is the one of
    its units that was busy longest."""

    row: Row
    kind: str
    attained: float
    intensity: float
    least_seconds: float
    unit: str = ""


def bounds(profile: Profile, machine: Machine) -> Iterator[Bound]:
    """By node, the longest first; what has no known work is unknown. Of the usual time of calls, since a mean
    has what neighbours took."""
    if profile.of_chip:
        yield from _counted(profile)
        return
    for row in sorted(by_node(profile), key=lambda row: -row.usual):
        if row.work is None or not row.bytes:
            yield Bound(row, "unknown", 0.0, 0.0, 0.0)
            continue
        work = row.work
        least, limit = machine.bound_seconds(work.products, work.functions, row.bytes)
        attained = least / row.usual if row.usual else 0.0
        yield Bound(row, _kind(row, limit, attained), attained, work.operations / row.bytes, least)


def _kind(row: Row, limit: str, attained: float) -> str:
    if row.usual / row.calls < SHORT:
        return f"latency bound ({limit})"
    return f"{limit} bound" if attained >= LOW else "low pipeline"


def _counted(profile: Profile) -> Iterator[Bound]:
    """By the cycles in which the units of a chip's cores were busy: products and vectors, and transfers."""
    busy = busy_shares(profile)
    for row in sorted(by_node(profile), key=lambda row: -row.usual):
        units = busy.get((row.name, row.kernel), {})
        if not units:
            yield Bound(row, "unknown", 0.0, 0.0, 0.0)
            continue
        compute = max(units.get(unit, 0.0) for unit in COMPUTING)
        memory = max(units.get(unit, 0.0) for unit in TRANSFERS)
        limit, attained = ("compute", compute) if compute >= memory else ("memory", memory)
        yield Bound(row, _kind(row, limit, attained), attained, 0.0, 0.0, max(units, key=lambda u: units[u]))


def busy_shares(profile: Profile) -> dict[tuple[str, str], dict[str, float]]:
    """By node and core of a chip: the share of its tasks' time in which each unit was busy, if known."""
    sums: dict[tuple[str, str], NDArray[np.float64]] = {}
    for p, process in enumerate(profile.processes):
        calls = process.calls
        keys, places = np.unique(
            calls["bound"].astype(np.uint64) << np.uint64(32) | calls["index"], return_inverse=True
        )
        spent = (calls["end"] - calls["start"]).astype(np.float64)[:, None]
        known = ~np.isnan(process.busy)
        both = np.stack([np.where(known, process.busy, 0) * spent, known * spent])
        of_sites = np.zeros((2, len(keys), len(UNITS)))
        for side in (0, 1):
            np.add.at(of_sites[side], places, both[side])
        for at, key in enumerate(keys.tolist()):
            site = profile.sites[p, key >> 32][key & 0xFFFFFFFF]
            name = (site.name, site.call.kernel)
            sums[name] = sums.get(name, np.zeros((2, len(UNITS)))) + of_sites[:, at]
    return {
        name: {unit: float(b / t) for unit, b, t in zip(UNITS, *both, strict=True) if t}
        for name, both in sums.items()
    }
