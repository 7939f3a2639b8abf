"""Reading a trace of the native library: the structures are those of native/include/asc_trace.h.

A trace whose process was killed ends in the middle; what is whole is read, and `complete` says so.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep import regular_file
from ascend_ep.errors import AscendError
from ascend_ep.runtime.binding import ffi, isa_name, lib, text_of
from ascend_ep.runtime.tracing import COUNTERS

KINDS = ("input", "output", "temp", "weight", "view")
NO_MODEL = 4294967295
#: One kernel call: where it ran, which call of which bound partition it is, of which run, and when (ns).
CALLS = np.dtype(
    [
        ("bound", np.uint32),
        ("index", np.uint32),
        ("run", np.uint32),
        ("thread", np.uint32),
        ("start", np.uint64),
        ("end", np.uint64),
    ]
)
#: One run of a bound partition: its calls are CALLS[first_call : first_call + n_calls]. `queued`: when thread
#: `host` began to hand it over to a queue, for `spent` ns; 0: it came by none.
RUNS = np.dtype(
    [
        ("bound", np.uint32),
        ("thread", np.uint32),
        ("start", np.uint64),
        ("end", np.uint64),
        ("code", np.int32),
        ("n_calls", np.uint32),
        ("first_call", np.uint64),
        ("queued", np.uint64),
        ("spent", np.uint32),
        ("host", np.uint32),
    ]
)


@dataclass(frozen=True)
class Operand:
    """`bytes` as they lie in memory, of a packed weight as packed; `kind` of KINDS."""

    value: int
    kind: str
    dtype: int
    dims: tuple[int, ...]
    layout: int
    bytes: int


@dataclass(frozen=True)
class KernelCall:
    """A call of a bound partition: absent operands are None. `core`: where a chip ran it; "" of a trace.
    `schedule`: the form that its kernel chose for these shapes, then sizes; "" of kernels with one form."""

    node: str
    kernel: str
    op_type: str
    inputs: tuple[Operand | None, ...]
    outputs: tuple[Operand | None, ...]
    ints: tuple[int, ...]
    floats: tuple[float, ...]
    is_library: bool
    core: str = ""
    schedule: str = ""

    @property
    def name(self) -> str:
        return self.node or self.kernel

    @property
    def bytes_read(self) -> int:
        return sum(o.bytes for o in self.inputs if o)

    @property
    def bytes_written(self) -> int:
        return sum(o.bytes for o in self.outputs if o)


@dataclass(frozen=True)
class Memory:
    """A temporary in the arena, in use from call `first_use` to call `last_use`."""

    value: int
    first_use: int
    last_use: int
    offset: int
    bytes: int


@dataclass(frozen=True)
class BoundPartition:
    """`path` of the bundle, empty for one in memory; `threads` that a call may use. `is_alone`: an operator
    or a kernel that a program launched itself, beside models."""

    number: int
    path: str
    partition: str
    isa: str
    threads: int
    arena_bytes: int
    workspace_bytes: int
    weight_bytes: int
    memory: tuple[Memory, ...]
    calls: tuple[KernelCall, ...]
    is_alone: bool = False

    @property
    def model(self) -> str:
        """The model's name: that of its file, else of the partition; msprof's N/A where there is none."""
        if self.is_alone:
            return "N/A"
        return Path(self.path).stem if self.path else self.partition

    @property
    def api(self) -> tuple[str, str]:
        """What the host calls to run it, and at which of msprof's levels."""
        return ("acl", self.calls[0].kernel) if self.is_alone else ("model", "ModelExecute")

    @property
    def model_id(self) -> int:
        """As msprof numbers models; 4294967295 stands for none."""
        return NO_MODEL if self.is_alone else self.number + 1


@dataclass(frozen=True)
class Span:
    """What ran beside native partitions: a host partition, or a whole model of several (`is_model`)."""

    name: str
    thread: int
    start: int
    end: int
    is_model: bool


@dataclass
class ProcessTrace:
    """One process: `epoch_ns` is what added to a time gives nanoseconds since 1970; `rank` its place in a
    distributed job, None outside of one."""

    path: str
    pid: int
    command: tuple[str, ...]
    start: int
    epoch_ns: int
    isa: str
    counters: tuple[str, ...]
    absent_counters: tuple[str, ...]
    bounds: list[BoundPartition] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    runs: NDArray[Any] = field(default_factory=lambda: np.empty(0, RUNS))
    calls: NDArray[Any] = field(default_factory=lambda: np.empty(0, CALLS))
    #: per call and counter, in the order of `counters`
    counts: NDArray[np.uint64] = field(default_factory=lambda: np.empty((0, 0), np.uint64))
    #: of a chip, per call: the share of cycles in which each of msprof_reading.UNITS was busy, or NaN
    busy: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32))
    complete: bool = False
    lost: int = 0
    version: int = int(lib.ASC_TRACE_VERSION)
    rank: int | None = None

    @cached_property
    def queue_ns(self) -> NDArray[np.int64]:
        """Of each run the time from its hand-over to a queue to its start; -1 of one that came by none, or
        after another run of the same hand-over, as the parts of a model do."""
        order = np.lexsort((self.runs["host"], self.runs["queued"]))
        queued, host = self.runs["queued"][order], self.runs["host"][order]
        again = np.zeros(len(order), bool)
        again[order[1:]] = (queued[1:] == queued[:-1]) & (host[1:] == host[:-1])
        waited = self.runs["start"].astype(np.int64) - self.runs["queued"].astype(np.int64)
        return np.where((self.runs["queued"] > 0) & ~again, np.maximum(0, waited), -1)

    @cached_property
    def end(self) -> int:
        """When the last thing that is known ended."""
        ends = [int(self.runs["end"].max())] if len(self.runs) else []
        return max([self.start, *ends, *(s.end for s in self.spans)])


