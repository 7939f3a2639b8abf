"""The tables of a run, in Markdown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from .comparing import Compared
from .compiling import Compiled
from .found import Left


def compile_table(results: Mapping[str, Sequence[Compiled | Left]]) -> str:
    """A row for each folder: how many files compile, and the reasons of the others by class."""
    lines = ["| folder | kernel files | compile | others |", "|---|---|---|---|"]
    for name, rows in results.items():
        tried = [r for r in rows if isinstance(r, Compiled)]
        classes = Counter(r.reason for r in tried if r.reason)
        others = ", ".join(f"{n} {reason}" for reason, n in classes.most_common())
        lines.append(f"| {name} | {len(tried)} | {sum(not r.reason for r in tried)} | {others} |")
    left = Counter(r.reason for rows in results.values() for r in rows if isinstance(r, Left))
    if left:
        lines += ["", "Left: " + ", ".join(f"{n} ({reason})" for reason, n in left.most_common()) + "."]
    return "\n".join(lines)


def reason_table(results: Mapping[str, Sequence[Compiled | Left]]) -> str:
    """What fails, the names that most files lack first."""
    found: dict[tuple[str, str], list[Compiled]] = defaultdict(list)
    for rows in results.values():
        for row in rows:
            if isinstance(row, Compiled) and row.reason:
                found[row.reason, row.detail].append(row)
    lines = ["| reason | what | files | for example |", "|---|---|---|---|"]
    for (reason, detail), group in sorted(found.items(), key=lambda item: -len(item[1])):
        place = f"{group[0].file.path.name} ({Path(group[0].place).name})"
        lines.append(f"| {reason} | `{detail}` | {len(group)} | {place} |")
    return "\n".join(lines)


def value_table(results: Mapping[str, Sequence[Compared]]) -> str:
    """A row for each folder with references: cases that agree, differ, break a rule, or don't run."""
    lines = ["| folder | cases | right | other values | faults | do not run |", "|---|---|---|---|---|---|"]
    for name, rows in results.items():
        counts = Counter(r.outcome for r in rows)
        cells = " | ".join(str(counts[o]) for o in ("right", "differs", "fault", "no run"))
        lines.append(f"| {name} | {len(rows)} | {cells} |")
    return "\n".join(lines)
