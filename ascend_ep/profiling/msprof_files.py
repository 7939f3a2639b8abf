"""msprof's CSV files of a profile: names, columns and units as its documentation has them.

A CPU has none of an AI core's counters: those columns are N/A. What was measured or counted here stands
behind them, in columns that begin with cpu_; what a model of a chip says, if it is asked for, in columns that
begin with model_. `Task Type` is the kind of core that the operator takes on the chip; streams are threads;
times count from 1970.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ascend_ep import atomic_file
from ascend_ep.cann.chip_rates import ChipRates
from ascend_ep.element_types import ELEMENT_TYPES
from ascend_ep.errors import AscendError
from ascend_ep.profiling import chip_model
from ascend_ep.profiling.metrics import columns_of
from ascend_ep.profiling.profile import Profile, Site
from ascend_ep.profiling.rounding import as_numbers
from ascend_ep.profiling.trace_file import Operand, ProcessTrace

#: Where the files lie in a profile's folder.
OUTPUT = "mindstudio_profiler_output"
ABSENT = "N/A"
#: The number of the one device, the CPU.
DEVICE = 0


def _columns(names: str) -> list[str]:
    return names.split(",")


OP_SUMMARY = _columns(
    "Device_id,Model Name,Model ID,Task ID,Stream ID,Infer ID,Op Name,OP Type,OP State,Task Type,"
    "Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,"
    "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID"
)
CPU_COLUMNS = _columns(
    "cpu_kernel,cpu_isa,cpu_schedule,cpu_bytes_read(B),cpu_bytes_written(B),cpu_operations,cpu_GOPS,cpu_GB/s,"
    "cpu_queue_time(us)"
)
OP_STATISTIC = _columns(
    "Device_id,Model Name,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),"
    "Ratio(%)"
)
FUSION_OP = _columns(
    "Device_id,Model Name,Model ID,Fusion Op,Original Ops,Memory Input(KB),Memory Output(KB),"
    "Memory Weight(KB),Memory Workspace(KB),Memory Total(KB)"
)
STEP_TRACE = _columns(
    "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP Time(us),"
    "Iteration Refresh(us),Data Aug Bound(us),Model ID"
)
TASK_TIME = _columns(
    "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)"
)
API_STATISTIC = _columns("Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance")
Row = list[Any]


def us(ns: int) -> str:
    """Microseconds with the clock's nanoseconds."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def write_csv_files(
    profile: Profile, metrics: str, folder: Path | None = None, rates: ChipRates | None = None
) -> list[Path]:
    """Writes all of them; returns their paths. Raises AscendError E40002."""
    target = folder or profile.folder / OUTPUT
    tables: list[tuple[str, list[str], Iterable[Row]]] = [
        ("op_summary", op_summary_header(profile, metrics, rates), op_summary(profile, metrics, rates)),
        (
            "op_statistic",
            [*OP_STATISTIC, *(chip_model.OF_TYPES if rates else [])],
            op_statistic(profile, rates),
        ),
        ("task_time", TASK_TIME, task_time(profile)),
        ("api_statistic", API_STATISTIC, api_statistic(profile)),
        ("step_trace", STEP_TRACE, step_trace(profile)),
        ("fusion_op", FUSION_OP, fusion_op(profile)),
    ]
    return [
        write_table(target / f"{name}_{profile.stamp}.csv", header, rows) for name, header, rows in tables
    ]


def write_table(path: Path, header: list[str], rows: Iterable[Row]) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file.replacing_text(path, synced=False) as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)
    except OSError as error:
        raise AscendError("E40002", f"can't write [{path}]: {error.strerror}") from error
    return path


# --- operands --------------------------------------------------------------------------------------


@cache
def ge_type(dtype: int) -> str:
    """FLOAT, FLOAT16, INT64, DT_BF16 ... as msprof writes types."""
    ge = ELEMENT_TYPES[dtype].ge if dtype in ELEMENT_TYPES else ""
    return ge if ge == "DT_BF16" else ge.removeprefix("DT_") or "UNDEFINED"


def given(operands: tuple[Operand | None, ...]) -> tuple[Operand | None, ...]:
    """Without absent ones at the end."""
    count = max((i + 1 for i, o in enumerate(operands) if o), default=0)
    return operands[:count]


def shapes_of(operands: Iterable[Operand | None]) -> str:
    return '"' + ";".join(",".join(map(str, o.dims)) if o else "" for o in operands) + '"'


def types_of(operands: Iterable[Operand | None]) -> str:
    return ";".join(ge_type(o.dtype) if o else "UNDEFINED" for o in operands)


def formats_of(operands: Iterable[Operand | None]) -> str:
    return ";".join("ND" if o else "NULL" for o in operands)


