"""What a soak counts, and what it can't forgive."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field

from .connection import Answer

#: What a refusal may not tell: the places of files, and Python's own words.
_INTERNALS = re.compile(r'Traceback|File "|\.py\b|0x[0-9a-f]{6,}|object at|/(home|root|work|usr|tmp)/')
#: A run ends when this many wrongs are known.
ENOUGH = 20
#: Seconds that a program can't have waited for the CPU: the machine, or we and the server, were suspended.
SUSPENDED = 8.0
#: Seconds after that in which requests may still end for want of time.
RECOVERY = 40.0


@dataclass
class Tally:
    """counts: of answers and events by name. wrongs: sentences."""

    counts: Counter[str] = field(default_factory=Counter)
    wrongs: list[str] = field(default_factory=list)
    _excused_until: float = 0.0

    async def watch_clock(self) -> None:
        """Until it is cancelled, notices when this process was stopped."""
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.5)
            if time.monotonic() - began > SUSPENDED:
                self.suspended()

    def suspended(self) -> None:
        self.counts["suspended"] += 1
        self._excused_until = time.monotonic() + RECOVERY

    def late(self, sentence: str) -> None:
        """A valid request without its answer: wrong, but where everything had been suspended."""
        if time.monotonic() < self._excused_until:
            self.counts["not answered for a suspension"] += 1
        else:
            self.wrong(sentence)

    def wrong(self, sentence: str) -> None:
        if len(self.wrongs) < ENOUGH:
            self.wrongs.append(sentence[:500])

    def refusal(self, name: str, answer: Answer) -> None:
        """Judges an answer to a request that had no right to a good one: a useful sentence, no internals; 503
        only with the time to come back."""
        self.counts[f"{name}: {answer.status}"] += 1
        if answer.status < 400:
            return
        if answer.status >= 500 and not (answer.status == 503 and "retry-after" in answer.headers):
            self.wrong(f"{name}: {answer.status} {answer.body[:200]!r}")
        try:
            sentence = json.loads(answer.body)["error"]
        except (ValueError, KeyError, TypeError):
            self.wrong(f"{name}: a refusal without a sentence: {answer.body[:200]!r}")
            return
        if len(sentence) < 10 or _INTERNALS.search(sentence):
            self.wrong(f"{name}: {sentence!r}")