_RUN_WORDS = ffi.sizeof("asc_trace_run") // 8


class _Runs:
    """Collects runs; many of one partition after another are taken at once."""

    def __init__(self, n_counters: int) -> None:
        self.n_counters = n_counters
        self.runs: list[NDArray[Any]] = []
        self.calls: list[NDArray[Any]] = []
        self.counts: list[NDArray[np.uint64]] = []
        self.n_runs = self.n_calls = 0

    def take(self, body: NDArray[np.uint64], at: int) -> int:
        """Reads the run at word `at` and those behind it that are alike; returns the word behind them."""
        size = int(body[at] >> np.uint64(32)) // 8
        head, bound = body[at], body[at + 1] & np.uint64(0xFFFFFFFF)
        number, found = 1, 1
        while found == number:
            number = min(2 * number, (len(body) - at) // size)
            table = body[at : at + number * size].reshape(number, size)
            alike = (table[:, 0] == head) & (table[:, 1] & np.uint64(0xFFFFFFFF) == bound)
            found = number if alike.all() else int(alike.argmin())
            if number == (len(body) - at) // size:
                break
        self._add(body[at : at + found * size].reshape(found, size))
        return at + found * size

    def _add(self, table: NDArray[np.uint64]) -> None:
        low = np.uint64(0xFFFFFFFF)
        n_calls = (table[0, 4] >> np.uint64(32)).astype(int)
        first = self.n_calls + np.arange(len(table), dtype=np.uint64) * np.uint64(n_calls)
        runs = np.zeros(len(table), RUNS)
        runs["bound"], runs["thread"] = table[:, 1] & low, table[:, 1] >> np.uint64(32)
        runs["start"], runs["end"] = table[:, 2], table[:, 3]
        runs["code"] = (table[:, 4] & low).astype(np.uint32).view(np.int32)
        runs["n_calls"], runs["first_call"] = n_calls, first
        rest = table[:, _RUN_WORDS:]
        if int(table[0, 0]) & 0xFFFFFFFF == lib.ASC_TRACE_QUEUED_RUN:
            runs["queued"], runs["spent"], runs["host"] = (
                rest[:, 0],
                rest[:, 1] & low,
                rest[:, 1] >> np.uint64(32),
            )
            rest = rest[:, ffi.sizeof("asc_trace_queued") // 8 :]
        times = rest[:, : 2 * n_calls].reshape(len(table), n_calls, 2)
        calls = np.zeros((len(table), n_calls), CALLS)
        calls["bound"], calls["thread"] = runs["bound"][:, None], runs["thread"][:, None]
        calls["index"] = np.arange(n_calls)
        calls["run"] = (self.n_runs + np.arange(len(table)))[:, None]
        calls["start"], calls["end"] = times[:, :, 0], times[:, :, 1]
        self.runs.append(runs)
        self.calls.append(calls.reshape(-1))
        if self.n_counters:
            counts = np.zeros((len(table), n_calls, self.n_counters), np.uint64)
            given = rest[:, 2 * n_calls : n_calls * (2 + self.n_counters)]
            counts.reshape(len(table), -1)[:, : given.shape[1]] = given
            self.counts.append(counts.reshape(-1, self.n_counters))
        self.n_runs += len(table)
        self.n_calls += len(table) * n_calls


def read_trace(path: str | os.PathLike[str]) -> ProcessTrace:
    """Raises AscendError E40002 when the file can't be read, E44001 when it is no trace."""
    try:
        data = regular_file.read(path)
    except OSError as error:
        raise AscendError("E40002", f"can't read [{path}]: {error.strerror}") from error
    trace = _process(data, os.fspath(path))
    body = np.frombuffer(data[: len(data) // 8 * 8], np.uint64)
    runs = _Runs(len(trace.counters))
    for kind, at, size in _records(body, runs):
        record = data[8 * at : 8 * at + size]
        if kind == lib.ASC_TRACE_BOUND:
            trace.bounds.append(_bound(record, trace.version))
        elif kind == lib.ASC_TRACE_SPAN:
            trace.spans.append(_span(record))
        elif kind == lib.ASC_TRACE_END:
            end = ffi.cast("asc_trace_end *", ffi.from_buffer(record))
            trace.complete, trace.lost = True, end.lost
    if runs.runs:
        trace.runs, trace.calls = np.concatenate(runs.runs), np.concatenate(runs.calls)
        if runs.counts:
            trace.counts = np.concatenate(runs.counts)
    return trace


def _records(body: NDArray[np.uint64], runs: _Runs) -> Iterator[tuple[int, int, int]]:
    """Kind, word and bytes of every whole record that is no run; runs go to `runs`."""
    at = 0
    while at < len(body):
        kind, size = int(body[at]) & 0xFFFFFFFF, int(body[at]) >> 32
        if size < 8 or size % 8 or at + size // 8 > len(body):
            return
        if kind in (lib.ASC_TRACE_RUN, lib.ASC_TRACE_QUEUED_RUN):
            at = runs.take(body, at)
        else:
            yield kind, at, size
            at += size // 8


def _process(data: bytes, path: str) -> ProcessTrace:
    size = ffi.sizeof("asc_trace_process")
    head = ffi.cast("asc_trace_process *", ffi.from_buffer(data)) if len(data) >= size else None
    if head is None or head.magic != lib.ASC_TRACE_MAGIC or head.record.kind != lib.ASC_TRACE_PROCESS:
        raise AscendError("E44001", path, "it doesn't begin as one")
    if not 1 <= head.version <= lib.ASC_TRACE_VERSION:
        raise AscendError("E44001", path, f"it has version {head.version}")
    words = data[size : size + head.text_bytes].decode("utf-8", "replace").rstrip("\0").split("\0")
    return ProcessTrace(
        path,
        head.pid,
        tuple(words),
        head.start_ns,
        head.epoch_ns - head.start_ns,
        _isa(head.isa, head.version) or isa_name(),
        tuple(name for name, bit in COUNTERS.items() if head.counters & bit),
        tuple(name for name, bit in COUNTERS.items() if head.asked & ~head.counters & bit),
        version=head.version,
        rank=head.ranked - 1 if head.ranked else None,
    )


def _isa(number: int, version: int) -> str:
    """The name of an ISA level. Before version 3 there was none between avx512 and avx512bf16."""
    return text_of(lib.asc_isa_name(number + (version < 3 and number >= lib.ASC_ISA_AVX512VNNI)))


def _span(record: bytes) -> Span:
    s = ffi.cast("asc_trace_span *", ffi.from_buffer(record))
    size = ffi.sizeof("asc_trace_span")
    name = record[size : size + s.text_bytes].rstrip(b"\0").decode("utf-8", "replace")
    return Span(name, s.thread, s.start_ns, s.end_ns, s.kind == lib.ASC_SPAN_MODEL)


def _bound(record: bytes, version: int) -> BoundPartition:
    start = ffi.cast("char *", ffi.from_buffer(record))
    head = ffi.cast("asc_trace_bound *", start)
    texts = iter(record[len(record) - (-head.text_bytes % 8) - head.text_bytes :].split(b"\0"))

    def text() -> str:
        return next(texts).decode("utf-8", "replace")

    path, partition = text(), text()
    at = ffi.sizeof("asc_trace_bound")
    values = ffi.cast("asc_trace_value *", start + at)
    memory = tuple(
        Memory(v.value, v.first_use, v.last_use, v.offset, v.bytes)
        for v in (values[i] for i in range(head.n_values))
    )
    at += head.n_values * ffi.sizeof("asc_trace_value")
    calls = []
    for _ in range(head.n_insns):
        insn = ffi.cast("asc_trace_insn *", start + at)
        at += ffi.sizeof("asc_trace_insn")
        operands = ffi.cast("asc_trace_operand *", start + at)
        found = [_operand(operands[i]) for i in range(insn.n_in + insn.n_out)]
        at += len(found) * ffi.sizeof("asc_trace_operand")
        ints = ffi.unpack(ffi.cast("int64_t *", start + at), insn.n_ints) if insn.n_ints else []
        at += 8 * insn.n_ints
        floats = ffi.unpack(ffi.cast("double *", start + at), insn.n_floats) if insn.n_floats else []
        at += 8 * insn.n_floats
        ins, outs = tuple(found[: insn.n_in]), tuple(found[insn.n_in :])
        said = (text(), text(), text())
        schedule = text() if version > 1 else ""
        given = (tuple(ints), tuple(floats))
        calls.append(KernelCall(*said, ins, outs, *given, bool(insn.library), schedule=schedule))
    return BoundPartition(
        head.number,
        path,
        partition,
        _isa(head.isa, version),
        head.threads,
        head.arena_bytes,
        head.workspace_bytes,
        head.weight_bytes,
        memory,
        tuple(calls),
        head.partition == lib.ASC_NONE,
    )


def _operand(o: Any) -> Operand | None:
    if o.value == lib.ASC_NONE:
        return None
    dims = tuple(o.dims[i] for i in range(o.rank))
    return Operand(o.value, KINDS[o.kind], o.dtype, dims, o.layout, o.bytes)


def elements(operand: Operand | None) -> int:
    return math.prod(operand.dims) if operand else 0
