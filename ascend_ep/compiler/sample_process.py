"""Sample runs in a process of their own: of bundles whose host partitions onnxruntime runs, which may crash.

Jobs and answers are pickles with their length before them, between this process and one that it started from
the same files (sample_main.py).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import struct
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from ascend_ep.errors import AscendError
from ascend_ep.runtime.session import InferenceSession

Array = NDArray[Any]

_MODULE = "ascend_ep.compiler.sample_main"
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Job:
    """A bundle, AscendEP's options for it, the inputs and the names of the outputs that are wanted."""

    bundle: Path | bytes
    options: Mapping[str, str]
    inputs: Mapping[str, Array]
    outputs: Sequence[str]

    def run(self) -> list[Array]:
        """The outputs; none are run for where none are wanted. Raises AscendError as sessions do."""
        session = InferenceSession(self.bundle, providers=[("AscendEP", dict(self.options))])
        session.bundle.insists = True
        return session.run(self.outputs, self.inputs) if self.outputs else []


class Ended(Exception):
    """The process ended, or can't be started; the text says how."""

    def __init__(self, how: str, started: bool = True) -> None:
        super().__init__(how)
        self.started = started


def run_apart(job: Job) -> list[Array]:
    """As the job's own run, in another process. Raises Ended besides."""
    process = idle.pop() if idle else _Process()
    if isinstance(job.bundle, Path):
        job = replace(job, bundle=job.bundle.absolute())
    try:
        answer = process.ask(job)
    except _Gone:  # nothing came for too long
        process = _Process()
        answer = process.ask(job)
    idle.append(process)
    results, told, failure = answer
    for text in told:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    if failure is not None:
        raise failure
    return results


Answer = tuple[list[Array], list[str], AscendError | None]


class _Gone(Exception):
    """The process had ended before it took the job."""


class _Process:
    """One that serves jobs. Raises Ended where it can't be started."""

    def __init__(self) -> None:
        self._used = False
        command = [sys.executable, "-P", "-m", _MODULE]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # what a terminal's user interrupts is the converter
            )
        except OSError as error:
            raise Ended(f"no process can be started: {error.strerror}", started=False) from error

    @property
    def number(self) -> int:
        return self._process.pid

    def ask(self, job: Job) -> Answer:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            if self._process.poll() is not None:
                raise _Gone
            try:
                send(self._process.stdin, job)
                answer: Answer = receive(self._process.stdout)
            except (EOFError, BrokenPipeError):
                raise self._end() from None
        except BaseException:
            self.close()
            raise
        self._used = True
        return answer

    def _end(self) -> Exception:
        status = self._process.wait()
        if status == 0 and self._used:
            return _Gone()
        return Ended(signal.Signals(-status).name if status < 0 else f"exit status {status}")

    def close(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):  # of a job that it didn't take
                pipe.close()
        self._process.wait()


#: Those that nobody uses. Another thread takes its own.
idle: list[_Process] = []
#: Those of the process that this one was forked from.
_others: list[_Process] = []


def close_idle() -> None:
    """Ends all that wait."""
    while idle:
        idle.pop().close()


def _leave_to_parent() -> None:
    _others.extend(idle)
    idle.clear()


atexit.register(close_idle)
os.register_at_fork(after_in_child=_leave_to_parent)


def send(pipe: BinaryIO | Any, what: object) -> None:
    body = pickle.dumps(what, pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(body)))
    pipe.write(body)
    pipe.flush()


def receive(pipe: BinaryIO | Any) -> Any:
    """Raises EOFError."""
    return pickle.loads(_read(pipe, *_LENGTH.unpack(_read(pipe, _LENGTH.size))))


def _read(pipe: BinaryIO | Any, size: int) -> bytes:
    body: bytes = pipe.read(size)
    if len(body) < size:
        raise EOFError
    return body
