"""The regression gate: the ratios of a run to its peers against those of an earlier run.

A ratio has fallen when it lies below the earlier one by more than noise.DEVIATIONS standard errors of the two
together, each run having measured its own (noise.py); it is a regression when it has fallen again in a
second measurement, in new processes and with twice the rounds. Times are never compared, only ratios of
backends that ran side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .noise import Ratio, has_fallen, ratio, typical_error
from .record import Record
from .results import Results
from .rows import Goal, Row


class NotComparable(Exception):
    """The earlier run was made elsewhere, or with other settings."""


@dataclass(frozen=True)
class Fall:
    """A ratio of `own` to `peer` that was `before` and is `now`."""

    row: Row
    goal: Goal
    peer: str
    before: Ratio
    now: Ratio


def falls(rows: Iterable[Row], earlier: Results, current: Results) -> list[Fall]:
    """Every peer of every goal that both runs measured counts. Raises NotComparable."""
    if earlier.machine != current.machine:
        raise NotComparable(f"it was measured on {earlier.machine}, this is {current.machine}")
    if earlier.settings["threads"] != current.settings["threads"]:
        raise NotComparable("it was measured with another number of threads")
    before, now = _typical(earlier), _typical(current)
    return [
        found
        for row in rows
        for goal in row.goals
        for peer in goal.peers
        if (found := _compared(row, goal, peer, earlier, current))
        and has_fallen(found.before, found.now, before, now)
    ]


def confirmed(
    first: list[Fall], earlier: Results, measure_again: Callable[[list[Row]], Results]
) -> list[Fall]:
    """Those of `first` that have fallen in a second measurement too."""
    rows = list({fall.row.name: fall.row for fall in first}.values())
    if not rows:
        return []
    known = {(f.row.name, f.goal.own, f.peer) for f in first}
    again = falls(rows, earlier, measure_again(rows))
    return [f for f in again if (f.row.name, f.goal.own, f.peer) in known]


def _compared(row: Row, goal: Goal, peer: str, earlier: Results, current: Results) -> Fall | None:
    before = _ratio(earlier.records.get(row.name), goal.own, peer)
    now = _ratio(current.records.get(row.name), goal.own, peer)
    return Fall(row, goal, peer, before, now) if before and now else None


def _ratio(record: Record | None, own: str, peer: str) -> Ratio | None:
    if record is None or not record.rounds.get(own) or not record.rounds.get(peer):
        return None
    return ratio(record.rounds[peer], record.rounds[own])


def _typical(results: Results) -> float:
    """The usual error of the run's ratios."""
    own = ("own", "own_bf16", "ascend_in_ort")
    found = [
        r
        for record in results.records.values()
        for mine in own
        for peer in record.rounds
        if peer.startswith(("ort", "openvino")) and (r := _ratio(record, mine, peer))
    ]
    return typical_error(found)
