"""Whether rows of a model are independent of those they share a run with: tried, since a graph can hide it.

A softmax over the first dimension or a Reshape that mixes rows looks like any other model from outside.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ascend_ep.runtime.comparison import compare
from ascend_ep.serving.request import Array

from .batch import Run
from .samples import Samples

#: Runs alone that one batch is compared with: the first rows, the last one, and some between.
_COMPARED = 6
#: What every second row is full of, which spreads wherever rows meet.
_STRANGE = (np.nan, 3e4, -np.inf)


class Rows(Enum):
    """What a row of a batch is beside the same row alone."""

    EQUAL = "equal in every bit"
    CLOSE = "different in rounding"
    MIXED = "different"


@dataclass(frozen=True)
class Verdict:
    rows: Rows
    why: str = ""


def check(run: Run, samples: Samples, sizes: Sequence[int], seconds: float) -> Verdict:
    """Runs batches of these sizes, and rows of them alone. The first two sizes are tried whatever the time;
    the others while it lasts."""
    until = time.perf_counter() + seconds
    worst = Verdict(Rows.EQUAL)
    for i, size in enumerate(sizes):
        if i >= 2 and time.perf_counter() > until:
            break
        for strange in (None, *_STRANGE):
            feed = samples.feed(size)
            strangers = np.zeros(size, bool) if strange is None else _make_strange(feed, strange)
            if strange is not None and not strangers.any():
                break
            found = _compare(run, feed, size, strangers)
            if found.rows is Rows.MIXED:
                return found
            worst = found if found.rows is Rows.CLOSE else worst
    return worst


def _compare(run: Run, feed: dict[str, Array], size: int, strangers: NDArray[np.bool_]) -> Verdict:
    """Rows that aren't strangers, in the batch and alone; pairs of rows too."""
    try:
        together = run(feed)
    except Exception as failure:
        return Verdict(Rows.MIXED, f"a batch of {size} fails: {failure}")
    if any(not out.shape or out.shape[0] != size for out in together):
        shapes = [list(out.shape) for out in together]
        return Verdict(Rows.MIXED, f"a batch of {size} rows gives outputs of {shapes}")
    close = Verdict(Rows.EQUAL)
    for first, end in _parts(size):
        if strangers[first:end].any():
            continue
        try:
            alone = run({name: array[first:end] for name, array in feed.items()})
        except Exception as failure:
            return Verdict(Rows.MIXED, f"{end - first} rows alone fail: {failure}")
        for mine, all_rows in zip(alone, together, strict=True):
            theirs = all_rows[first:end]
            if mine.shape == theirs.shape and mine.tobytes() == theirs.tobytes():
                continue
            difference = compare(theirs, mine)
            where = f"row {first} of {size}: {difference}"
            if difference.exceeds:
                return Verdict(Rows.MIXED, where)
            close = Verdict(Rows.CLOSE, where)
    return close


def _parts(size: int) -> list[tuple[int, int]]:
    """Single rows, and two at once, as requests that share a batch may be."""
    step = max(1, (size - 1) // (_COMPARED - 2))
    rows = sorted({*range(0, size, step), size - 1})
    return [(row, row + 1) for row in rows] + ([(size - 2, size)] if size > 2 else [])


def _make_strange(feed: dict[str, Array], value: float) -> NDArray[np.bool_]:
    """Fills every second row of floats; returns which rows these are."""
    strangers = np.zeros(len(next(iter(feed.values()))), bool)
    for array in feed.values():
        if array.dtype.kind not in "iub":
            array[1::2] = value
            strangers[1::2] = True
    return strangers
