"""The records as text."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from .gate import Change
from .quiet import DISTURBED
from .record import Excess, Record, Verdict, embedded_excess, verdicts
from .results import Results
from .rows import Row

LABELS = {
    "ort": "onnxruntime",
    "ort_bound": "onnxruntime bound",
    "ort_prepacked": "onnxruntime prepacked",
    "openvino": "OpenVINO f32",
    "openvino_default": "OpenVINO default",
    "ascend_in_ort": "AscendEP in onnxruntime",
    "own": "own",
    "own_bound": "own bound",
    "own_bf16": "own bf16",
}


def quantity(value: float, kind: str) -> str:
    """Seconds in the unit that suits them, or bytes in MB."""
    if kind == "memory":
        return f"{value / 1e6:.0f} MB"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def excess_text(found: Excess) -> str:
    """With its sign, and the error of the median."""
    sign = "-" if found.seconds < 0 else "+"
    return f"{sign}{quantity(abs(found.seconds), 'run')} ± {quantity(found.error, 'run')}"


def verdict_text(found: Verdict) -> str:
    goal = found.goal
    against = f"{found.ratio.value:.2f} of {LABELS[found.peer]}" if found.peer else f"{found.ratio.value:.2f}"
    text = f"{LABELS[goal.own]} {against} ±{100 * found.ratio.error:.0f}%, goal {found.least:.2f}"
    text += " unclear" if found.disturbed else " reached" if found.reached else " NOT REACHED"
    if found.floor:
        text += f", {found.floor:.1f}× floor"
    return text + (f" ({found.inaccurate})" if found.inaccurate else "")


def line(row: Row, record: Record) -> str:
    """A row's times, verdicts and what is missing."""
    times = [f"{LABELS[b]} {quantity(m, row.kind)}" for b in LABELS if (m := record.median(b)) is not None]
    parts = [f"{row.name}: " + ", ".join(times)]
    if row.kind in ("load", "session"):
        first = record.first_runs()
        runs = (f"{LABELS[b]} {quantity(first[b], 'run')}" for b in LABELS if b in first)
        parts.append("    and the first run: " + ", ".join(runs))
    parts += [f"    {verdict_text(v)}" for v in verdicts(row, record)]
    for name, found in (("error", record.errors), ("rms error", record.rms)):
        if found:
            parts.append(
                f"    {name}: " + ", ".join(f"{LABELS[b]} {found[b]:.1e}" for b in LABELS if b in found)
            )
    excess = embedded_excess(record)
    if excess is not None and not excess.within:
        said = "is beyond" if excess.beyond else "may be beyond"
        parts.append(f"    AscendEP in onnxruntime {said} 5% and 4 us of own: {excess_text(excess)}")
    for backend, shares in record.profiles.items():
        parts.append(f"    {LABELS[backend]} spends {profile_text(shares)}")
    busy = sum(share > DISTURBED for share in record.foreign)
    if busy:
        parts.append(f"    {busy} of {len(record.foreign)} slots were disturbed by other processes")
    parts += [f"    {LABELS[b]}: not available, {reason}" for b, reason in record.missing.items()]
    return "\n".join(parts)


def profile_text(shares: Mapping[str, float]) -> str:
    """The kernels that take most of a run."""
    return ", ".join(f"{100 * s:.0f}% {name}" for name, s in list(shares.items())[:5] if s >= 0.005)


def change_text(change: Change) -> str:
    before, now = change.before, change.now
    return (
        f"{change.row.name}: {LABELS[change.own]} was {before.value:.2f} ±{100 * before.error:.0f}% of "
        f"{LABELS[change.peer]}, is {now.value:.2f} ±{100 * now.error:.0f}%"
    )


def summary(rows: Sequence[Row], results: Results) -> str:
    found = [v for row in rows for v in verdicts(row, results.records[row.name])]
    asked = sum(len(row.goals) for row in rows)
    unclear = sum(v.disturbed for v in found)
    text = (
        f"{sum(v.reached for v in found)} of {asked} goals reached, {unclear} unclear on a busy machine, "
        f"{asked - len(found)} not measured"
    )
    for own in dict.fromkeys(v.goal.own for v in found if v.peer):
        ratios = [v.ratio.value for v in found if v.goal.own == own and v.peer]
        text += (
            f"; {LABELS[own]}: geometric mean {statistics.geometric_mean(ratios):.2f} of {len(ratios)} rows"
        )
    return text
