"""A profile: the traces of the processes of one command, with what its files and tables need of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.errors import AscendError
from ascend_ep.profiling.msprof_reading import read_tables, sums_alone, sums_in, tables_in
from ascend_ep.profiling.trace_file import BoundPartition, KernelCall, ProcessTrace, read_trace
from ascend_ep.profiling.work import Work, core_type, work_of
from ascend_ep.runtime.tracing import DATA


@dataclass(frozen=True)
class Site:
    """One call of one bound partition: what is the same each time that it runs. `op_type` without domains."""

    process: ProcessTrace
    bound: BoundPartition
    index: int
    call: KernelCall
    op_type: str
    core: str
    work: Work | None

    @property
    def name(self) -> str:
        return self.call.node or f"{self.call.kernel}_{self.index}"

    @property
    def is_fused(self) -> bool:
        return "+" in self.op_type


@dataclass
class Profile:
    """The traces of a folder PROF_...; `folder` is the profile's own, and there as long as `holder` is.
    `of_chip`: it was made of msprof's tables, and a process is a device."""

    folder: Path
    processes: list[ProcessTrace]
    holder: object = None
    of_chip: bool = False

    @cached_property
    def begun(self) -> datetime:
        first = min(p.start + p.epoch_ns for p in self.processes)
        return datetime.fromtimestamp(first / 1e9)

    @cached_property
    def midnight_ns(self) -> int:
        """Of the day on which it began, in nanoseconds since 1970: what the timeline counts from."""
        day = self.begun.replace(hour=0, minute=0, second=0, microsecond=0)
        return round(day.timestamp()) * 1_000_000_000

    @property
    def stamp(self) -> str:
        """Fourteen digits, as files of msprof have them."""
        return f"{self.begun:%Y%m%d%H%M%S}"

    @cached_property
    def sites(self) -> dict[tuple[int, int], list[Site]]:
        """By number of the process and of its bound partition."""
        return {
            (p, bound.number): [
                Site(process, bound, i, call, short_type(call), core_type(call), work_of(call))
                for i, call in enumerate(bound.calls)
            ]
            for p, process in enumerate(self.processes)
            for bound in process.bounds
        }

    @cached_property
    def sums(self) -> list[tuple[Site, NDArray[np.uint64]]]:
        """Each site that ran with the nanoseconds of its calls."""
        found = []
        for p, process in enumerate(self.processes):
            calls = process.calls
            if not len(calls):
                continue
            order = np.lexsort((calls["index"], calls["bound"]))
            sorted_calls = calls[order]
            spent = sorted_calls["end"] - sorted_calls["start"]
            keys = sorted_calls["bound"].astype(np.uint64) << np.uint64(32) | sorted_calls["index"]
            edges = np.flatnonzero(np.diff(keys)) + 1
            for part, first in zip(np.split(spent, edges), [0, *edges.tolist()], strict=True):
                at = sorted_calls[first]
                found.append((self.sites[p, int(at["bound"])][int(at["index"])], part))
        return found

    @cached_property
    def wall_ns(self) -> int:
        """The time in runs of partitions and in host partitions, threads added up."""
        total = 0
        for p in self.processes:
            total += int((p.runs["end"] - p.runs["start"]).sum())
            total += sum(s.end - s.start for s in p.spans if not s.is_model)
        return total

    @property
    def kernel_ns(self) -> int:
        return int(sum(int(ns.sum()) for _, ns in self.sums))

    def host_spans(self) -> Iterator[tuple[ProcessTrace, Any]]:
        for process in self.processes:
            for span in process.spans:
                if not span.is_model:
                    yield process, span


def short_type(call: KernelCall) -> str:
    """The operators of a call as ONNX names them, "MatMul+Add", without domains; of none the kernel."""
    names = [part.rsplit("::", 1)[-1] for part in call.op_type.split("+")]
    return "+".join(n for n in names if n) or call.kernel


def find_profile(folder: str | os.PathLike[str]) -> Path:
    """The folder with traces or msprof's tables: this one, or the newest PROF_... or ..._ascend_pt in it; or
    a table itself. Raises AscendError E44002, E44010 where there are but sums."""
    root = Path(folder)
    inside = sorted(root.glob("PROF_*"), key=lambda p: p.name.split("_")[1:3], reverse=True)
    places = (root, *inside, *sorted(root.glob("*_ascend_pt"), reverse=True))
    for found in places:
        if _traces(found) or tables_of(found):
            return found
    for found in places:
        if sums := sums_in(found):
            raise sums_alone(sums[0])
    raise AscendError("E44002", folder)


def tables_of(found: Path) -> list[Path]:
    """msprof's tables in a folder without traces, or the one that was named."""
    if found.is_file():
        return [found] if found.suffix == ".csv" else []
    return [] if _traces(found) else tables_in(found)


def _traces(found: Path) -> list[Path]:
    return sorted((found / DATA).glob("*.trace"))


def has_records(folder: Path) -> bool:
    """Whether anything was recorded into this folder."""
    return bool(_traces(folder))


def open_profile(folder: str | os.PathLike[str]) -> Profile:
    """Reads the profile in `folder`, or the newest within it.

    Raises AscendError E44001, E44002, E44010 and E40002.
    """
    found = find_profile(folder)
    if tables := tables_of(found):
        return Profile(found, read_tables(tables), of_chip=True)
    traces = [read_trace(path) for path in _traces(found)]
    return Profile(found, sorted(traces, key=lambda t: t.start + t.epoch_ns))


def own(profile: Profile) -> Profile:
    """The profile, whose files may be written. Raises AscendError E44011 where others wrote them."""
    if profile.of_chip:
        raise AscendError("E44011", profile.folder)
    return profile
