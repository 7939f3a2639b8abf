"""So many lines of a kind, and no more: what clients cause must not fill a disk."""

from __future__ import annotations

import logging
import time

#: Lines of one kind: so many at once, and so many a second after that.
_BURST = 20
_PER_SECOND = 5.0
_KINDS = 1024
#: A record with this attribute is always let through: it was asked for.
WANTED = "ascend_wanted"


class RateLimit(logging.Filter):
    """A kind is the place in the code that logs. The first line that is let through again says how many were
    not."""

    def __init__(self) -> None:
        super().__init__()
        #: lines that may come, when that was so, and lines that were left out since
        self._kinds: dict[tuple[str, int], tuple[float, float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, WANTED, False):
            return True
        kind = (record.pathname, record.lineno)
        now = time.monotonic()
        room, since, left_out = self._kinds.get(kind, (float(_BURST), now, 0))
        room = min(_BURST, room + (now - since) * _PER_SECOND)
        if room < 1:
            self._kinds[kind] = room, now, left_out + 1
            return False
        if len(self._kinds) >= _KINDS:
            self._kinds.clear()
        self._kinds[kind] = room - 1, now, 0
        if left_out:
            record.msg, record.args = f"{record.getMessage()} ({left_out} lines like this left out)", ()
        return True
