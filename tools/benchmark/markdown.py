"""The table of the documentation, from the results of a run."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from .noise import LEAST_PAIRED_ERROR
from .record import Excess, Record, Verdict, embedded_excess, verdict, verdicts
from .report import LABELS, excess_text, profile_text, quantity
from .results import Results
from .rows import Goal, Row

#: Where each table stands in docs/benchmarks.md, by the flag that chooses its rows.
SECTIONS = {
    "": ("<!-- bench: written by tools/bench --write-docs -->", "<!-- end of bench -->"),
    "wide": ("<!-- wide: written by tools/bench --wide --write-docs -->", "<!-- end of wide -->"),
    "quantised": (
        "<!-- quantised: written by tools/bench --quantised --write-docs -->",
        "<!-- end of quantised -->",
    ),
}
NOTHING = "–"
LEGEND = """\
A ratio above 1 means that ours is faster than the fastest of onnxruntime (run and io-binding) and OpenVINO
f32, or, in bfloat16, than OpenVINO's default; ✓ where it reaches its goal, ? where other processes disturbed
the measurement. × floor: own time over what bytes,
operations and exponentials take at the rates measured in between. Errors are differences from a run in
float64, relative to the largest magnitude: of own float32 the largest; of bfloat16 the root of the mean
square, beside that of OpenVINO's default, which it must not exceed, and the largest, which is chance and must
not be twice OpenVINO's."""
HEADER = (
    "row | own | onnxruntime | OpenVINO f32 | ratio (goal) | own bf16 | OpenVINO default | ratio (goal) | "
    "in onnxruntime (own beside) | × floor | error | bf16 rms error (OpenVINO's) | largest"
)


def table(rows: Sequence[Row], results: Results) -> str:
    """How it was measured, the timed rows, and the others."""
    timed = [r for r in rows if r.kind == "run" and r.name in results.records]
    others = [r for r in rows if r.kind != "run" and r.name in results.records]
    parts = [_preface(results)]
    if timed:
        parts.append(_markdown(HEADER, (_timed(r, results.records[r.name]) for r in timed)))
        parts += _embedded([results.records[r.name] for r in timed])
        parts += _missed([(r, results.records[r.name]) for r in timed])
    if others:
        parts.append(_markdown("row | own | rival | ratio (goal) | besides", _others(others, results)))
    return "\n\n".join(parts)


def _preface(results: Results) -> str:
    settings, machine = results.settings, results.machine
    libraries = ", ".join(sorted({v for b, v in results.versions.items() if b != "probe"}))
    vectors = ", ".join(machine["vectors"]) or machine["architecture"]
    return f"""{settings["threads"]:.0f} threads, {machine["cpu"]} ({vectors}); {libraries}.
Each backend in a process of its own, slots of {settings["slot"]:g} s in turn, medians over \
{settings["rounds"]:.0f} rounds, each in new processes. {LEGEND}"""


