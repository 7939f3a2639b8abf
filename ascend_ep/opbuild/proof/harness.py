"""Running a compiled operator in a process of its own, with guard pages, limits and sanitizers."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ascend_ep.codegen.compiled_library import CompiledLibrary, compile_program
from ascend_ep.codegen.library_call import element_type
from ascend_ep.codegen.symbols import loadable
from ascend_ep.element_types import numpy_dtype
from ascend_ep.errors import AscendError

Array = NDArray[Any]
Sanitizer = Literal["", "address", "thread"]

#: Seconds of processor time, seconds on the clock, and bytes of memory that a library may take.
CPU_SECONDS, WALL_SECONDS, MEMORY_BYTES = 20, 60, 640 << 20

#: What the letters of harness.c stand for.
RUNS = {
    "e": "buffers that end at a guard page",
    "b": "buffers that begin behind a guard page",
    "r": "chunks in reverse order",
    "t": "chunks on threads",
}


@dataclass(frozen=True)
class Case:
    """Inputs of one call (None: absent), its number of threads, and what it is about."""

    inputs: tuple[Array | None, ...]
    about: str
    threads: int = 4


@dataclass
class Outcome:
    """outputs: per case that was finished, of its first run. findings: sentences; none when all went well."""

    outputs: list[list[Array]] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)


def compile_harness(sanitizer: Sanitizer = "") -> Path:
    """The program that run_apart starts. Raises AscendError E43001 and E43002."""
    return compile_program(Path(__file__).with_name("harness.c"), sanitizer)


def run_apart(
    library: CompiledLibrary,
    cases: Sequence[Case],
    n_outputs: int,
    runs: str = "e",
    sanitizer: Sanitizer = "",
) -> Outcome:
    """Runs the cases, each as often as `runs` has letters; none of a library that calls what no kernel needs
    (one with a sanitizer calls that). Raises AscendError E43001 and E43002."""
    if not sanitizer:
        try:
            loadable(library)
        except AscendError as error:
            return Outcome(findings=[error.text])
    harness = compile_harness(sanitizer)
    with tempfile.TemporaryDirectory(prefix="ascend-proof-") as work:
        job, result = Path(work) / "job", Path(work) / "result"
        job.write_bytes(_job(cases, n_outputs))
        memory = 0 if sanitizer else MEMORY_BYTES  # a sanitizer's shadow is larger than any limit
        arguments = [library.path, library.op_type, job, result, runs, CPU_SECONDS, memory]
        command = [*_prefix(sanitizer), str(harness), *map(str, arguments)]
        outcome = Outcome()
        try:
            done = subprocess.run(
                command,
                cwd=work,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=WALL_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            where = _last_run(_text(error.stdout), cases)
            outcome.findings.append(f"it didn't end within {WALL_SECONDS} s{where}")
            return outcome
        outcome.findings += _findings(done.returncode, _text(done.stdout), _text(done.stderr), cases)
        outcome.outputs = _results(result, len(cases), n_outputs)
    return outcome


def _prefix(sanitizer: Sanitizer) -> list[str]:
    """ThreadSanitizer needs the addresses that a process has without randomisation."""
    setarch = shutil.which("setarch") if sanitizer == "thread" else None
    return [setarch, os.uname().machine, "-R"] if setarch else []


def _environment() -> dict[str, str]:
    options = "exitcode=66:allocator_may_return_null=1:detect_leaks=0:abort_on_error=0"
    return {"ASAN_OPTIONS": options, "TSAN_OPTIONS": "exitcode=66:halt_on_error=1", "LC_ALL": "C"}


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "replace")


# ---- files ---------------------------------------------------------------------------------------


def _job(cases: Sequence[Case], n_outputs: int) -> bytes:
    parts = [_words(len(cases))]
    for case in cases:
        parts.append(_words(len(case.inputs), n_outputs, case.threads))
        for array in case.inputs:
            if array is None:
                parts.append(_words(0, 0, 0))
                continue
            raw = np.ascontiguousarray(array).tobytes()
            parts += [_words(element_type(array), array.ndim, *array.shape, len(raw)), raw]
            parts.append(b"\0" * (-len(raw) % 8))
    return b"".join(parts)


def _words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def _results(path: Path, n_cases: int, n_outputs: int) -> list[list[Array]]:
    """The outputs of the cases that were finished; a process that died left the rest out."""
    raw = path.read_bytes() if path.exists() else b""
    found: list[list[Array]] = []
    at = 0
    try:
        for _ in range(n_cases):
            outputs = []
            for _ in range(n_outputs):
                dtype, rank = struct.unpack_from("<2q", raw, at)
                *shape, size = struct.unpack_from(f"<{rank + 1}q", raw, at + 16)
                at += 16 + 8 * (rank + 1)
                kind = numpy_dtype(dtype)
                outputs.append(np.frombuffer(raw, kind, size // kind.itemsize, at).reshape(shape))
                at += size + -size % 8
            found.append(outputs)
    except (struct.error, ValueError):
        pass
    return found


# ---- what went wrong -----------------------------------------------------------------------------


def _findings(status: int, said: str, complained: str, cases: Sequence[Case]) -> list[str]:
    found = [_told(line, cases) for line in said.splitlines() if line.split(" ")[0] in _TOLD]
    summary = [line for line in complained.splitlines() if line.startswith("SUMMARY: ")]
    if summary:
        first = next((x for x in complained.splitlines() if "ERROR: " in x or "WARNING: " in x), "")
        what = summary[0].removeprefix("SUMMARY: ").split(" (")[0].split(" /")[0]
        access = next((x for x in complained.splitlines() if " of size " in x), "").split(" at ")[0].strip()
        detail = ", ".join(filter(None, [what, access.lower()])) or first
        found.append(detail + _last_run(said, cases))
    elif status < 0:
        found.append(f"it ended by {_signal_name(-status)}{_last_run(said, cases)}")
    elif status != 0 and not found:
        found.append(f"it ended with status {status}{_last_run(said, cases)}")
    elif status == 0 and not said.endswith("done\n"):
        found.append(f"it ended the process{_last_run(said, cases)}")
    return found


_TOLD = ("differs", "fault", "refused")


def _told(line: str, cases: Sequence[Case]) -> str:
    what, case, run, *rest = line.split(" ")
    about = _where(case, run, cases)
    text = " ".join(rest)
    if what == "differs":
        return f"other bits than in the first run: {text}{about}"
    return (text or "it failed without saying why") + about


def _last_run(said: str, cases: Sequence[Case]) -> str:
    lines = [line.split(" ") for line in said.splitlines() if line.startswith("run ")]
    return _where(lines[-1][1], lines[-1][2], cases) if lines else ""


def _where(case: str, run: str, cases: Sequence[Case]) -> str:
    number = int(case) if case.isdecimal() else len(cases)
    about = f", {cases[number].about}" if number < len(cases) else ""
    return f" (case {case}{about}, {RUNS.get(run, 'loading')})"


def _signal_name(number: int) -> str:
    if number == signal.SIGXCPU or number == signal.SIGKILL:
        return f"{signal.Signals(number).name}: it took more than {CPU_SECONDS} s of processor time"
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
