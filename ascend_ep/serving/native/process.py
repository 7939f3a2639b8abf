"""One process with a bundle's native code: started, asked, ended, reaped."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ascend_ep.errors import AscendError
from ascend_ep.runtime.options import NodeArg
from ascend_ep.serving.request import Array
from ascend_ep.serving.signature import Signature

from .line import Gone, Line, answer_of
from .messages import Failed, NewLine, Nonsense, Open, Opened, send

#: For a process that was told to end; for one that seems to be ending by itself.
_ENDING_SECONDS = 2.0
_GONE_SECONDS = 0.5
_MODULE = "ascend_ep.serving.native.main"


@dataclass(frozen=True)
class Opening:
    """What a process opens. version: for people. run_seconds, start_seconds: for a run, and until it can run.
    memory: bytes that it may allocate. output_bytes: of a run's outputs, at most. unchanged: whether the
    files are those that were opened first. confined: whether it may do nothing but compute."""

    path: Path
    version: str
    options: Mapping[str, str]
    trust: tuple[str, ...]
    run_seconds: float
    start_seconds: float
    memory: int
    output_bytes: int
    unchanged: Callable[[], bool]
    confined: bool = True


class NativeProcess:
    """Any number of threads may run at once. ended: called with the kind of its end (a signal's name, exit,
    timeout, protocol) and the reason, on a thread of its own, unless it was closed.

    Raises AscendError as opening the bundle does, and E50050 when that ends the process or takes too long.
    """

    def __init__(self, opening: Opening, ended: Callable[[str, str], None]) -> None:
        self._opening = opening
        self._told = ended
        self._lock = threading.Lock()
        self._idle: list[Line] = []
        self._lines: list[Line] = []
        self._ended = threading.Event()
        self._closing = False
        self._killed_for: tuple[str, str] | None = None
        #: why it ended, once it has
        self.reason = ""
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = _started(theirs.fileno(), opening.version)
        threading.Thread(target=self._watch, name="ascend-native", daemon=True).start()
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        return not (self._ended.is_set() or self._killed_for or self._closing)

    def run(self, inputs: Mapping[str, Array]) -> list[Array]:
        """Raises what the model refuses, AscendError E50050 when the process doesn't outlive the run, and
        Gone when it ended before."""
        try:
            line = self._line()
            try:
                outputs = line.run(inputs, self._opening.run_seconds)
            except AscendError:
                self._give_back(line)
                raise
            except BaseException:
                line.close()
                raise
        except (Gone, Nonsense, TimeoutError) as failure:
            if isinstance(failure, Gone) and not failure.begun and self._ended.wait(_GONE_SECONDS):
                raise
            self._failed(failure, self._opening.run_seconds)
        self._give_back(line)
        return outputs

    def close(self) -> None:
        """Ends it. What runs fails."""
        self._closing = True
        self._control.close()
        if not self._ended.wait(_ENDING_SECONDS):
            self._kill("closed", "it was closed")
            self._ended.wait(_ENDING_SECONDS)

    # --- inside -------------------------------------------------------------------------------

    def _open(self) -> None:
        given = self._opening
        try:
            send(
                self._control,
                Open(
                    str(given.path),
                    given.version,
                    dict(given.options),
                    list(given.trust),
                    given.memory,
                    given.confined,
                ),
            )
            answer = answer_of(self._control, time.monotonic() + given.start_seconds)
            if isinstance(answer, Failed):
                raise answer.error()
            if not isinstance(answer, Opened):
                raise Nonsense(f"{type(answer).__name__} is no answer to being opened")
        except (Gone, Nonsense, TimeoutError, OSError) as failure:
            self._failed(failure, given.start_seconds)
        self.inputs, self.outputs = (
            [NodeArg(arg.name, arg.type, arg.shape) for arg in args]
            for args in (answer.inputs, answer.outputs)
        )
        self._signature = Signature.of_session(self, str(given.path))

    def get_inputs(self) -> list[NodeArg]:
        return self.inputs

    def get_outputs(self) -> list[NodeArg]:
        return self.outputs

    def _line(self) -> Line:
        """One that nobody uses. Raises Gone."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                try:
                    send(self._control, NewLine(), [theirs.fileno()])
                except OSError:
                    raise Gone(begun=False) from None
            line = Line(ours, self._signature, self._opening.output_bytes)
            self._lines.append(line)
            if self._ended.is_set():
                line.hang_up()
            return line

    def _give_back(self, line: Line) -> None:
        with self._lock:
            if not self._ended.is_set():
                self._idle.append(line)
                return
        line.close()

    def _failed(self, failure: Exception, seconds: float) -> NoReturn:
        """Ends the process for that, unless it is what ended, and says why."""
        if isinstance(failure, TimeoutError):
            self._kill("timeout", f"it took more than {seconds:g} s")
        elif isinstance(failure, Nonsense):
            self._kill("protocol", f"it said what it can't have meant ({failure})")
        elif not self._ended.wait(_GONE_SECONDS):
            self._kill("protocol", "it closed its connection")
        self._ended.wait(_ENDING_SECONDS)
        raise AscendError("E50050", self._opening.version, self.reason) from None

    def _kill(self, kind: str, reason: str) -> None:
        self._killed_for = self._killed_for or (kind, reason)
        with self._lock:
            if not self._ended.is_set():
                self._kill_all()

    def _kill_all(self) -> None:
        """Also what it has started itself. Until it is reaped, its number isn't anybody else's."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _watch(self) -> None:
        """Waits for its end, and cleans up behind it."""
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            self._kill_all()
            status = self._process.wait()
            closing = self._closing
            kind, self.reason = self._killed_for or _end_of(status, closing)
            if not closing:
                self._told(kind, self.reason)  # before anybody can start another one
            self._ended.set()
            for line in self._lines:
                line.hang_up()
            for line in self._idle:
                line.close()
            self._idle.clear()


def _started(descriptor: int, version: str) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, str(descriptor)],
            stdin=subprocess.DEVNULL,
            stdout=2,
            pass_fds=[descriptor],
            start_new_session=True,  # what a terminal's user interrupts is the server
        )
    except OSError as error:
        raise AscendError("E50050", version, f"no process can be started ({error.strerror})") from None


def _end_of(status: int, closing: bool) -> tuple[str, str]:
    """Its kind, and a sentence."""
    if closing:
        return "closed", "it was closed"
    if status >= 0:
        return "exit", f"it ended by itself, with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return name, f"it crashed with {name}"
