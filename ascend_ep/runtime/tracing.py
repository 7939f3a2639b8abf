"""Recording what runs in this process: a trace is a file of the native library, see asc_trace.h."""

from __future__ import annotations

import os
from pathlib import Path

from ascend_ep.errors import AscendError

from .binding import fail, ffi, lib, new_status

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


def start(folder: str | os.PathLike[str], counters: int = 0, max_bytes: int = 0) -> None:
    """Records all runs of this process from now on into a new file in `folder`; `max_bytes` 0: 1 GiB.

    Raises AscendError E40001 when that happens already, E40002 when the file can't be written.
    """
    options = ffi.new("asc_trace_options *")
    options.struct_bytes = ffi.sizeof("asc_trace_options")
    options.counters = counters
    options.max_bytes = max_bytes
    status = new_status()
    if lib.asc_trace_start(os.fsencode(folder), options, status):
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


def environment_value(folder: str | os.PathLike[str], counters: int = 0, max_bytes: int = 0) -> str:
    """The value of ASCEND_EP_PROFILE that makes another process record into `folder`."""
    return f"{Path(folder).absolute()}?counters={counters}&limit={max_bytes}"
