"""What the calls of a profile would take at least on a chip: columns model_..., beside what was measured."""

from __future__ import annotations

from typing import Any

from ascend_ep.cann.chip_rates import ChipRates, Times
from ascend_ep.element_types import ELEMENT_TYPES
from ascend_ep.profiling.profile import Profile, Site

ABSENT = "N/A"
#: Behind the other columns of op_summary, and of op_statistic.
OF_CALLS = [
    "model_chip",
    "model_time(us)",
    "model_limit",
    "model_cube(us)",
    "model_vector(us)",
    "model_memory(us)",
]
OF_TYPES = ["model_chip", "model_total(us)"]


def site_times(site: Site, rates: ChipRates) -> Times | None:
    """None where it isn't known what a call computes: code of users."""
    if site.work is None:
        return None
    moved = site.call.bytes_read + site.call.bytes_written
    return rates.times(
        site.work.products, site.work.vector + site.work.functions, moved, _element_bytes(site)
    )


def _element_bytes(site: Site) -> int:
    """Of what is computed with: the first operand's, else 2."""
    first = next((o for o in (*site.call.inputs, *site.call.outputs) if o and o.dtype in ELEMENT_TYPES), None)
    return max(1, ELEMENT_TYPES[first.dtype].bits // 8) if first else 2


def call_columns(site: Site, rates: ChipRates) -> list[Any]:
    """Of one call, as OF_CALLS names them."""
    times = site_times(site, rates)
    if times is None:
        return [rates.soc.name, *[ABSENT] * 5]
    numbers = [f"{1e6 * t:.3f}" for t in (times.cube, times.vector, times.memory)]
    limit = times.limit if times.overlapped else ABSENT
    return [rates.soc.name, f"{1e6 * times.overlapped:.3f}", limit, *numbers]


def totals(profile: Profile, rates: ChipRates) -> dict[tuple[str, str, str], float | None]:
    """Seconds of all calls by model, operator type and core; None where a call isn't known."""
    found: dict[tuple[str, str, str], float | None] = {}
    for site, spent in profile.sums:
        key = site.bound.model, site.op_type, site.core
        times, before = site_times(site, rates), found.get(key, 0.0)
        found[key] = None if times is None or before is None else before + len(spent) * times.overlapped
    return found


def lines(profile: Profile, rates: ChipRates) -> list[str]:
    """For people: the model's sum, and of what it lacks."""
    found = totals(profile, rates)
    known = sum(seconds for seconds in found.values() if seconds is not None)
    unknown = sorted({key[1] for key, seconds in found.items() if seconds is None})
    said = (
        f"model of {rates.soc.name}: at least {1e6 * known:.4g} us for all calls (nothing of it was measured)"
    )
    return [said, *([f"  without {', '.join(unknown)}: what they compute isn't known"] if unknown else [])]
