"""What is going on: a line on the terminal once it has taken a second, or each step as a line of its own."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

PATIENCE = 1.0  # seconds before anything is shown


class Progress:
    """`stage(text)` names the work that begins; a thread shows it on a terminal, with the seconds so far.

    With `steps`, every stage is printed when it begins, on a terminal or not.
    """

    def __init__(self, steps: bool = False) -> None:
        self._steps = steps
        self._text = "starting"
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._start = time.monotonic()

    def stage(self, text: str) -> None:
        self._text = text
        if self._steps:
            print(f"[INFO] {time.monotonic() - self._start:7.3f} s: {text}", file=sys.stderr)

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() and not self._steps:
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
