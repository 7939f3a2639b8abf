"""Outcomes as a table in markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from model_zoo.outcome import Outcome

COLUMNS = (
    ("model", "---"),
    ("kind", "---"),
    ("our nodes", "---:"),
    ("own runtime", "---:"),
    ("in onnxruntime", "---:"),
    ("float16", "---:"),
    ("conversion", "---:"),
    ("peak, allowed", "---:"),
    ("ratio", "---:"),
)


def table(outcomes: Sequence[Outcome]) -> str:
    """A row for each model. Errors are the largest of the draws; the ratio is the least."""
    head, rule = (f"| {' | '.join(cells)} |" for cells in zip(*COLUMNS, strict=True))
    return "\n".join([head, rule, *(_row(o) for o in outcomes)])


def by_package(outcomes: Sequence[Outcome]) -> str:
    """A row for each package: how many models are good, and the worst of each number."""
    head = ["| package | models | kinds | largest error: own | in onnxruntime | least ratio |"]
    head.append("| --- | ---: | --- | ---: | ---: | ---: |")
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if not outcome.missing:
            found.setdefault(outcome.model.package.partition("==")[0], []).append(outcome)
    return "\n".join([*head, *(_package_row(name, found[name]) for name in sorted(found))])


def _package_row(name: str, outcomes: Sequence[Outcome]) -> str:
    good = sum(not o.failures() for o in outcomes)
    kinds = ", ".join(dict.fromkeys(o.model.kind for o in outcomes))
    ratios = [r.value for o in outcomes for r in o.ratios]
    cells = [
        name,
        f"{len(outcomes)}" if good == len(outcomes) else f"{good} of {len(outcomes)}",
        kinds,
        *(_shown([e for o in outcomes for e in o.errors(step)]) for step in ("own", "inside")),
        f"{min(ratios):.2f}" if ratios else "",
    ]
    return f"| {' | '.join(cells)} |"


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many agree, of how many packages, and a line for each thing that is wrong."""
    tried = [o for o in outcomes if not o.missing]
    failures = [f"{o.model.name}: {text}" for o in tried for text in o.failures()]
    good = sum(not o.failures() for o in tried)
    packages = len({o.model.package for o in tried})
    lines = [f"{good} of {len(tried)} models of {packages} packages: converted, agree, within memory."]
    lines += [f"WRONG {text}" for text in failures]
    lines += sorted({f"not tried: {o.missing}" for o in outcomes if o.missing})
    return "\n".join(lines)


def _row(outcome: Outcome) -> str:
    steps = outcome.steps
    inside, convert = steps.get("inside", {}), steps.get("convert", {})
    taken = f"{inside['nodes'] - inside['left']} of {inside['nodes']}" if "nodes" in inside else ""
    peak = f"{convert['peak'] / 1e6:.0f} MB, {outcome.memory_limit / 1e6:.0f} MB" if "peak" in convert else ""
    cells = [
        outcome.model.name,
        outcome.model.kind,
        taken,
        _error(outcome, "own"),
        _error(outcome, "inside"),
        _error(outcome, "own_default") if {"convert_default", "own_default"} & steps.keys() else "",
        f"{convert['seconds']:.1f} s" if "seconds" in convert else "",
        peak,
        f"{min(r.value for r in outcome.ratios):.2f}" if outcome.ratios else "",
    ]
    return f"| {' | '.join(cells)} |"


def _error(outcome: Outcome, step: str) -> str:
    return _shown(outcome.errors(step))


def _shown(errors: Sequence[float]) -> str:
    if not errors:
        return "fails"
    worst = max(errors)
    return f"{worst:.0e}" if math.isfinite(worst) else "differs"
