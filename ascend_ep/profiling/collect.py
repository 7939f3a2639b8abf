"""Running a command so that every model in it is recorded, in whatever runtime, server or language."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError
from ascend_ep.profiling.profile import has_records
from ascend_ep.runtime import tracing

#: What a shell reports of a command that it can't find or start.
NOT_FOUND, NOT_STARTED = 127, 126


@dataclass(frozen=True)
class Collection:
    """The folder of a profile that was made, and the command's exit status."""

    folder: Path
    status: int


def run_command(
    command: Sequence[str], output: str | os.PathLike[str], counters: int = 0, max_bytes: int = 0
) -> Collection:
    """Runs the command to its end; interrupts go to it, and what was recorded until then is kept.

    Raises AscendError E44003 when it can't be started, E40002 when `output` can't be written, and
    KeyboardInterrupt for an interrupt before anything was recorded. Then nothing is left.
    """
    with atomic_file.removing_new([Path(output)]):
        folder = tracing.new_folder(output)
        try:
            return Collection(folder, _run(command, folder, counters, max_bytes))
        except BaseException:
            tracing.remove_folder(folder)
            raise


def _run(command: Sequence[str], folder: Path, counters: int, max_bytes: int) -> int:
    told = tracing.environment_value(folder / tracing.DATA, counters, max_bytes)
    environment = {**os.environ, "ASCEND_EP_PROFILE": told}
    try:
        process = subprocess.Popen([_program(command[0]), *command[1:]], env=environment)
    except OSError as error:
        raise AscendError("E44003", f"{command[0]}: {error.strerror}") from error
    status, was_interrupted = _wait(process)
    if was_interrupted and not has_records(folder):
        raise KeyboardInterrupt
    return status


def _program(name: str) -> str:
    """The command of this name, else the program of this name in the present folder, as msprof takes it."""
    here = Path(name)
    return f"./{name}" if here.name == name and not shutil.which(name) and here.is_file() else name


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, bool]:
    """Its status, and whether Ctrl-C was meant to end it. The terminal sends that to the command as well: it
    is for the command to say what that means."""
    asked = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    was_interrupted = False
    try:
        while True:
            try:
                status = process.wait()
            except KeyboardInterrupt:
                was_interrupted = True
            else:
                return 128 - status if status < 0 else status, was_interrupted
    finally:
        signal.signal(signal.SIGTERM, asked)
