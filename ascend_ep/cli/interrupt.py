"""Ctrl-C in a long command: remembered, for its exception may be lost in a destructor, and the compilers that
it ends as well may fail first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupt:
    """Whether the user has interrupted the command."""

    def __init__(self) -> None:
        self.came = False

    def check(self) -> None:
        """Raises KeyboardInterrupt after one."""
        if self.came:
            raise KeyboardInterrupt


@contextmanager
def watching() -> Iterator[Interrupt]:
    """Watches for an interrupt, which raises KeyboardInterrupt as ever; in the main thread only."""
    interrupt = Interrupt()

    def remember(*_: object) -> None:
        interrupt.came = True
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = signal.signal(signal.SIGINT, remember)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
