"""What became of a mistake: named at its line, named elsewhere, seen in the values alone, or not seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ascend_ep.opbuild.ascendc.call_request import Answer
from ascend_ep.opbuild.kernels.arrays import Array, difference

from .batch import place_of
from .mistakes import Mistake, names_of

#: named: at its line, or one that works on the same, also where the fault of another line names that.
#: elsewhere: at another line. placeless: named without a line. advice: no error, and advice that the kernel
#: itself doesn't get. values: no rule is broken, and the outputs differ. unreached: the call doesn't get to
#: the line.
Outcome = Literal["named", "placeless", "elsewhere", "ended", "advice", "values", "unreached", "unseen"]


@dataclass(frozen=True)
class Expected:
    """What outputs should be, as the flags of the call say it."""

    outputs: Sequence[Array]
    said_by: str

    def refusal(self, answer: Answer) -> str:
        """How the first output that differs does so; "" if none does."""
        for i, (made, right) in enumerate(zip(answer.outputs, self.outputs, strict=False)):
            if made.shape != right.shape:
                return f"output {i} has the shape {list(made.shape)}, {self.said_by} {list(right.shape)}"
            found = difference(made, right)
            if found.beyond:
                return f"output {i} differs from {self.said_by}: {found}"
        return ""


@dataclass(frozen=True)
class Judged:
    """said: the first fault, or how the process ended."""

    mistake: Mistake
    outcome: Outcome
    said: str = ""

    @property
    def is_missed(self) -> bool:
        """Whether a rule is broken and nothing names it."""
        return self.mistake.is_rule and self.outcome in ("unseen", "values")


def judged(
    mistake: Mistake, answer: Answer | str, right: Answer, is_reached: bool, expected: Expected | None = None
) -> Judged:
    """right: the answer of the kernel without the mistake. expected: what its outputs are held to instead."""
    if isinstance(answer, str):
        place = place_of(answer)
        return Judged(mistake, "named" if place and place[1] == mistake.line else "ended", answer)
    faults = [line for line in answer.lines if not line.startswith("advice")]
    if faults:
        return Judged(mistake, _where(mistake, faults), faults[0])
    refusal = expected.refusal(answer) if expected else ""
    same = not refusal if expected else _is_same(answer, right)
    advice = [line for line in answer.lines if line.startswith("advice") and not _known(line, right)]
    if same and advice:
        return Judged(mistake, "advice", advice[0])
    if same:
        return Judged(mistake, "unseen" if is_reached else "unreached")
    return Judged(mistake, "values", refusal)


def _is_same(answer: Answer, right: Answer) -> bool:
    return all(
        np.array_equal(a, b, equal_nan=a.dtype.kind in "fV" and a.dtype != bool)
        for a, b in zip(answer.outputs, right.outputs, strict=True)
    )


def _known(advice: str, right: Answer) -> bool:
    """Whether the kernel as it stands gets advice of this kind."""
    kind = advice.partition("[")[2].partition("]")[0]
    return any(f"[{kind}]" in line for line in right.lines)


def _where(mistake: Mistake, faults: Sequence[str]) -> Outcome:
    lines = mistake.text.splitlines()
    found: Outcome = "placeless"
    for fault in faults:
        place = place_of(fault)
        if place is None:
            continue
        shown = lines[place[1] - 1] if place[1] <= len(lines) else ""
        if place[1] == mistake.line or names_of(shown) & mistake.names or _flags(shown) & _flags(mistake.was):
            return "named"
        named = re.search(r"\(line (\d+)\)|, line (\d+)\)", fault)
        if named and names_of(lines[int(named[1] or named[2]) - 1]) & mistake.names:
            return "named"
        if mistake.far and re.search(rf"\[(?:{mistake.far})\]", fault):
            return "named"
        found = "elsewhere"
    return found


def _flags(line: str) -> set[str]:
    return {word for word in ("Flag<", "SyncAll", "CrossCore") if word in line}
