"""The process that a TBE file runs in: the user's code with the user's rights, within limits of resources."""

from __future__ import annotations

import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ascend_ep.errors import AscendError

WALL_SECONDS = 30.0
CPU_SECONDS = 20
MEMORY_BYTES = 2 << 30
FILE_BYTES = 64 << 20
ANSWER_BYTES = 8 << 20
PRINTED_BYTES = 16 << 10


@dataclass(frozen=True)
class Answer:
    """What a run gave: data that nobody has checked, and the end of what the file printed."""

    data: Any
    printed: str


def run_file(
    path: Path,
    text: str,
    jobs: Sequence[Mapping[str, Any]],
    seconds: float = WALL_SECONDS,
    *,
    confined: bool = False,
) -> Answer:
    """Runs `text` as the file `path` and its operator once for each job.

    The process can do what its user can, unless it is `confined` to computing (toolkit.confinement); it
    ends after `seconds`, CPU_SECONDS of computing or MEMORY_BYTES.
    Raises E42113 when it was stopped or died, saying by what.
    """
    read, write = os.pipe()
    command = [sys.executable, "-I", "-c", _START, _package_folder(), str(path), str(write)]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(write,),
            env=_environment(),
            preexec_fn=_limit,
            start_new_session=True,
        )
    except OSError as error:
        os.close(read)
        raise AscendError(
            "E42113", f"no process could be started ({error.strerror})", where=str(path)
        ) from None
    finally:
        os.close(write)
    request = json.dumps({"text": text, "jobs": list(jobs), "confined": confined}).encode()
    try:
        answered, printed, late = _exchange(process, request, read, time.monotonic() + seconds)
    finally:
        _end(process)
        os.close(read)
    if late:
        raise AscendError("E42113", late, where=str(path), details=_last_lines(printed))
    return Answer(_parsed(answered, process.returncode, printed, path), printed)


_START = """
import sys
sys.path.insert(0, sys.argv[1])
from ascend_ep.frontends.tbe.toolkit.run import main
main(sys.argv[2:])
"""


def _package_folder() -> str:
    """The folder that this package is imported from."""
    return str(Path(__file__).resolve().parents[3])


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")}
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    return {**kept, **threads, "ASCEND_EP_REGISTER": "0", "PYTHONIOENCODING": "utf-8"}


def _limit() -> None:
    """In the new process, before Python starts."""
    for what, most in (
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):
            _, hard = resource.getrlimit(what)
            limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (limit, limit))


def _exchange(
    process: subprocess.Popen[bytes], request: bytes, read: int, deadline: float
) -> tuple[bytes, str, str]:
    """Writes the request and reads both streams until they end: the answer, what was printed, and why the
    process must be stopped ("" when it needn't)."""
    assert process.stdin is not None
    assert process.stdout is not None
    chunks: dict[int, bytearray] = {read: bytearray(), process.stdout.fileno(): bytearray()}
    left = memoryview(request)
    with selectors.DefaultSelector() as selector:
        for stream in (read, process.stdout.fileno()):
            os.set_blocking(stream, False)
            selector.register(stream, selectors.EVENT_READ)
        os.set_blocking(process.stdin.fileno(), False)
        selector.register(process.stdin.fileno(), selectors.EVENT_WRITE)
        while any(key.fd in chunks for key in selector.get_map().values()):
            for key, _ in selector.select(min(0.1, max(0.0, deadline - time.monotonic()))):
                if key.fd in chunks:
                    if not _receive(
                        key.fd, chunks[key.fd], ANSWER_BYTES if key.fd == read else PRINTED_BYTES
                    ):
                        selector.unregister(key.fd)
                else:
                    left = _send(process.stdin, left)
                    if not left:
                        selector.unregister(key.fd)
                        with suppress(OSError):
                            process.stdin.close()
            if len(chunks[read]) > ANSWER_BYTES:
                return b"", "", "what it recorded has more than 8 MB"
            if time.monotonic() >= deadline:
                printed = chunks[process.stdout.fileno()].decode("utf-8", "replace")
                return b"", printed, "it didn't end in time"
            if process.poll() is not None and not selector.select(0):
                break  # a process that it started may hold the streams open
    return bytes(chunks[read]), chunks[process.stdout.fileno()].decode("utf-8", "replace"), ""


def _receive(stream: int, data: bytearray, most: int) -> bool:
    """Takes what is there, of printed text the first part only; False at the end."""
    try:
        chunk = os.read(stream, 1 << 16)
    except BlockingIOError:
        return True
    except OSError:
        return False
    if len(data) <= most:
        data += chunk[: most + 1 - len(data)]
    return bool(chunk)


def _send(stream: IO[bytes], data: memoryview) -> memoryview:
    try:
        return data[os.write(stream.fileno(), data[: 1 << 16]) :]
    except BlockingIOError:
        return data
    except OSError:  # it died; its end says why
        return data[:0]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Waits a moment, and ends the process with everything it started in its group."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.5)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _parsed(answered: bytes, status: int, printed: str, path: Path) -> Any:
    if answered:
        try:
            return json.loads(answered)
        except (ValueError, RecursionError):
            pass
    reason = f"it ended with status {status} before it was done"
    if status == -signal.SIGXCPU or status == -signal.SIGKILL:
        reason = f"it computed for more than {CPU_SECONDS} s"
    elif "MemoryError" in printed:
        reason = f"it wanted more than {MEMORY_BYTES >> 30} GB of memory"
    elif status < 0:
        reason = f"it died by signal {-status} ({signal.Signals(-status).name})"
    elif status == 0:
        reason = "it ended by itself before the operator was recorded (exit?)"
    raise AscendError("E42113", reason, where=str(path), details=_last_lines(printed))


def _last_lines(printed: str) -> list[str]:
    return [line[:200] for line in printed.strip().splitlines()[-3:]]
