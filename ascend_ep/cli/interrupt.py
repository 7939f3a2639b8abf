"""Ctrl-C in a command: an exception, but never amid another thread's lock, which it would leave taken for
ever, nor in a destructor, which would lose it; and remembered, for the compilers that it ends as well may
fail first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: Seconds until an interrupt that came where it may not be raised is tried again.
AGAIN = 0.002
#: Modules that take locks, or run destructors, in Python.
_LOCKING = {
    *("threading", "queue", "concurrent.futures._base", "concurrent.futures.thread"),
    *("importlib._bootstrap", "weakref", "_weakrefset"),
}


class Interrupt:
    """Whether the user has interrupted the command."""

    def __init__(self) -> None:
        self.came = False
        self._waits = False

    def take(self, number: int, frame: FrameType | None) -> None:
        """The handler of SIGINT, and of the SIGALRM that tries again. A second SIGINT isn't kept waiting."""
        self.came = True
        if may_raise(frame) or (self._waits and number == signal.SIGINT):
            self._waits = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt
        self._waits = True
        signal.setitimer(signal.ITIMER_REAL, AGAIN)

    def check(self) -> None:
        """Raises KeyboardInterrupt after one."""
        if self.came:
            raise KeyboardInterrupt


_watched: list[Interrupt] = []


@contextmanager
def watching() -> Iterator[Interrupt]:
    """Watches for an interrupt, which raises KeyboardInterrupt, at once or as soon as it may be raised. In
    the main thread only, and not where interrupts are ignored, as under nohup, or handled by who calls.
    Within another one it is that one."""
    if _watched:
        yield _watched[0]
        return
    interrupt = Interrupt()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupt
        return
    alarm = signal.signal(signal.SIGALRM, interrupt.take)
    signal.signal(signal.SIGINT, interrupt.take)
    _watched.append(interrupt)
    try:
        yield interrupt
    finally:
        _watched.clear()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)


def may_raise(frame: Any) -> bool:
    """Whether an exception that comes from nowhere does no harm in a frame."""
    if frame is not None and frame.f_globals.get("__name__") in _LOCKING:
        return False
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return False
        frame = frame.f_back
    return True
