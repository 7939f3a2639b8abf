"""The header traceparent of W3C's Trace Context."""

from __future__ import annotations

import re
from typing import NamedTuple

_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_LONGEST = 512


class TraceParent(NamedTuple):
    """trace_id, parent_id: hex digits. sampled: whether the caller records the trace."""

    trace_id: str
    parent_id: str
    sampled: bool


def parse(header: str) -> TraceParent | None:
    """None for what isn't valid: it is ignored then, as the recommendation asks."""
    if not header or len(header) > _LONGEST:
        return None
    found = _FORM.fullmatch(header)
    if found is None:
        return None
    version, trace, parent, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not trace.strip("0") or not parent.strip("0"):
        return None
    return TraceParent(trace, parent, bool(int(flags, 16) & 1))


def trace_id(header: str) -> str:
    """The trace's id, "" without a valid header."""
    found = parse(header) if header else None
    return "" if found is None else found.trace_id
