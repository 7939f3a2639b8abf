"""The last failures of requests, for the page: texts as their clients got them."""

from __future__ import annotations

import time
from collections import deque
from typing import TypedDict

from ascend_ep.errors import AscendError
from ascend_ep.serving.outcome import Outcome
from ascend_ep.serving.refusals import STATUSES, sentence

_KEPT = 50
_LONGEST = 500
_WHERE = 100


class RecentError(TypedDict):
    """time: seconds since 1970. where: the model, or the path of a request that wasn't understood; "" for
    what was no request."""

    time: float
    where: str
    text: str


class RecentErrors:
    def __init__(self) -> None:
        self._kept: deque[RecentError] = deque(maxlen=_KEPT)
        self._last: AscendError | None = None

    def newest_first(self) -> list[RecentError]:
        return list(reversed(self._kept))

    def note(self, error: AscendError, where: str) -> None:
        """One failure may be seen by the service and by the front end: it is kept once."""
        if error is self._last:
            return
        self._last = error
        text = sentence(error) if error.code in STATUSES else "E50010: the server failed; its log says how"
        self._kept.append({"time": time.time(), "where": where[:_WHERE], "text": text[:_LONGEST]})

    def observe(self, outcome: Outcome) -> None:
        """As the service's observers are called."""
        if outcome.error is not None:
            self.note(outcome.error, outcome.request.model)