# --- tasks ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Task:
    """One call as it ran; the number of its stream is that of its thread among those of the profile."""

    site: Site
    number: int
    stream: int
    infer: int
    run: int  #: among those of the profile
    step: int  #: likewise (steps_of)
    start: int  #: nanoseconds since 1970
    duration: int
    wait: int  #: since the task before it on the stream ended
    queued: int | None  #: from the hand-over to a queue to the start of the run, whose first call it is
    counts: Any


def streams(profile: Profile) -> dict[tuple[int, int], int]:
    """The number of each thread, by process and thread."""
    found: dict[tuple[int, int], int] = {}
    for p, process in enumerate(profile.processes):
        threads = np.unique(process.runs["thread"]).tolist() + sorted({s.thread for s in process.spans})
        for thread in threads:
            found.setdefault((p, thread), len(found))
    return found


def tasks(profile: Profile) -> Iterator[Task]:
    """All calls, by process in the order in which they were recorded."""
    numbers, count, first_run, first_step = streams(profile), 0, 0, 0
    for p, process in enumerate(profile.processes):
        steps = steps_of(process)
        last: dict[int, int] = {}
        infers, begun = _infers(process), process.epoch_ns
        queued = process.queue_ns.tolist()
        has_counts = len(process.counts) > 0
        columns = (process.calls[name] for name in ("bound", "index", "run", "thread", "start", "end"))
        for i, bound, index, run, thread, start, end in as_numbers(np.arange(len(process.calls)), *columns):
            wait = max(0, start - last.get(thread, start))
            last[thread] = end
            yield Task(
                profile.sites[p, bound][index],
                count,
                numbers[p, thread],
                infers[run],
                first_run + run,
                first_step + steps[run],
                start + begun,
                end - start,
                wait,
                queued[run] if index == 0 and queued[run] >= 0 else None,
                process.counts[i] if has_counts else None,
            )
            count += 1
        first_run += len(process.runs)
        first_step += max(steps, default=-1) + 1


def steps_of(process: ProcessTrace) -> list[int]:
    """The step of each run, from 0: a run of a model is one, and so is what a program launches between."""
    alone = np.array([b.is_alone for b in process.bounds], bool)[process.runs["bound"]]
    begins = ~(alone[1:] & alone[:-1])
    return [0, *np.cumsum(begins).tolist()] if len(alone) else []


def _infers(process: ProcessTrace) -> list[int]:
    """The number of each run among those of its model, from 1."""
    models = {b.number: (b.path, b.partition) for b in process.bounds}
    seen: dict[tuple[str, str], int] = defaultdict(int)
    found = []
    for bound in process.runs["bound"].tolist():
        model = models[bound]
        seen[model] += 1
        found.append(seen[model])
    return found


def counter_names(profile: Profile) -> list[str]:
    """Counters that all processes have."""
    return list(profile.processes[0].counters) if profile.processes else []


def op_summary_header(profile: Profile, metrics: str, rates: ChipRates | None = None) -> list[str]:
    counters = [f"cpu_{name}" for name in counter_names(profile)]
    modelled = chip_model.OF_CALLS if rates else []
    return [*OP_SUMMARY, *columns_of(metrics), *CPU_COLUMNS, *counters, *modelled]


def op_summary(profile: Profile, metrics: str, rates: ChipRates | None = None) -> Iterator[Row]:
    pmu = [ABSENT] * len(columns_of(metrics))
    fixed: dict[int, tuple[Row, Row, Row, Row]] = {}
    counters = counter_names(profile)
    for task in tasks(profile):
        site = task.site
        known = fixed.get(id(site))
        if known is None:
            modelled = chip_model.call_columns(site, rates) if rates else []
            known = fixed[id(site)] = (*_fixed_columns(site), modelled)
        head, middle, tail, modelled = known
        times = [us(task.start) + "\t", us(task.duration), us(task.wait)]
        seconds = task.duration / 1e9 or 1e-9
        attained = [
            round(site.work.operations / seconds / 1e9, 3) if site.work else ABSENT,
            round((site.call.bytes_read + site.call.bytes_written) / seconds / 1e9, 3),
            ABSENT if task.queued is None else us(task.queued),
        ]
        counts = [int(c) for c in task.counts] if task.counts is not None else [ABSENT] * len(counters)
        yield [
            DEVICE,
            *head[:2],
            task.number,
            task.stream,
            task.infer,
            *head[2:],
            *times,
            *middle,
            *pmu,
            *tail,
            *attained,
            *counts,
            *modelled,
        ]


