"""A compiled program in a process of its own: limits of time and memory, and what its end says."""

from __future__ import annotations

import os
import resource
import signal
import struct
import subprocess
from pathlib import Path

from ascend_ep.errors import AscendError

from .call_request import Answer, CallRequest, pack, unpack

#: Seconds of a run unless others are given, and bytes that it may take.
SECONDS, MEMORY_BYTES = 60, 4 << 30


def run_program(
    program: Path, request: CallRequest, kernel: str, seconds: float = SECONDS, number: int = 0
) -> Answer:
    """One call, of operator `number` where the program has several. Raises AscendError E43206 when the process is ended, by itself or for its time."""
    try:
        ended = subprocess.run(
            [str(program), str(number)],
            input=pack(request),
            capture_output=True,
            timeout=seconds,
            check=False,
            preexec_fn=_limited,
        )
    except subprocess.TimeoutExpired as error:
        raise AscendError("E43206", kernel, f"it ran longer than {seconds:g} s and was stopped") from error
    said = ended.stderr.decode("utf-8", "replace").splitlines()
    if ended.returncode != 0:
        raise AscendError("E43206", kernel, _ending(ended.returncode), details=said[-8:])
    try:
        return unpack(ended.stdout)
    except (struct.error, ValueError, KeyError) as error:
        raise AscendError(
            "E43206", kernel, f"its answer is malformed ({error})", details=said[-8:]
        ) from error


def run_source_program(program: Path, about: str, soc_version: str, seconds: float = SECONDS) -> str:
    """A program with a main function of its own, in the present folder: what it prints. Raises AscendError E43201 for
    a broken rule, E43206 when it fails."""
    environment = {**os.environ, "ASCEND_EP_SOC_VERSION": soc_version}
    try:
        ended = subprocess.run(
            [str(program)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
            env=environment,
            preexec_fn=_limited,
        )
    except subprocess.TimeoutExpired as error:
        raise AscendError("E43206", about, f"it ran longer than {seconds:g} s and was stopped") from error
    printed, said = (text.decode("utf-8", "replace") for text in (ended.stdout, ended.stderr))
    faults = [line.removeprefix("fault: ") for line in said.splitlines() if line.startswith("fault: ")]
    if faults:
        raise AscendError("E43201", about, faults[0], details=[*printed.splitlines()[-5:], *faults[1:8]])
    if ended.returncode != 0:
        lines = [*printed.splitlines()[-5:], *said.splitlines()[-8:]]
        raise AscendError("E43206", about, _ending(ended.returncode), details=lines)
    return printed + said


def describe_program(program: Path, about: str) -> str:
    """What a program says that it was built of. Raises AscendError E43205."""
    try:
        ended = subprocess.run(
            [str(program), "describe"], capture_output=True, timeout=30, check=False, preexec_fn=_limited
        )
    except subprocess.TimeoutExpired as error:
        raise AscendError("E43205", about, "its registration doesn't end") from error
    if ended.returncode != 0:
        said = ended.stderr.decode("utf-8", "replace").splitlines()
        raise AscendError("E43205", about, f"its registration {_ending(ended.returncode)}", details=said[-8:])
    return ended.stdout.decode("utf-8", "replace")


def _ending(status: int) -> str:
    if status < 0:
        return f"by {signal.Signals(-status).name}"
    return "without memory" if status == 3 else f"with status {status}"


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
