"""What came of the programs, as lines and as a page's table."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from acl_programs.reference import Comparison
from acl_programs.trial import Outcome


def keep(file: Path, outcome: Outcome) -> None:
    """Adds it to the file, a line of JSON."""
    with file.open("a") as out:
        out.write(json.dumps(dataclasses.asdict(outcome)) + "\n")


def read(file: Path) -> dict[str, Outcome]:
    """Outcomes of programs by name."""
    if not file.exists():
        return {}
    rows = [json.loads(row) for row in file.read_text().splitlines()]
    for row in rows:
        row["comparison"] = Comparison(**row["comparison"]) if row["comparison"] else None
    return {row["name"]: Outcome(**row) for row in rows}


def agreed(outcome: Outcome) -> str:
    found = outcome.comparison
    if found is None or not found.executions:
        return "-"
    if found.agreed:
        return f"{found.worst:.0e}" if found.worst else "every bit"
    return "no"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def line(o: Outcome) -> str:
    runs = o.comparison.executions if o.comparison else 0
    steps = f"built {_yes(o.built)}, ran {_yes(o.ran)} ({runs} executions), agreed {agreed(o)}"
    return f"{o.name}: {steps}, printed {o.shown}  {o.reason}"


def counts(outcomes: list[Outcome]) -> str:
    said = []
    for language in sorted({o.language for o in outcomes}):
        of = [o for o in outcomes if o.language == language]
        built, ran = sum(o.built for o in of), sum(o.ran for o in of)
        same = sum(agreed(o) not in ("-", "no") for o in of)
        shown = sum(o.shown == "yes" for o in of)
        said.append(
            f"{language}: {len(of)} programs, {built} built, {ran} ran, {same} agreed, {shown} printed it"
        )
    return "\n".join(said)


def markdown(outcomes: list[Outcome]) -> str:
    rows = ["| program | language | built | ran | agreed | printed | reason |", "|---" * 7 + "|"]
    for o in outcomes:
        name, reason = o.name.rsplit("/", 1)[-1], o.reason.replace("|", "/")
        steps = f"{_yes(o.built)} | {_yes(o.ran)} | {agreed(o)} | {o.shown}"
        rows.append(f"| {name} | {o.language} | {steps} | {reason} |")
    return "\n".join([*rows, "", counts(outcomes)])
