"""Compilers as processes. Each is a group of its own with what it starts: Ctrl-C is for the command, which
ends the group as a whole, also when several threads wait for compilers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType


def run(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Runs a compiler to its end. Raises OSError when it can't be started, TimeoutExpired, and CancelledError
    in a thread of a CompilerPool that has been left."""
    group: _Group = getattr(_own, "group", None) or _Group()
    process = group.start(command)
    with process:
        try:
            out, err = process.communicate(timeout=seconds)
        except BaseException:
            _end(process)
            raise
        finally:
            group.running.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


class CompilerPool(ThreadPoolExecutor):
    """Threads that start compilers. Left with an exception, it ends those, and starts no more."""

    def __init__(self, workers: int) -> None:
        self._group = _Group()
        super().__init__(workers, initializer=setattr, initargs=(_own, "group", self._group))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._group.end()
        self.shutdown(wait=True, cancel_futures=kind is not None)


class _Group:
    """The compilers that run for one pool."""

    def __init__(self) -> None:
        self.running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._has_ended = False

    def start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        with self._lock:
            if self._has_ended:
                raise CancelledError
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
                encoding="utf-8",
                errors="replace",  # a message quotes the source, whatever its encoding
                process_group=0,
            )
            self.running.add(process)
        return process

    def end(self) -> None:
        with self._lock:
            self._has_ended = True
            for process in list(self.running):
                _end(process)


#: Of a thread: the `group` of its pool.
_own = threading.local()


def _end(process: subprocess.Popen[str]) -> None:
    if process.returncode is None:  # else its number may be another's
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
