"""The records as text and as the README's table."""

from __future__ import annotations

from collections.abc import Sequence

from .record import Record, Verdict, verdicts
from .rows import Row

LABELS = {
    "ort": "onnxruntime",
    "ort_bound": "onnxruntime, bound",
    "ort_prepacked": "onnxruntime, prepacked",
    "openvino": "OpenVINO f32",
    "openvino_default": "OpenVINO default",
    "ascend_in_ort": "AscendEP in onnxruntime",
    "own": "own",
    "own_bound": "own, bound",
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


def verdict_text(found: Verdict) -> str:
    goal = found.goal
    against = f"{found.ratio.value:.2f} of {LABELS[found.peer]}" if found.peer else f"{found.ratio.value:.2f}"
    text = f"{LABELS[goal.own]} {against} ±{100 * found.ratio.error:.0f}%, goal {found.least:.2f}"
    text += " reached" if found.reached else " NOT REACHED"
    if found.floor:
        text += f", {found.floor:.1f}× floor"
    return text + (f" ({found.inaccurate})" if found.inaccurate else "")


def line(row: Row, record: Record) -> str:
    """A row's times, verdicts and what is missing."""
    times = [f"{LABELS[b]} {quantity(m, row.kind)}" for b in LABELS if (m := record.median(b)) is not None]
    parts = [f"{row.name}: " + ", ".join(times)]
    if row.kind in ("load", "session"):
        runs = (f"{LABELS[b]} {quantity(record.first[b], 'run')}" for b in LABELS if b in record.first)
        parts.append("    and the first run: " + ", ".join(runs))
    parts += [f"    {verdict_text(v)}" for v in verdicts(row, record)]
    parts += [f"    {LABELS[b]}: not available, {reason}" for b, reason in record.missing.items()]
    return "\n".join(parts)


def summary(rows: Sequence[Row], records: Sequence[Record]) -> str:
    found = [v for row, record in zip(rows, records, strict=True) for v in verdicts(row, record)]
    asked = sum(len(row.goals) for row in rows)
    return f"{sum(v.reached for v in found)} of {asked} goals reached, {asked - len(found)} not measured"