def _fixed_columns(site: Site) -> tuple[Row, Row, Row]:
    call, bound = site.call, site.bound
    head = [bound.model, bound.model_id, site.name, site.op_type, "static", site.core]
    sides = (given(call.inputs), given(call.outputs))
    operands = [part(side) for side in sides for part in (shapes_of, types_of, formats_of)]
    middle = [bound.threads, 0, "NO", *operands, ABSENT]
    work = site.work.operations if site.work else ABSENT
    return head, middle, [*chosen_for(site), call.bytes_read, call.bytes_written, work]


def chosen_for(site: Site) -> Row:
    """What computed the call: kernel, ISA level, and the schedule of kernels with several forms."""
    return [site.call.kernel, site.bound.isa, site.call.schedule or ABSENT]


# --- sums -------------------------------------------------------------------------------------------


def op_statistic(profile: Profile, rates: ChipRates | None = None) -> Iterator[Row]:
    modelled = chip_model.totals(profile, rates) if rates else {}
    groups: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for site, spent in profile.sums:
        groups[site.bound.model, site.op_type, site.core].append(spent)
    for process, span in profile.host_spans():
        name = process.bounds[0].model if process.bounds else span.name
        groups[name, "HostPartition", "AI_CPU"].append(np.array([span.end - span.start], np.uint64))
    total = sum(int(part.sum()) for parts in groups.values() for part in parts) or 1
    rows = [(key, np.concatenate(parts)) for key, parts in groups.items()]
    for key, spent in sorted(rows, key=lambda row: -int(row[1].sum())):
        whole = int(spent.sum())
        yield [
            DEVICE,
            *key,
            len(spent),
            us(whole),
            us(int(spent.min())),
            us(whole // len(spent)),
            us(int(spent.max())),
            f"{100 * whole / total:.3f}",
            *([rates.soc.name, _model_us(modelled.get(key))] if rates else []),
        ]


def _model_us(seconds: float | None) -> str:
    return ABSENT if seconds is None else f"{1e6 * seconds:.3f}"


def task_time(profile: Profile) -> Iterator[Row]:
    for task in tasks(profile):
        times = (us(task.duration), us(task.start) + "\t", us(task.start + task.duration) + "\t")
        yield [DEVICE, task.site.name, task.site.core, task.stream, task.number, *times]
    for span, process, stream in _host_tasks(profile):
        start = span.start + process.epoch_ns
        duration = span.end - span.start
        yield [
            DEVICE,
            span.name,
            "AI_CPU",
            stream,
            ABSENT,
            us(duration),
            us(start) + "\t",
            us(start + duration) + "\t",
        ]


def _host_tasks(profile: Profile) -> Iterator[tuple[Any, ProcessTrace, int]]:
    numbers = streams(profile)
    for p, process in enumerate(profile.processes):
        for span in process.spans:
            if not span.is_model:
                yield span, process, numbers[p, span.thread]


def api_statistic(profile: Profile) -> Iterator[Row]:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for process in profile.processes:
        spent = (process.runs["end"] - process.runs["start"]).tolist()
        names = {b.number: b.api for b in process.bounds}
        for number, ns in zip(process.runs["bound"].tolist(), spent, strict=True):
            groups[names[number]].append(ns)
        for span in process.spans:
            name = "InferenceSession.run" if span.is_model else "HostPartition"
            groups["model", name].append(span.end - span.start)
    for (level, name), found in groups.items():
        if not found:
            continue
        array = np.array(found) / 1e3
        numbers = (array.mean(), array.min(), array.max(), array.var())
        yield ["host", level, name, f"{array.sum():.3f}", len(found), *(f"{n:.3f}" for n in numbers)]


def step_trace(profile: Profile) -> Iterator[Row]:
    """An iteration is a run of the first partition of a model; there is no training here, so no BP."""
    number = 0
    for process in profile.processes:
        begun = process.epoch_ns
        alone = {b.number for b in process.bounds if b.is_alone}
        for run in process.runs:
            if int(run["bound"]) in alone:
                continue
            number += 1
            start, end = int(run["start"]) + begun, int(run["end"]) + begun
            model = int(run["bound"]) + 1
            yield [DEVICE, number, us(start), ABSENT, us(end), us(end - start), ABSENT, ABSENT, ABSENT, model]


def fusion_op(profile: Profile) -> Iterator[Row]:
    for sites in profile.sites.values():
        for site in sites:
            if not site.is_fused:
                continue
            inputs = [o for o in site.call.inputs if o]
            kib = [
                sum(o.bytes for o in inputs if o.kind != "weight"),
                site.call.bytes_written,
                sum(o.bytes for o in inputs if o.kind == "weight"),
                0,
            ]
            sizes = [f"{size / 1024:.3f}" for size in (*kib, sum(kib))]
            yield [
                DEVICE,
                site.bound.model,
                site.bound.model_id,
                site.name,
                site.op_type.replace("+", ","),
                *sizes,
            ]
