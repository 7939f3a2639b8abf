"""What runs of the soak came to, a line of JSON each minute and at the end. One that is broken off counts,
and the next asks for what is left."""

from __future__ import annotations

import json
import time
from pathlib import Path

from .tally import Tally

EVERY = 60.0


class Record:
    """path: None to keep nothing."""

    def __init__(self, path: Path | None, seed: int) -> None:
        self._path = path
        self._run = {"began": time.strftime("%Y-%m-%dT%H:%M:%S"), "seed": seed}
        self._noted = time.monotonic()

    def answered(self) -> int:
        """Requests by the million that earlier runs were answered."""
        if self._path is None or not self._path.exists():
            return 0
        runs = {}
        for line in self._path.read_text(encoding="utf-8").splitlines():
            said = json.loads(line)
            runs[said["began"], said["seed"]] = said["answered"]
        return sum(runs.values())

    def note(self, tally: Tally, end: str = "", notes: list[str] | None = None) -> None:
        """A line, where a minute has passed or the run has come to its end."""
        if self._path is None or not (end or time.monotonic() > self._noted + EVERY):
            return
        self._noted = time.monotonic()
        counts = dict(sorted(tally.counts.items()))
        answered = sum(n for name, n in counts.items() if name.startswith("many: "))
        said = {"answered": answered, "end": end, "wrong": list(tally.wrongs), "notes": notes or []}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self._run | said | {"counts": counts}) + "\n")
