"""A run as JSON, as lines, and as the documentation's table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.noise import ratio

from .cases import CASES
from .load import Slot
from .measure import Slots
from .servers import SERVERS

START, END = "<!-- serving: written by tools/bench_serving --write-docs -->", "<!-- end of serving -->"
#: Of ours: the form, the rival, its form; and how many times its rate ours has to be. One process of ours is
#: not held to twice what two processes of a rival do.
PAIRS = (
    ("v2 binary", "fastapi", "raw", 2.0),
    ("v2 binary", "fastapi2", "raw", 1.0),
    ("v2 json", "fastapi", "v2 json", 2.0),
    ("v2 json", "fastapi2", "v2 json", 1.0),
    ("v2 json", "mlserver", "v2 json", 2.0),
    ("v2 binary", "mlserver", "v2 base64", 2.0),
    ("v2 binary", "triton", "v2 binary", 2.0),
    ("v2 json", "triton", "v2 json", 2.0),
)
TITLES = {server.name: server.title for server in SERVERS}


@dataclass
class Results:
    """What was measured, on what, and with which versions."""

    machine: dict[str, Any]
    settings: dict[str, float]
    versions: dict[str, str]
    slots: Slots = field(default_factory=dict)

    def save(self, path: Path) -> None:
        rows = [
            {"server": server, "form": form, "case": case, "rounds": [slot.as_json() for slot in slots]}
            for (server, form, case), slots in self.slots.items()
        ]
        found = {"machine": self.machine, "settings": self.settings, "versions": self.versions, "rows": rows}
        path.write_text(json.dumps(found, indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Results:
        found = json.loads(path.read_text())
        slots = {
            (row["server"], row["form"], row["case"]): [Slot(**slot) for slot in row["rounds"]]
            for row in found["rows"]
        }
        return cls(found["machine"], found["settings"], found["versions"], slots)

    def median(self, server: str, form: str, case: str, what: str) -> float | None:
        slots = self.slots.get((server, form, case))
        return statistics.median(getattr(slot, what) for slot in slots) if slots else None


@dataclass(frozen=True)
class Verdict:
    """How many times the rival's answers per second ours are (median of the rounds), and whether the 99th
    percentile of latency is no worse."""

    case: str
    form: str
    rival: str
    rival_form: str
    times: float
    least: float
    tail: bool

    @property
    def reached(self) -> bool:
        return self.times >= self.least and self.tail


def verdicts(results: Results) -> Iterator[Verdict]:
    """Of all pairs that were measured."""
    for case in CASES:
        for form, rival, rival_form, least in PAIRS:
            ours = results.slots.get(("ascend", form, case.name))
            theirs = results.slots.get((rival, rival_form, case.name))
            if ours and theirs:
                times = ratio([slot.rate for slot in ours], [slot.rate for slot in theirs]).value
                tail = ratio([slot.p99 for slot in theirs], [slot.p99 for slot in ours]).value >= 1
                yield Verdict(case.name, form, rival, rival_form, times, least, tail)


def errors(results: Results) -> int:
    """Answers that were no success."""
    return sum(slot.errors for slots in results.slots.values() for slot in slots)


def lines(results: Results) -> Iterator[str]:
    """The run for a terminal."""
    for (server, form, case), slots in results.slots.items():
        middle: Mapping[str, float] = {
            name: statistics.median(getattr(slot, name) for slot in slots) for name in Slot.__annotations__
        }
        yield (
            f"{case:6} {TITLES[server]:20} {form:10} {middle['rate']:9.0f}/s  p50 {_time(middle['p50']):>8}  "
            f"p99 {_time(middle['p99']):>8}  {_time(middle['cpu']):>8} of CPU each  "
            f"wrk {middle['generator']:.2f} of a core"
        )
    for v in verdicts(results):
        tail = "" if v.tail else ", p99 worse"
        yield (
            f"{v.case:6} ascend-serve {v.form} / {TITLES[v.rival]} {v.rival_form}: {v.times:.2f}x{tail}"
            f"{'' if v.reached else '  BELOW THE GOAL'}"
        )
    yield f"{errors(results)} errors"


def table(results: Results) -> str:
    """The documentation's: a line for each server and form, its rates, latencies, and ours as a multiple."""
    found = {(v.rival, v.rival_form, v.case): v for v in verdicts(results)}
    sizes = " | ".join(f"{case.title}: requests/s | p50 | p99 | ours" for case in CASES)
    rows = [f"| server, form of the tensor | {sizes} |", "| --- |" + " ---: |" * 4 * len(CASES)]
    for server in SERVERS:
        for form in server.forms:
            cells = [f"{server.title}, {form}"]
            for case in CASES:
                rate, p50, p99 = (
                    results.median(server.name, form, case.name, w) for w in ("rate", "p50", "p99")
                )
                if rate is None or p50 is None or p99 is None:
                    cells += ["–"] * 4
                    continue
                verdict = found.get((server.name, form, case.name))
                times = f"{verdict.times:.1f}×{' ✓' if verdict.reached else ''}" if verdict else ""
                cells += [f"{rate:,.0f}", _time(p50), _time(p99), times]
            rows.append("| " + " | ".join(cells) + " |")
    return f"{_preface(results)}\n\n" + "\n".join(rows)


def _preface(results: Results) -> str:
    machine, settings = results.machine, results.settings
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items() if version)
    return f"""{machine["cpu"]}, {machine["cpus"]} cores for server and load together; {versions}.
wrk, {settings["connections"]:.0f} keep-alive connections, each waiting for its answer; slots of \
{settings["seconds"]:.0f} s in turn, {settings["rounds"]:.0f} rounds, medians; {errors(results)} errors, \
load average {settings.get("load", 0):.1f} at the end.
Ours: how many times the row's requests per second one process of `ascend-serve` answers with the same kind
of tensor (✓: at least 2, or 1 beside two processes, and p99 no worse)."""


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"
