"""Sample runs in a process of their own: of bundles whose host partitions onnxruntime runs, which may crash.

Jobs and answers go through pipes: a line of JSON, then the bytes of arrays and of the bundle.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import number_of, numpy_dtype
from ascend_ep.errors import AscendError, restored
from ascend_ep.runtime.session import InferenceSession

Array = NDArray[Any]

_MODULE = "ascend_ep.runtime.sample_main"


class Pipe(Protocol):
    """What is read from."""

    def read(self, size: int, /) -> bytes: ...

    def readline(self) -> bytes: ...


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

    def send(self, pipe: IO[bytes]) -> None:
        """Raises BrokenPipeError."""
        bundle = [] if isinstance(self.bundle, Path) else [self.bundle]
        head = {
            "path": "" if bundle else str(self.bundle),
            "options": dict(self.options),
            "outputs": list(self.outputs),
        }
        _send(pipe, head | {"inputs": list(self.inputs)}, list(self.inputs.values()), bundle)

    @classmethod
    def receive(cls, pipe: Pipe) -> Job:
        """Raises EOFError."""
        head, arrays, rest = _receive(pipe)
        bundle = Path(head["path"]) if head["path"] else rest[0]
        return cls(bundle, head["options"], dict(zip(head["inputs"], arrays, strict=True)), head["outputs"])


@dataclass(frozen=True)
class Answer:
    """The outputs, the warnings, and the error if there is one."""

    outputs: Sequence[Array]
    told: Sequence[str]
    failure: AscendError | None

    def send(self, pipe: IO[bytes]) -> None:
        state = None if self.failure is None else vars(self.failure)
        _send(pipe, {"told": list(self.told), "failure": state}, self.outputs, [])

    @classmethod
    def receive(cls, pipe: Pipe) -> Answer:
        """Raises EOFError."""
        head, arrays, _ = _receive(pipe)
        state = head["failure"]
        return cls(arrays, head["told"], state and restored(state["code"], state))


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
    for text in answer.told:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    if answer.failure is not None:
        raise answer.failure
    return list(answer.outputs)


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
                job.send(self._process.stdin)
                answer = Answer.receive(self._process.stdout)
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


def _send(pipe: IO[bytes], head: dict[str, Any], arrays: Sequence[Array], more: Sequence[bytes]) -> None:
    kinds = [[number_of(a.dtype), list(a.shape)] for a in arrays]
    bodies: list[bytes | memoryview] = [
        *(np.ascontiguousarray(a).reshape(-1).view(np.uint8).data for a in arrays),
        *more,
    ]
    sizes = [len(body) for body in bodies]
    pipe.write(json.dumps(head | {"arrays": kinds, "sizes": sizes}).encode() + b"\n")
    for body in bodies:
        pipe.write(body)
    pipe.flush()


def _receive(pipe: Pipe) -> tuple[dict[str, Any], list[Array], list[bytes]]:
    line = pipe.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    head = json.loads(line)
    bodies = [_read(pipe, size) for size in head["sizes"]]
    arrays = [
        np.frombuffer(body, numpy_dtype(kind)).reshape(shape)
        for body, (kind, shape) in zip(bodies, head["arrays"], strict=False)
    ]
    return head, arrays, bodies[len(arrays) :]


def _read(pipe: Pipe, size: int) -> bytes:
    body = pipe.read(size)
    if len(body) < size:
        raise EOFError
    return body
