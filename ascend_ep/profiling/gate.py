"""Whether a bundle is slower or less accurate than the one before: a verdict for others' CI.

The decision lies half way between no slowdown and the largest one allowed: above it the bundle fails,
provided that the interval leaves no doubt that it is slower at all. So a slowdown as large as allowed is
found, and noise is not.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from ascend_ep import atomic_file, regular_file
from ascend_ep.errors import AscendError
from ascend_ep.profiling.interleaved import Comparison, compare
from ascend_ep.runtime.session import InferenceSession

Feeds = dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    """`reason` in a sentence; `error`: the largest difference, relative to the output's largest value."""

    passed: bool
    reason: str
    comparison: Comparison
    error: float
    max_slowdown: float
    max_error: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def judge(
    old: InferenceSession,
    new: InferenceSession,
    feeds: Feeds,
    max_slowdown: float,
    max_error: float,
    seconds: float,
    clock: Any = None,
) -> Verdict:
    """Compares results once, and times for at most so many seconds. Raises AscendError E44006 where the
    bundles' outputs differ in number or shape."""
    error = difference(old.run(None, feeds), new.run(None, feeds))
    boundary = 1 + max_slowdown / 2
    found = compare(
        lambda: old.run(None, feeds),
        lambda: new.run(None, feeds),
        seconds,
        lambda c: c.low > boundary or c.high < boundary,
        *([clock] if clock else []),
    )
    interval = f"({percent(found.low - 1)} to {percent(found.high - 1)})"
    slower = found.ratio > boundary and found.low > 1
    if not error <= max_error:
        reason = f"results differ by {error:.3g}, more than {max_error:g}"
    elif slower:
        reason = f"slower by {percent(found.slowdown)} {interval}"
    elif found.ratio > boundary:
        reason = (
            f"the noise of {percent(found.noise)} hides whether it is slower; --seconds gives it more time"
        )
    else:
        reason = f"{percent(found.slowdown)} {interval}"
    return Verdict(error <= max_error and not slower, reason, found, error, max_slowdown, max_error)


def percent(share: float) -> str:
    return f"{100 * share:+.1f} %"


def difference(old: list[Any], new: list[Any]) -> float:
    """The largest difference of outputs, relative to the largest finite of each; NaN where one has NaN or an
    infinity alone."""
    if len(old) != len(new):
        raise AscendError("E44006", f"{len(old)} outputs and {len(new)}")
    worst = 0.0
    for a, b in zip(old, new, strict=True):
        if a.shape != b.shape:
            raise AscendError("E44006", f"outputs of {list(a.shape)} and {list(b.shape)}")
        x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if not x.size:
            continue
        finite = np.isfinite(x)
        if not np.array_equal(x[~finite], y[~finite], equal_nan=True) or not np.isfinite(y[finite]).all():
            return float("nan")
        gap = float(np.abs(x[finite] - y[finite]).max(initial=0.0))
        scale = float(np.abs(x[finite]).max(initial=0.0))
        worst = max(worst, gap / scale if scale else gap)
    return worst


# --- the recorded baseline ------------------------------------------------------------------------


def record(bundle: Path, target: Path) -> None:
    """Keeps the bundle beside a JSON file that names it. Raises AscendError E40002."""
    kept = target.with_suffix(".om")
    try:
        if kept.resolve() != bundle.resolve():
            atomic_file.copy(bundle, kept)
        atomic_file.write(target, json.dumps({"bundle": kept.name, "of": bundle.name}, indent=2) + "\n")
    except OSError as error:
        raise AscendError("E40002", f"can't write [{target}]: {error.strerror}") from error


def baseline_bundle(path: Path) -> Path:
    """The bundle that a recorded baseline names, or the bundle itself. Raises AscendError E44007, E40002."""
    if path.suffix != ".json":
        return path
    try:
        found = json.loads(regular_file.read(path))["bundle"]
    except OSError as error:
        raise AscendError("E40002", f"can't read [{path}]: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise AscendError("E44007", path) from error
    return path.parent / str(found)


# --- what CI reads --------------------------------------------------------------------------------


def markdown(name: str, verdict: Verdict) -> str:
    c = verdict.comparison
    return "\n".join(
        [
            f"### {'✅' if verdict.passed else '❌'} {name}: {verdict.reason}",
            "",
            "| | baseline | now | ratio | interval | allowed |",
            "|---|---|---|---|---|---|",
            f"| time | {c.old_seconds * 1e6:.1f} us | {c.new_seconds * 1e6:.1f} us | {c.ratio:.4f} "
            f"| {c.low:.4f} to {c.high:.4f} | {1 + verdict.max_slowdown:.4f} |",
            f"| error | | {verdict.error:.3g} | | | {verdict.max_error:g} |",
            "",
            f"{c.rounds} interleaved rounds; noise of a round {100 * c.noise:.2f} %.",
            "",
        ]
    )


def junit(name: str, verdict: Verdict) -> str:
    failure = "" if verdict.passed else f"<failure message={quoteattr(verdict.reason)}/>"
    seconds = verdict.comparison.new_seconds
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name="ascend-prof gate" tests="1" failures="{int(not verdict.passed)}">'
        f'<testcase name={quoteattr(name)} classname="gate" time="{seconds:.9f}">{failure}</testcase>'
        "</testsuite>\n"
    )
