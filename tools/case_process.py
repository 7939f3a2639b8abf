"""Processes for cases: one for all, a name in and a line of JSON out, or one that is forked for each."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any


class CaseProcess:
    """Begun again when a case ends it; one that ends itself after its answer says so: "ends".

    A case that has no answer after `seconds` fails.
    """

    def __init__(self, command: list[str], environment: dict[str, str], seconds: float) -> None:
        self._command = command
        self._environment = environment
        self._seconds = seconds
        self._place = tempfile.TemporaryDirectory()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, name: str) -> dict[str, Any]:
        """What the process answers; where it has none, result "fails" and why."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,  # a line that waits in a buffer is none that select sees
                cwd=self._place.name,
                env=self._environment,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{name}\n".encode())
        said = ""
        while select.select([process.stdout], [], [], self._seconds)[0]:
            line = process.stdout.readline().decode(errors="replace")
            if not line:
                why = f"the process ended with {process.wait()}; {said}"
                return {"name": name, "result": "fails", "why": why}
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                if found.pop("ends", False):
                    process.wait()
                return {**found, "why": said or found["why"]} if found["result"] == "fails" else found
            if " failed with " in line:  # of the library's log, whose texts programs drop
                said = line.partition(" failed with ")[2].strip()
        process.kill()
        process.wait()
        return {"name": name, "result": "fails", "why": f"no answer in {self._seconds:g} s"}


class TooLong(BaseException):
    """Nothing but the case itself may catch it."""


def forked(case: Callable[[], dict[str, Any]], seconds: float, aloud: bool = False) -> dict[str, Any] | str:
    """What `case` returns in a process of its own, with the libraries that this one has imported; how that
    ended, where it returns nothing. `case` gets TooLong after `seconds` of processor time."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        gc.freeze()
        signal.signal(signal.SIGPROF, _give_up)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not aloud:
            os.dup2(1, 2)
        with contextlib.suppress(BaseException):
            os.write(write, json.dumps(case()).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as answer:
        said = answer.read()
    _, status = os.waitpid(pid, 0)
    if not said:
        return f"its process ended with {os.waitstatus_to_exitcode(status)}"
    answered: dict[str, Any] = json.loads(said)
    return answered


def _give_up(*_: object) -> None:
    raise TooLong


def toolkit_environment(toolkit: str) -> dict[str, str]:
    """As set_env.sh of a toolkit makes it."""
    script = f". {toolkit}/set_env.sh && env -0"
    printed = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    return dict(line.split("=", 1) for line in printed.split("\0") if line)
