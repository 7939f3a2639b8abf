"""Durations of slices that stay in order when a reader of a timeline rounds their starts.

Perfetto makes a double of a start, a text of microseconds: since 1970 a multiple of a quarter. Durations it
keeps to the nanosecond, so that slices of a thread that touch each other overlap, and it drops them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
#: Rows whose numbers are objects of Python at a time.
AT_ONCE = 1 << 14


def rounded(starts: Numbers) -> Numbers:
    """Nanoseconds as Perfetto's trace processor 56 takes them from a text of microseconds: whole
    microseconds exactly, others as a double of nanoseconds."""
    whole, rest = np.divmod(starts, 1000)
    read = whole + rest / 1000  # rounded once, as the text is
    return np.where(
        read == np.floor(read), read.astype(np.int64) * 1000, np.rint(read * 1000).astype(np.int64)
    )


def as_numbers(places: Numbers, *columns: NDArray[Any]) -> Iterator[tuple[int, ...]]:
    """Each place with the numbers there as Python has them, some at a time: they take much room."""
    for at in range(0, len(places), AT_ONCE):
        part = places[at : at + AT_ONCE]
        yield from zip(part.tolist(), *(column[part].tolist() for column in columns), strict=True)


def ordered_durations(lanes: Numbers, starts: Numbers, durations: Numbers) -> Numbers:
    """The durations, shortened by up to a rounding where slices of a lane that nest in each other or follow
    each other would overlap, to readers that round starts or to those that don't. In the given order."""
    ends = starts + durations
    seen = rounded(starts)
    least: Numbers = np.minimum(durations, rounded(ends) - seen)
    found = least.copy()
    order = np.lexsort((-ends, starts, lanes))
    around: list[tuple[int, int]] = []  # ends of the slices around this one, to either reader
    last = -1
    for i, lane, start, begins, spent in as_numbers(order, lanes, starts, seen, least):
        if lane != last:
            last, around = lane, []
        # What no reader sees around this slice ended before it.
        while around and around[-1][0] <= start and around[-1][1] <= begins:
            around.pop()
        fits = spent
        for end, seen_end in around:
            if start < end:
                fits = min(fits, end - start)
            if begins < seen_end:
                fits = min(fits, seen_end - begins)
        found[i] = fits
        around.append((start + fits, begins + fits))
    return found
