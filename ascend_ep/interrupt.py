"""Ctrl-C in a command: an exception, but never amid another thread's lock, which it would leave taken for
ever, nor in a destructor or as an extension module begins, which would lose it. One that waits for its moment
is pending: it is raised when it may be, or at the end of the command, whatever else the command would have
ended in.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import _ascend_ep_start

#: Seconds until an interrupt that came where it may not be raised is tried again.
AGAIN = 0.002
#: Tries that find the program at one place before it is taken to be blocked there. A lock that somebody hands
#: over just now is had within a few.
BLOCKED = 50
#: Modules that take locks, or run destructors, in Python.
_LOCKING = {
    *("threading", "queue", "concurrent.futures._base", "concurrent.futures.thread"),
    *("importlib._bootstrap", "weakref", "_weakrefset"),
}
#: Functions around C that ends an exception, and prints it at most: modules by Cython pass over whatever
#: fails as they tell `collections.abc` of their types.
_LOSING = {"finalize.__call__", "ExtensionFileLoader.create_module", "ExtensionFileLoader.exec_module"}
#: Functions that take a lock for a block that they are called in, which would then give back what it hasn't.
_RESTORING = {"_acquire_restore"}


class Interrupt:
    """Whether the user has interrupted the command, and whether that is still to be raised."""

    def __init__(self, leaves: bool = False) -> None:
        """`leaves`: the process is the command's alone."""
        self._leaves = leaves
        self.is_pending = False
        self.depth = 1
        self._is_late = False
        self._place: tuple[CodeType, int] | None = None
        self._tries = 0
        self._alarm: _CallersAlarm | None = None

    def take(self, number: int, frame: FrameType | None) -> None:
        """The handler of SIGINT, and of the SIGALRM that tries again. A second SIGINT isn't kept waiting."""
        if self._is_late:
            self._leave_late()
            return
        again = self.is_pending and number == signal.SIGINT
        self.is_pending = True
        if again or may_raise(frame) or self._is_blocked(frame) or not self._try_again():
            self.is_pending = _is_lost(frame)
            if not self.is_pending:
                self._rest()
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raises KeyboardInterrupt when one is pending."""
        if self.is_pending:
            self.is_pending = False
            self._rest()
            raise KeyboardInterrupt

    def end_work(self) -> None:
        """One that comes from now on is too late. Raises KeyboardInterrupt when one is pending."""
        self.check()
        self._is_late = self.depth == 1

    def _leave_late(self) -> None:
        """The first goes for nothing. A second one says that the end of the command hangs."""
        if self.is_pending and self._leaves:
            _ascend_ep_start.leave()
        self.is_pending = True

    def _is_blocked(self, frame: Any) -> bool:
        """Whether a lock that is waited for stays taken. A single look can't say: the lock may be had
        already, and the thread wait for its turn to go on."""
        place = (frame.f_code, frame.f_lasti)
        self._tries = self._tries + 1 if place == self._place else 1
        self._place = place
        is_free = frame.f_code.co_name not in _RESTORING and not _is_lost(frame)
        return self._tries > BLOCKED and is_free

    def _try_again(self) -> bool:
        """False where a program's own alarm, which isn't Python's, leaves no way to."""
        if signal.getsignal(signal.SIGALRM) is None:
            return False
        if self._alarm is None:
            self._alarm = _CallersAlarm(self.take)
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        return True

    def _rest(self) -> None:
        alarm, self._alarm = self._alarm, None
        if alarm is not None:
            alarm.give_back()


class _CallersAlarm:
    """What SIGALRM and its timer were before they were borrowed."""

    def __init__(self, handler: Any) -> None:
        self._delay, self._interval = signal.setitimer(signal.ITIMER_REAL, 0)
        self._since = time.monotonic()
        self._handler = signal.signal(signal.SIGALRM, handler)

    def give_back(self) -> None:
        """The timer has the time that is left of it; one that would have come meanwhile comes now."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler)
        if self._delay:
            left = self._delay - (time.monotonic() - self._since)
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-6), self._interval)


_watched: list[Interrupt] = []


@contextmanager
def watching() -> Iterator[Interrupt]:
    """Watches for an interrupt, which raises KeyboardInterrupt, at once or as soon as it may be raised. In
    the main thread only, and not where interrupts are ignored, as under nohup, or handled by who calls.
    Within another one it is that one."""
    if _watched:
        _watched[0].depth += 1
        try:
            yield _watched[0]
        finally:
            _watched[0].depth -= 1
        return
    before = signal.getsignal(signal.SIGINT)
    interrupt = Interrupt(before is _ascend_ep_start.leave)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or before not in (signal.default_int_handler, _ascend_ep_start.leave):
        yield interrupt
        return
    try:
        _watched.append(interrupt)
        signal.signal(signal.SIGINT, interrupt.take)
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
        _watched.clear()
        interrupt._rest()


def check() -> None:
    """Raises KeyboardInterrupt when an interrupt of the command is pending: before it says what it ends in,
    or does what can't be left half done."""
    if _watched and threading.current_thread() is threading.main_thread():
        _watched[0].check()


def may_raise(frame: Any) -> bool:
    """Whether an exception that comes from nowhere does no harm in a frame."""
    if frame is not None and frame.f_globals.get("__name__") in _LOCKING:
        return False
    return not _is_lost(frame)


def _is_lost(frame: Any) -> bool:
    """Whether an exception would end a destructor or the like, and not the command."""
    while frame is not None:
        if frame.f_code.co_name == "__del__" or frame.f_code.co_qualname in _LOSING:
            return True
        frame = frame.f_back
    return False
