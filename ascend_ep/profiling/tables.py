"""A profile as tables in a terminal: where the time went, by operator and by node, with bars."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ascend_ep.cann.chip_rates import ChipRates
from ascend_ep.profiling import chip_model
from ascend_ep.profiling.profile import Profile, Site
from ascend_ep.profiling.work import Work

BAR = 20
SLOWEST = 10
#: The share of the runs outside of kernels from which on the tables say what it is.
OUTSIDE = 0.03


@dataclass
class Row:
    """What calls of one kind took: seconds in all, and of a call; bytes and operations of all calls; of a
    chip, `kernel` is the kind of core. `schedules`: the seconds that calls of each schedule took.
    `usual`: seconds in all if each call took the median of its kind, as without neighbours. `model`: of the
    first of them."""

    name: str
    kernel: str
    core: str
    calls: int
    seconds: float
    least: float
    most: float
    bytes: int
    work: Work | None
    usual: float = 0.0
    schedules: dict[str, float] = field(default_factory=dict)
    model: str = ""

    @property
    def mean(self) -> float:
        return self.seconds / self.calls

    @property
    def gigabytes(self) -> float:
        """A second, in GB."""
        return self.bytes / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def gigaops(self) -> float | None:
        if self.work is None:
            return None
        return self.work.operations / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def schedule(self) -> str:
        """What the calls chose; of several schedules their forms, that which took longest first."""
        found = sorted(filter(None, self.schedules), key=lambda s: -self.schedules[s])
        if len(found) < 2:
            return "".join(found)
        forms = dict.fromkeys(schedule.split(" ")[0] for schedule in found)
        return f"{', '.join(forms)} ({len(found)} schedules)"

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kernel": self.kernel,
            "schedule": self.schedule,
            "core": self.core,
            "calls": self.calls,
            "seconds": self.seconds,
            "mean": self.mean,
            "least": self.least,
            "most": self.most,
            "bytes": self.bytes,
            "operations": self.work.operations if self.work else None,
        }


def by_type(profile: Profile) -> list[Row]:
    """By operator type and kernel, the longest first; host partitions are a type of their own."""
    return _rows(profile, lambda site: (site.op_type, site.call.kernel))


def by_node(profile: Profile) -> list[Row]:
    """By node of each model."""
    return _rows(profile, lambda site: (site.name, site.call.kernel, site.bound.model))


def _rows(profile: Profile, key: Any) -> list[Row]:
    rows: dict[tuple[str, ...], Row] = {}
    for site, spent in profile.sums:
        _add(rows, key(site), site, spent)
    for _, span in profile.host_spans():
        seconds = (span.end - span.start) / 1e9
        row = rows.setdefault(
            ("HostPartition", span.name),
            Row("HostPartition", span.name, "AI_CPU", 0, 0.0, seconds, seconds, 0, None),
        )
        row.calls += 1
        row.seconds += seconds
        row.usual += seconds
        row.least, row.most = min(row.least, seconds), max(row.most, seconds)
    return sorted(rows.values(), key=lambda row: -row.seconds)


def _add(rows: dict[tuple[str, ...], Row], key: tuple[str, ...], site: Site, spent: Any) -> None:
    seconds, count = spent.astype(np.float64) / 1e9, len(spent)
    whole, schedule = float(seconds.sum()), site.call.schedule
    moved = (site.call.bytes_read + site.call.bytes_written) * count
    work = site.work and Work(
        site.work.products * count, site.work.vector * count, site.work.functions * count
    )
    least, most = float(seconds.min()), float(seconds.max())
    usual = float(np.median(seconds)) * count
    row = rows.get(key)
    if row is None:
        chosen = {schedule: whole}
        sizes = (count, whole, least, most, moved, work, usual)
        rows[key] = Row(key[0], key[1], site.core, *sizes, chosen, site.bound.model)
        return
    row.calls += count
    row.seconds += whole
    row.schedules[schedule] = row.schedules.get(schedule, 0.0) + whole
    row.usual += usual
    row.least, row.most = min(row.least, least), max(row.most, most)
    row.bytes += moved
    row.work = row.work + work if row.work and work else None


def summary(profile: Profile) -> dict[str, Any]:
    """Everything that the tables show, as numbers in seconds."""
    wall = profile.wall_ns / 1e9
    counters: dict[str, int] = {}
    for process in profile.processes:
        for i, name in enumerate(process.counters if len(process.counts) else ()):
            counters[name] = counters.get(name, 0) + int(process.counts[:, i].sum())
    times = [p.queue_ns for p in profile.processes]
    queued = np.concatenate([t[t >= 0] for t in times])
    return {
        "folder": str(profile.folder),
        "processes": [
            {"pid": p.pid, "command": p.command, "isa": p.isa, "complete": p.complete, "lost": p.lost}
            for p in profile.processes
        ],
        "runs": sum(len(p.runs) for p in profile.processes),
        "calls": sum(len(p.calls) for p in profile.processes),
        "wall": wall,
        "kernels": profile.kernel_ns / 1e9,
        "queued": {"runs": len(queued), "seconds": queued.sum() / 1e9, "most": queued.max(initial=0) / 1e9},
        "counters": counters,
        "absent_counters": sorted({name for p in profile.processes for name in p.absent_counters}),
        "operators": [row.as_json() for row in by_type(profile)],
        "nodes": [row.as_json() for row in by_node(profile)[:SLOWEST]],
    }


def text(profile: Profile, colour: bool = False, rates: ChipRates | None = None) -> str:
    """The tables; with `rates`, what a model of that chip says."""
    total = profile.wall_ns / 1e9 or 1e-9
    operators = by_type(profile)
    kernel = "core" if profile.of_chip else "kernel"
    lines = [*_head(profile), "", *table(operators, total, "operator", colour, kernel)]
    in_rows = sum(row.seconds for row in operators)
    outside = "between tasks" if profile.of_chip else "outside kernels"
    lines.append(_line(outside, "", "", "", total - in_rows, total, None, colour))
    if not profile.of_chip:
        lines += _outside(profile, total - in_rows, total)
    nodes = by_node(profile)[:SLOWEST]
    lines += ["", "slowest nodes:", *table(nodes, total, "node", colour, kernel)]
    if rates is not None:
        lines += ["", *chip_model.lines(profile, rates)]
    return "\n".join(lines)


def _outside(profile: Profile, seconds: float, total: float) -> list[str]:
    """What the time outside of kernels is, where it is more than OUTSIDE of the runs."""
    calls = sum(len(p.calls) for p in profile.processes)
    if not calls or seconds <= OUTSIDE * total:
        return []
    return [
        f"outside kernels: starting runs and calls, and recording them, {duration(seconds / calls)} a call;",
        "calls as short as these have less of it as fewer and larger ones: a batch, fused operators",
    ]


def _head(profile: Profile) -> list[str]:
    found = summary(profile)
    count = len(profile.processes)
    lines = [f"{found['folder']}"]
    if profile.of_chip:
        tasks, wall = found["calls"], duration(found["wall"])
        lines.append(
            f"{count} device{'s' * (count != 1)}, {tasks} task{'s' * (tasks != 1)}, "
            f"{wall} in steps on their streams"
        )
        return lines
    lines.append(
        f"{count} process{'es' * (count != 1)}, {found['runs']} runs, "
        f"{found['calls']} kernel calls, {duration(found['wall'])} in runs"
    )
    if queued := found["queued"]["runs"]:
        mean, most = found["queued"]["seconds"] / queued, found["queued"]["most"]
        lines.append(
            f"{queued} runs came by a queue: {duration(mean)} in it on average, {duration(most)} at most"
        )
    for process in profile.processes:
        if process.lost:
            lines.append(f"process {process.pid}: {process.lost} runs lost, for which there was no room")
        if not process.complete:
            lines.append(f"process {process.pid} was killed: its last half second may be missing")
    if found["counters"]:
        lines.append("counted: " + ", ".join(f"{n} {c:,}" for n, c in found["counters"].items()))
    if found["absent_counters"]:
        lines.append("not counted on this machine: " + ", ".join(found["absent_counters"]))
    return lines


def table(
    rows: Sequence[Row], total: float, title: str, colour: bool = False, kernel: str = "kernel"
) -> list[str]:
    """Lines of a table with its head; shares are of `total` seconds."""
    head = (
        f"{title:28} {kernel:18} {'calls':>8} {'mean':>10} {'total':>10} {'share':>6} "
        f"{'':{BAR}} {'GB/s':>7} {'GOP/s':>8} {'schedule' * any(row.schedule for row in rows)}"
    ).rstrip()
    lines = [head]
    for row in rows:
        lines.append(
            _line(row.name, row.kernel, str(row.calls), duration(row.mean), row.seconds, total, row, colour)
        )
    return lines


def _line(
    name: str, kernel: str, calls: str, mean: str, seconds: float, total: float, row: Row | None, colour: bool
) -> str:
    share = max(0.0, min(1.0, seconds / total))
    eighths = round(share * BAR * 8)
    full, rest = divmod(eighths, 8)
    bar = "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")
    shown = f"{bar:{BAR}}"
    if colour:
        shown = f"\x1b[3{1 if share > 0.5 else 3 if share > 0.2 else 2}m{shown}\x1b[0m"
    rates = ""
    if row is not None and row.bytes:
        operations = f"{row.gigaops:8.1f}" if row.gigaops else f"{'':8}"
        rates = f"{row.gigabytes:7.1f} {operations} {row.schedule}"
    line = (
        f"{shorten(name, 28):28} {shorten(kernel, 18):18} {calls:>8} {mean:>10} {duration(seconds):>10} "
        f"{100 * share:5.1f}% {shown} {rates}"
    )
    return line.rstrip()


def shorten(name: str, room: int) -> str:
    """The end of a long name says more than its beginning."""
    return name if len(name) <= room else "…" + name[-(room - 1) :]


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def as_json(profile: Profile, rates: ChipRates | None = None) -> str:
    found = summary(profile)
    if rates is not None:
        found["model"] = {
            "chip": rates.soc.name,
            "operators": [
                {"model": model, "name": name, "core": core, "least_seconds": seconds}
                for (model, name, core), seconds in chip_model.totals(profile, rates).items()
            ],
        }
    return json.dumps(found, indent=2, ensure_ascii=False)
