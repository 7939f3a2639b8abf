"""A line on the terminal saying what is going on, once it has taken a second; nothing in a pipe."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

PATIENCE = 1.0  # seconds before anything is shown


class Progress:
    """`stage(text)` names the work that begins; a thread shows it, with the seconds so far."""

    def __init__(self) -> None:
        self._text = "starting"
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._start = time.monotonic()

    def stage(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread:
            self._thread.join()

    def _show(self) -> None:
        shown = False
        while not self._done.wait(PATIENCE if not shown else 0.2):
            shown = True
            print(
                f"\r\033[K{self._text} ... {time.monotonic() - self._start:.0f} s",
                end="",
                file=sys.stderr,
                flush=True,
            )
        if shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
