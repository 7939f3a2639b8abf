"""Recording what runs in this process: a trace is a file of the native library, see asc_trace.h."""

from __future__ import annotations

import os
import random
import shutil
import string
from datetime import datetime
from pathlib import Path

from ascend_ep.errors import AscendError

from .binding import fail, ffi, lib, new_status, path_bytes

#: Where traces lie in a folder PROF_... of a profile.
DATA = Path("host") / "data"
#: What the CPU counts, and what the system does: bits, in the order of the records.
COUNTERS = {
    "cycles": lib.ASC_COUNT_CYCLES,
    "instructions": lib.ASC_COUNT_INSTRUCTIONS,
    "cache_references": lib.ASC_COUNT_CACHE_REFERENCES,
    "cache_misses": lib.ASC_COUNT_CACHE_MISSES,
    "branch_misses": lib.ASC_COUNT_BRANCH_MISSES,
    "task_clock_ns": lib.ASC_COUNT_TASK_CLOCK,
    "page_faults": lib.ASC_COUNT_PAGE_FAULTS,
    "context_switches": lib.ASC_COUNT_CONTEXT_SWITCHES,
}
ALL_COUNTERS: int = sum(COUNTERS.values())


def new_folder(output: str | os.PathLike[str]) -> Path:
    """A new folder PROF_... in `output`, as msprof names it. Raises AscendError E40002."""
    now = datetime.now()
    letters = "".join(random.choices(string.ascii_uppercase, k=16))
    stamp = f"{now:%Y%m%d%H%M%S}{now.microsecond // 1000:03d}"
    folder = Path(output) / f"PROF_000001_{stamp}_{letters}"
    try:
        (folder / DATA).mkdir(parents=True)
    except OSError as error:
        raise AscendError("E40002", f"can't write [{folder}]: {error.strerror}") from error
    return folder


def remove_folder(folder: Path) -> None:
    """Removes what `new_folder` made, when nothing came of it."""
    shutil.rmtree(folder, ignore_errors=True)


def start(folder: str | os.PathLike[str], counters: int = 0, max_bytes: int = 0, *, thread: int = 0) -> None:
    """Records all runs of this process from now on into a new file in `folder`; `max_bytes` 0: 1 GiB.
    `thread`: those alone that the thread of this native id runs.

    Raises AscendError E40001 when that happens already, E40002 when the file can't be written.
    """
    options = ffi.new("asc_trace_options *")
    options.struct_bytes = ffi.sizeof("asc_trace_options")
    options.counters = counters
    options.max_bytes = max_bytes
    options.thread = thread
    status = new_status()
    if lib.asc_trace_start(path_bytes(folder), options, status):
        raise fail(status, os.fspath(folder))


def stop() -> AscendError | None:
    """Ends the recording. What was lost of it comes back as an error, E40002, since the rest is as good."""
    status = new_status()
    return fail(status) if lib.asc_trace_stop(status) else None


def is_on() -> bool:
    return bool(lib.asc_trace_is_on())


def span(kind: int, name: str, began: int) -> None:
    """Adds what this thread did since `began`, on the library's clock; kind: ASC_SPAN_..."""
    lib.asc_trace_add_span(kind, name.encode(), began, lib.asc_clock_ns())


def say_queued(at: int, thread: int) -> None:
    """What this thread runs from now on was put into a queue at `at`, of time.monotonic_ns, by the thread of
    that native id; at 0: it came by none."""
    if not at:
        lib.asc_trace_say_queued(ffi.NULL)
        return
    lib.asc_trace_say_queued(ffi.new("asc_trace_queued *", {"queued_ns": at, "from_thread": thread}))


def environment_value(folder: str | os.PathLike[str], counters: int = 0, max_bytes: int = 0) -> str:
    """The value of ASCEND_EP_PROFILE that makes another process record into `folder`."""
    return f"{Path(folder).absolute()}?counters={counters}&limit={max_bytes}"