def _markdown(header: str, rows: Iterable[Sequence[str]]) -> str:
    names = [name.strip() for name in header.split("|")]
    lines = [names, ["---", *["---:"] * (len(names) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _timed(row: Row, record: Record) -> list[str]:
    best_ort = min((m for b in ("ort", "ort_bound") if (m := record.median(b)) is not None), default=None)
    single = next((g for g in row.goals if g.own == "own"), None)
    half = next((g for g in row.goals if g.own == "own_bf16"), None)
    floor = _verdict(record, single)
    times = {b: _time(record, b) for b in LABELS}
    error = record.errors.get("own")
    return [
        row.title,
        times["own"],
        NOTHING if best_ort is None else quantity(best_ort, "run"),
        times["openvino"],
        _goal(record, single),
        times["own_bf16"],
        times["openvino_default"],
        _goal(record, half),
        _embedded_time(record),
        f"{floor.floor:.1f}" if floor and floor.floor else NOTHING,
        NOTHING if error is None else f"{error:.0e}",
        _beside_rival(record.rms),
        _beside_rival(record.errors),
    ]


def _embedded_time(record: Record) -> str:
    """Inside onnxruntime, and of the own runtime in that process, if it was timed there."""
    beside = f" ({quantity(statistics.median(record.beside), 'run')})" if record.beside else ""
    return _time(record, "ascend_in_ort") + beside


def _beside_rival(errors: Mapping[str, float]) -> str:
    """The error of own bfloat16, and OpenVINO's default's."""
    own, rival = errors.get("own_bf16"), errors.get("openvino_default")
    return NOTHING if own is None or rival is None else f"{own:.2g} ({rival:.2g})"


def _others(rows: Iterable[Row], results: Results) -> Iterable[list[str]]:
    for row in rows:
        record = results.records[row.name]
        for goal in row.goals:
            found = verdict(record, goal)
            own, peer = record.median(goal.own), record.median(found.peer) if found else None
            rival = f"{LABELS[found.peer]} {quantity(peer, row.kind)}" if found and peer else NOTHING
            if not goal.peers:
                rival = f"at most {goal.least:g} s"
            mine = NOTHING if own is None else quantity(own, row.kind)
            label = f" ({LABELS[goal.own]})" if goal.own != "own" else ""
            yield [row.title, mine + label, rival, _goal(record, goal), _besides(record, found)]


def _besides(record: Record, found: Verdict | None) -> str:
    """The other backends, and the first run of all."""
    shown = (found.goal.own, found.peer) if found else ()
    parts = [f"{LABELS[b]} {_time(record, b)}" for b in LABELS if b in record.rounds and b not in shown]
    first = record.first_runs()
    runs = [f"{LABELS[b]} {quantity(first[b], 'run')}" for b in LABELS if b in first]
    return "; ".join([*parts, *(["first run: " + ", ".join(runs)] if runs else [])])


def _missed(found: Iterable[tuple[Row, Record]]) -> list[str]:
    """Where the rows whose ratio misses a goal spend their time; not those that are only disturbed."""
    lines = [
        f"- {row.title}{' (bf16)' if v.goal.own == 'own_bf16' else ''}: "
        f"{profile_text(record.profiles[v.goal.own])}"
        for row, record in found
        for v in verdicts(row, record)
        if v.ratio.value < v.least and v.goal.own in record.profiles
    ]
    return ["Where the rows below their goal spend their time:\n\n" + "\n".join(lines)] if lines else []


def _embedded(records: Iterable[Record]) -> list[str]:
    """How AscendEP inside onnxruntime keeps to the own runtime's time; nothing where no pair was timed."""
    found = {r.name: e for r in records if (e := embedded_excess(r)) is not None}
    if not found:
        return []
    late = {name: e for name, e in found.items() if e.beyond}
    unclear = {name: e for name, e in found.items() if not e.beyond and not e.within}
    text = (
        f"In stock onnxruntime, {len(found) - len(late) - len(unclear)} of {len(found)} rows take at most "
        "5 % and 4 us longer than in the own runtime"
    )
    if late:
        text += f"; {len(late)} beyond that: {_excesses(late)}"
    if unclear:
        text += f"; {len(unclear)} not decidable at this noise: {_excesses(unclear)}"
    text += (
        ". For this one process opens both on the same inputs, first the one that came second the round "
        "before, and times them in turn, a fiftieth of a second each; the times of both are in the table. "
        "A row counts where the median over rounds of what it takes beyond the bound is further from 0 than "
        f"the standard error of that median (±), at least {100 * LEAST_PAIRED_ERROR:g} % of the time."
    )
    return [text]


def _excesses(found: Mapping[str, Excess]) -> str:
    return ", ".join(f"{name} ({excess_text(e)})" for name, e in found.items())


def _time(record: Record, backend: str) -> str:
    median = record.median(backend)
    return NOTHING if median is None else quantity(median, record.kind)


def _verdict(record: Record, goal: Goal | None) -> Verdict | None:
    return None if goal is None else verdict(record, goal)


def _goal(record: Record, goal: Goal | None) -> str:
    found = _verdict(record, goal)
    if goal is None or found is None:
        return NOTHING if goal is None else f"{NOTHING} ({goal.least:.3g})"
    mark = " ?" if found.disturbed else " ✓" if found.reached else ""
    return f"{found.ratio.value:.2f} ({found.least:.3g}){mark}"
