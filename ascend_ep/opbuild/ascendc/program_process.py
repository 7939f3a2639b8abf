"""A compiled program in a process of its own: limits of time and memory, and what its end says."""

from __future__ import annotations

import os
import re
import resource
import signal
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.errors import AscendError

from .call_request import Answer, CallRequest, pack, unpack
from .core_types import tool

#: Seconds of a run unless others are given, and bytes that it may take.
SECONDS, MEMORY_BYTES = 60, 4 << 30
#: What host/signals.h writes before a signal ends the process: with this in front, and of tiling data.
_EXPLAINED, ZERO_TILING = "ended: ", "all of its tiling data is zero"
#: And the address of the instruction, as the program's file counts it.
_AT = re.compile(r"at: ([0-9a-f]+)")
_ZERO_FIX = "Let the host's tiling function set the fields that the kernel divides by."


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
        raise _ended(program, kernel, ended.returncode, said)
    try:
        answer = unpack(ended.stdout)
    except (struct.error, ValueError, KeyError) as error:
        raise AscendError(
            "E43206", kernel, f"its answer is malformed ({error})", details=said[-8:]
        ) from error
    answer.printed = said
    return answer


def run_source_program(
    program: Path,
    about: str,
    soc_version: str,
    seconds: float = SECONDS,
    arguments: Sequence[str] = (),
    folder: Path | None = None,
) -> str:
    """A program with a main function of its own, in a folder (the present one): what it prints. Raises AscendError
    E43201 for a broken rule, E43206 when it fails."""
    environment = {**os.environ, "ASCEND_EP_SOC_VERSION": soc_version}
    try:
        ended = subprocess.run(
            [str(program), *arguments],
            cwd=folder,
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
        raise _ended(program, about, ended.returncode, said.splitlines(), printed.splitlines()[-5:])
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


def _ended(
    program: Path, kernel: str, status: int, said: Sequence[str], printed: Sequence[str] = ()
) -> AscendError:
    """E43206 of a process that ends so. What host/signals.h says of the signal is part of it."""
    addresses = [found[1] for line in said if (found := _AT.fullmatch(line))]
    reasons = [line.removeprefix(_EXPLAINED) for line in said if line.startswith(_EXPLAINED)]
    others = [line for line in said if not line.startswith(_EXPLAINED) and not _AT.fullmatch(line)]
    if reasons and addresses and (place := _place(program, addresses[0])):
        what, comma, where = reasons[0].partition(",")
        reasons[0] = f"{what} at {place}{comma}{where}"
    ending = ": ".join([_ending(status), *reasons[:1]])
    fix = _ZERO_FIX if ZERO_TILING in reasons else None
    return AscendError("E43206", kernel, ending, fix=fix, details=[*printed, *reasons[1:], *others[-8:]])


def _place(program: Path, address: str) -> str:
    """file:line of an address in a program, of what isn't in this package's headers; "" where it isn't known."""
    command = [tool("addr2line"), "-i", "-e", str(program), address]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    places = [line.split()[0] for line in said.splitlines() if line and "?" not in line.split()[0]]
    own = [place for place in places if not place.startswith(str(HEADERS))]
    return own[0] if own else ""


def _ending(status: int) -> str:
    if status < 0:
        return f"by {signal.Signals(-status).name}"
    return "without memory" if status == 3 else f"with status {status}"


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
