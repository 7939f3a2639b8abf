"""PipeUtilization.csv of `msprof op`: how busy the units of a chip's cores were.

Nothing here measures that, so the file's own columns are N/A. Behind them stand columns model_... with what a
model says: of a kernel in Ascend C by what its busiest core did, as its checked run counted it; of other
operators by their operations and bytes, spread over all cores; at the rates of ascend_ep/cann/chip_rates.py.
"""

from __future__ import annotations

import re

from ascend_ep.cann.chip_rates import MEMORY_BYTES, ChipRates
from ascend_ep.profiling.chip_model import ABSENT, site_times
from ascend_ep.profiling.profile import Site


def _core(core: str, units: str) -> list[str]:
    shares = [f"{core}_{unit}_{end}" for unit in units.split() for end in ("time(us)", "ratio")]
    return [f"{core}_time(us)", f"{core}_total_cycles", *shares, f"{core}_icache_miss_rate"]


#: msprof's own.
COUNTED = [
    *("block_id", "sub_block_id"),
    *_core("aic", "cube scalar mte1 mte2 mte3 fixpipe"),
    *_core("aiv", "vec scalar mte2 mte3"),
]
#: Units that the model knows: products, vectors, scalars, and transfers from memory and to it.
UNITS = ("cube", "vec", "scalar", "mte2", "mte3")
MODELLED = [
    *("model_chip", "model_time(us)", "model_total_cycles", "model_limit"),
    *(f"model_{unit}_{end}" for unit in UNITS for end in ("time(us)", "ratio")),
]
HEADER = [*COUNTED, *MODELLED]


def pipe_row(site: Site, rates: ChipRates) -> list[object]:
    """Of one call, as HEADER has it."""
    seconds = unit_seconds(site, rates)
    least = max((s for s in seconds.values() if s is not None), default=0.0)
    if not least:
        return [*[ABSENT] * len(COUNTED), rates.soc.name, *[ABSENT] * (len(MODELLED) - 1)]
    limit = max((unit for unit in UNITS if seconds[unit] is not None), key=lambda unit: seconds[unit] or 0.0)
    shares: list[object] = []
    for unit in UNITS:
        spent = seconds[unit]
        shares += [ABSENT, ABSENT] if spent is None else [f"{1e6 * spent:.3f}", f"{spent / least:.3f}"]
    whole = (rates.soc.name, f"{1e6 * least:.3f}", round(least * rates.cycles), limit)
    return [*[ABSENT] * len(COUNTED), *whole, *shares]


def unit_seconds(site: Site, rates: ChipRates) -> dict[str, float | None]:
    """The seconds in which each unit is busy; None where nothing is known of it."""
    counted = counted_work(site.call.schedule)
    if counted:
        turns, each = -(-counted["cores"] // rates.vector_cores), MEMORY_BYTES * rates.cycles
        return {
            "cube": None if counted["cube"] else 0.0,  # what an instruction of it costs isn't known
            "vec": turns * counted["most_vector"] / rates.cycles,
            "scalar": turns * counted["most_scalar"] / rates.cycles,
            "mte2": max(turns * counted["most_read"] / each, counted["read"] / rates.memory),
            "mte3": max(turns * counted["most_written"] / each, counted["written"] / rates.memory),
        }
    times = site_times(site, rates)
    if times is None:
        return dict.fromkeys(UNITS)
    moved = (site.call.bytes_read / rates.memory, site.call.bytes_written / rates.memory)
    return {"cube": times.cube, "vec": times.vector, "scalar": None, "mte2": moved[0], "mte3": moved[1]}


def counted_work(schedule: str) -> dict[str, int]:
    """What the cores of a launch did, as native/acl/kernel_launch.c writes it; {} of any other schedule."""
    if not schedule.startswith("work "):
        return {}
    return {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", schedule)}
