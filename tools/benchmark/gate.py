"""The regression gate: the ratios of a run to its peers against those of an earlier run.

A ratio has fallen when it lies below the earlier one by more than noise.DEVIATIONS standard errors of the two
together, each run having measured its own (noise.py); it is a regression when it has fallen again in a
second measurement, in new processes and with twice the rounds. Times are never compared, only ratios of
backends that ran side by side, and only of rows that other processes left alone in both runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .noise import Ratio, has_fallen, ratio, typical_error
from .record import Record, verdict
from .results import Results
from .rows import Row


class NotComparable(Exception):
    """The earlier run was made elsewhere, or with other settings."""


@dataclass(frozen=True)
class Change:
    """A ratio of `own` to `peer` that was `before` and is `now`; `fallen` when that is more than noise."""

    row: Row
    own: str
    peer: str
    before: Ratio
    now: Ratio
    fallen: bool


def check_comparable(earlier: Results, machine: Mapping[str, Any], threads: float) -> None:
    """Raises NotComparable when a run on `machine` with so many threads isn't like the earlier one."""
    if earlier.machine != machine:
        raise NotComparable(f"it was measured on {earlier.machine}, this is {machine}")
    if earlier.settings["threads"] != threads:
        raise NotComparable("it was measured with another number of threads")


def changes(rows: Iterable[Row], earlier: Results, current: Results, margin: float = 0.0) -> list[Change]:
    """Every peer of every goal that both runs measured undisturbed. Raises NotComparable."""
    check_comparable(earlier, current.machine, current.settings["threads"])
    typical = _typical_error(earlier), _typical_error(current)
    found = []
    for row in rows:
        records = earlier.records.get(row.name), current.records.get(row.name)
        for own, peer in ((goal.own, peer) for goal in row.goals for peer in goal.peers):
            before, now = (_ratio(record, own, peer) for record in records)
            if before and now:
                fallen = has_fallen(before, now, *typical, margin)
                found.append(Change(row, own, peer, before, now, fallen))
    return found


def confirmed(
    found: list[Change], earlier: Results, again: Callable[[list[Row]], Results], margin: float = 0.0
) -> list[Change]:
    """The ratios that have fallen, and have in a second measurement too; `again` makes it."""
    fallen = {(c.row.name, c.own, c.peer): c.row for c in found if c.fallen}
    rows = list({row.name: row for row in fallen.values()}.values())
    second = changes(rows, earlier, again(rows), margin) if rows else []
    return [c for c in second if c.fallen and (c.row.name, c.own, c.peer) in fallen]


def broken(rows: Iterable[Row], earlier: Results, current: Results) -> list[str]:
    """What worked in the earlier run and doesn't now, in sentences: no result, or a wrong one."""
    found = []
    for row in rows:
        before, now = earlier.records.get(row.name), current.records.get(row.name)
        if before is None or now is None:
            continue
        for goal in row.goals:
            was, is_now = verdict(before, goal), verdict(now, goal)
            if was and goal.own in now.missing:
                found.append(f"{row.name}: {goal.own} had a result, now {now.missing[goal.own]}")
            elif was and is_now and is_now.inaccurate and not was.inaccurate:
                found.append(f"{row.name}: {goal.own} was right, now {is_now.inaccurate}")
    return found


def _ratio(record: Record | None, own: str, peer: str) -> Ratio | None:
    if record is None or record.disturbed or not record.rounds.get(own) or not record.rounds.get(peer):
        return None
    return ratio(record.rounds[peer], record.rounds[own])


def _typical_error(results: Results) -> float:
    """The usual error of the run's ratios."""
    found = [
        r
        for record in results.records.values()
        for own in ("own", "own_bf16", "ascend_in_ort")
        for peer in record.rounds
        if peer.startswith(("ort", "openvino")) and (r := _ratio(record, own, peer))
    ]
    return typical_error(found)
