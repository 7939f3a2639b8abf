"""kernel.csv: metrics of a profile beside what is wanted of them: `msprof --analyze=kernel`.

Compute efficiency and bandwidth are of this machine, as it was measured; what isn't counted here is N/A. Of a
profile that a chip made, they are what its counters say, weighted by the time of the tasks.
"""

from __future__ import annotations

from pathlib import Path

from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.msprof_files import ABSENT, Row, write_table
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.roofline import busy_shares
from ascend_ep.profiling.tables import by_node, by_type

HEADER = ["Metric", "Value", "Ideal", "Source"]


def metrics(profile: Profile, machine: Machine) -> list[Row]:
    return _of_chip(profile) if profile.of_chip else _of_machine(profile, machine)


def _of_chip(profile: Profile) -> list[Row]:
    busy, rows = busy_shares(profile), by_type(profile)

    def share(unit: str) -> str:
        """Of the time of all tasks whose cores have the unit and count it."""
        counted = [
            (row, units[unit])
            for row in by_node(profile)
            if unit in (units := busy.get((row.name, row.kernel), {}))
        ]
        seconds = sum(row.seconds for row, part in counted if part)
        return (
            f"{100 * sum(row.seconds * part for row, part in counted) / seconds:.1f}%" if seconds else ABSENT
        )

    cycles = "msprof's counters: of the cycles of the tasks that use the unit"
    moved, seconds = sum(row.bytes for row in rows), sum(row.seconds for row in rows)
    bandwidth = f"{moved / seconds / 1e9:.1f} GB/s" if moved and seconds else ABSENT
    return [
        ["AICORE Compute Efficiency", share("mac"), ">60%", cycles],
        ["L2 Cache Hit Rate", ABSENT, ">85%", "not in these tables"],
        ["Vector Compute Ratio", share("vec"), ">90%", cycles],
        ["Memory Bandwidth Used", bandwidth, ABSENT, "operands by their shapes, over the tasks' time"],
    ]


def _of_machine(profile: Profile, machine: Machine) -> list[Row]:
    rows = [row for row in by_type(profile) if row.work]
    seconds = sum(row.seconds for row in rows) or 1e-9
    products = sum(row.work.products for row in rows if row.work)
    functions = sum(row.work.functions for row in rows if row.work)
    busy = products / machine.products + functions / machine.functions
    vector = sum(row.seconds for row in rows if row.core != "AI_CORE" and row.work and row.work.operations)
    moving = sum(row.seconds for row in rows if row.core != "AI_CORE")
    moved = sum(row.bytes for row in rows)
    measured = "measured on this CPU"
    return [
        ["AICORE Compute Efficiency", f"{100 * busy / seconds:.1f}%", ">60%", f"{measured}, of its own peak"],
        ["L2 Cache Hit Rate", _hit_rate(profile), ">85%", "counters of this CPU, where it has them"],
        [
            *("Vector Compute Ratio", f"{100 * vector / moving:.1f}%" if moving else ABSENT, ">90%"),
            f"{measured}: time of calls that compute, of all but products",
        ],
        [
            *(
                "Memory Bandwidth Used",
                f"{moved / seconds / 1e9:.1f} GB/s",
                f"{machine.bytes / 1e9:.0f} GB/s",
            ),
            f"{measured}; ideal is what it attains from memory",
        ],
    ]


def _hit_rate(profile: Profile) -> str:
    references = misses = 0
    for process in profile.processes:
        names = process.counters
        if {"cache_references", "cache_misses"} <= set(names) and len(process.counts):
            references += int(process.counts[:, names.index("cache_references")].sum())
            misses += int(process.counts[:, names.index("cache_misses")].sum())
    return f"{100 * (1 - misses / references):.1f}%" if references else ABSENT


def write_kernel_csv(profile: Profile, machine: Machine, folder: Path) -> Path:
    """Writes kernel.csv into the folder. Raises AscendError E40002."""
    return write_table(folder / "kernel.csv", HEADER, metrics(profile, machine))
