"""A C program (native/test/run_bundle.c) that opens, binds and runs a bundle, each of its allocations and
system calls failing in turn (native/test/faults.c)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import ascend_ep

from .outcome import Campaign, Outcome, ended_by, title

SOURCES = Path(__file__).resolve().parents[2] / "native" / "test"
#: How system calls fail.
CALL_KINDS = ("EIO", "EMFILE", "EINTR", "short")
SECONDS = 120
RUNS = 2


def build(folder: Path) -> tuple[Path, Path]:
    """The library to preload, and the program."""
    cc, libraries = os.environ.get("CC", "cc"), Path(ascend_ep.get_library_path()).parent
    library, program = folder / "faults.so", folder / "run_bundle"
    preloaded = [str(SOURCES / name) for name in ("faults.c", "power.c")]
    shared = [cc, "-O1", "-shared", "-fPIC", "-o", str(library), *preloaded, "-ldl"]
    linked = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lascend_rt"]
    source = str(SOURCES / "run_bundle.c")
    made = [cc, "-O1", "-o", str(program), source, "-I", ascend_ep.get_include(), *linked]
    for command in (shared, made):
        subprocess.run(command, check=True)
    return library, program


def sweep(
    name: str,
    folder: Path,
    command: list[str],
    what: str,
    kind: str = "EIO",
    every: int = 1,
    on: bool = False,
) -> Campaign:
    """Each `every`-th call of `command`, run_bundle's, fails once, or with `on` it and all after it."""
    library = folder / "faults.so"
    plain = _run(library, command, what, kind, 0, on)
    assert plain.status == 0, plain.said
    campaign = Campaign(title(name, what, kind, on), plain.calls)
    for at in range(1, plain.calls + 1, every):
        campaign.outcomes.append(_judged(at, _run(library, command, what, kind, at, on), plain))
    return campaign


class _Ran:
    def __init__(self, status: int | None, said: str, calls: int, left: int) -> None:
        self.status, self.said, self.calls, self.left = status, said, calls, left


def _run(library: Path, command: list[str], what: str, kind: str, at: int, on: bool) -> _Ran:
    count = library.with_suffix(".count")
    count.unlink(missing_ok=True)
    environment = {
        **os.environ, "LD_PRELOAD": str(library), "ASC_FAULTS": what, "ASC_FAULTS_AT": str(at),
        "ASC_FAULTS_KIND": kind, "ASC_FAULTS_COUNT": str(count),
    }  # fmt: skip
    if on:
        environment["ASC_FAULTS_ON"] = "1"
    try:
        done = subprocess.run(
            command,
            env=environment,
            input="\n" * RUNS,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _Ran(None, "", 0, 0)
    numbers = count.read_text(encoding="ascii").split() if count.exists() else ["0", "0"]
    return _Ran(done.returncode, done.stdout, int(numbers[0]), int(numbers[1]))


def _judged(at: int, ran: _Ran, plain: _Ran) -> Outcome:
    if ran.status is None:
        return Outcome(at, "a hang")
    if ran.status not in (0, 1):
        return Outcome(at, ended_by(ran.status), ran.said[-300:])
    if ran.left > plain.left:
        return Outcome(at, "a leak", f"{ran.left - plain.left} allocations")
    wrong = set(_numbers(ran.said)) - set(_numbers(plain.said))
    if wrong:
        return Outcome(at, "wrong numbers", " ".join(sorted(wrong)))
    if ran.status == 0:
        return Outcome(at, "as without it")
    # The C library may not have been able to write the line: then the status alone says that it failed.
    return Outcome(at, "an error", ran.said[-200:])


def _numbers(said: str) -> Iterable[str]:
    return (line for line in said.splitlines() if line.replace(".", "").replace("-", "").isdigit())
