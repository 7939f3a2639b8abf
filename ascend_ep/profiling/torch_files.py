"""A profile in the files of the PyTorch profiler for Ascend, for comparing tools and TensorBoard's plugin.

A step is a run of a partition, or what a program launched itself until then. Memory is what the plan keeps
in the arena, over the first run of each set of shapes.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError
from ascend_ep.profiling.database import write_torch_database
from ascend_ep.profiling.export import write_files
from ascend_ep.profiling.metrics import DEFAULT, columns_of
from ascend_ep.profiling.msprof_files import (
    ABSENT,
    API_STATISTIC,
    OP_STATISTIC,
    Row,
    api_statistic,
    chosen_for,
    formats_of,
    given,
    op_statistic,
    shapes_of,
    steps_of,
    tasks,
    types_of,
    us,
    write_table,
)
from ascend_ep.profiling.profile import Profile, Site, own
from ascend_ep.profiling.timeline import operator_name, write_trace_view
from ascend_ep.profiling.trace_file import BoundPartition, ProcessTrace
from ascend_ep.profiling.work import COMMUNICATION
from ascend_ep.runtime.tracing import DATA

KERNEL_DETAILS = [
    *("Step Id", "Device_id", "Model ID", "Task ID", "Stream ID", "Name", "Type", "OP State"),
    *("Accelerator Core", "Start Time(us)", "Duration(us)", "Wait Time(us)", "Block Dim", "Mix Block Dim"),
    *("HF32 Eligible", "Input Shapes", "Input Data Types", "Input Formats", "Output Shapes"),
    *("Output Data Types", "Output Formats", "Context ID"),
]
OPERATOR_MEMORY = [
    *("Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)", "Active Release Time(us)"),
    *("Duration(us)", "Active Duration(us)", "Allocation Total Allocated(MB)"),
    *("Allocation Total Reserved(MB)", "Allocation Total Active(MB)", "Release Total Allocated(MB)"),
    *("Release Total Reserved(MB)", "Release Total Active(MB)", "Stream Ptr", "Device Type"),
]
MEMORY_RECORD = [
    *("Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)"),
    *("Stream Ptr", "Device Type"),
]
STEP_TRACE_TIME = [
    *("Step", "Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage"),
    *("Bubble", "Communication(Not Overlapped and Exclude Receive)", "Preparing"),
]
OPERATOR_DETAILS = [
    *("Name", "Input Shapes", "Call Stack", "Host Self Duration(us)", "Host Total Duration(us)"),
    *("Device Self Duration(us)", "Device Total Duration(us)", "Device Self Duration With AICore(us)"),
    "Device Total Duration With AICore(us)",
]
#: Behind the columns of a chip, of kernel_details: what computed the call here.
CHOSEN = ["cpu_kernel", "cpu_isa", "cpu_schedule"]
#: Operations of HCCL between two ranks.
MESSAGES = ("hcom_send_", "hcom_receive_", "hcom_batchSendRecv_")
DEVICE = "NPU:0"
OUTPUT = "ASCEND_PROFILER_OUTPUT"
_MB = 1 << 20


def _unnamed(row: Row) -> Row:
    """Without the model's name, which PyTorch's profiler leaves out."""
    return [row[0], *row[2:]]


def write_torch_files(profile: Profile, output: Path | None = None, as_database: bool = False) -> Path:
    """Writes and returns a folder ..._ascend_pt beside the profile, or in `output`, with tables or with a
    database: readers take one or the other.

    Raises AscendError E40002 and E44011.
    """
    pid = own(profile).processes[0].pid if profile.processes else 0
    rank = profile.processes[0].rank if profile.processes else None
    worker = f"ascend-ep{'-db' * as_database}_{pid}"
    folder = (output or profile.folder.parent) / f"{worker}_{profile.stamp}000_ascend_pt"
    target = folder / OUTPUT
    try:
        target.mkdir(parents=True, exist_ok=True)
        if as_database:
            name = "ascend_pytorch_profiler" + (f"_{rank}" if rank is not None else "")
            write_torch_database(profile, target / f"{name}.db")
        else:
            _write_tables(profile, target)
        info = "profiler_info.json" if rank is None else f"profiler_info_{rank}.json"
        said = json.dumps(_info(rank, "db" if as_database else "text"), indent=2)
        atomic_file.write(folder / info, said, synced=False)
        atomic_file.write(folder / "profiler_metadata.json", "{}", synced=False)
        traces = folder / profile.folder.name / DATA
        traces.mkdir(parents=True, exist_ok=True)
        for process in profile.processes:
            shutil.copy(process.path, traces)
    except OSError as error:
        raise AscendError("E40002", f"can't write [{folder}]: {error.strerror}") from error
    write_files(replace(profile, folder=folder / profile.folder.name), DEFAULT)
    return folder


def _write_tables(profile: Profile, target: Path) -> None:
    header = [*KERNEL_DETAILS, *columns_of(DEFAULT), *CHOSEN]
    write_table(target / "kernel_details.csv", header, kernel_details(profile))
    write_table(target / "op_statistic.csv", _unnamed(OP_STATISTIC), map(_unnamed, op_statistic(profile)))
    write_table(target / "api_statistic.csv", API_STATISTIC, api_statistic(profile))
    if memory := list(operator_memory(profile)):  # TensorBoard's reader doesn't take tables without rows
        write_table(target / "operator_memory.csv", OPERATOR_MEMORY, memory)
        write_table(target / "memory_record.csv", MEMORY_RECORD, memory_record(profile))
    write_table(target / "operator_details.csv", OPERATOR_DETAILS, operator_details(profile))
    write_table(target / "step_trace_time.csv", STEP_TRACE_TIME, step_trace_time(profile))
    write_trace_view(profile, target / "trace_view.json")
    if said := communication(profile):
        atomic_file.write(target / "communication.json", json.dumps(said, indent=2), synced=False)


def by_rank(profile: Profile) -> list[Profile]:
    """A profile of each rank of a distributed job, and one of the processes without a rank."""
    ranks = sorted({p.rank for p in profile.processes}, key=lambda r: -1 if r is None else r)
    return [replace(profile, processes=[p for p in profile.processes if p.rank == r]) for r in ranks]


def _info(rank: int | None, kind: str) -> dict[str, Any]:
    common = {"_export_type": [kind], "_profiler_level": "Level1", "_aic_metrics": DEFAULT}
    return {
        "config": {
            "common_config": {"with_stack": False, "record_shapes": True, "profile_memory": True},
            "experimental_config": common,
        },
        "rank_id": -1 if rank is None else rank,
        "start_info": {"syscnt_enable": False},
        "end_info": {},
    }


def kernel_details(profile: Profile) -> Iterator[Row]:
    pmu = [ABSENT] * len(columns_of(DEFAULT))
    for task in tasks(profile):
        site = task.site
        sides = (given(site.call.inputs), given(site.call.outputs))
        operands = [part(side) for side in sides for part in (shapes_of, types_of, formats_of)]
        yield [
            *(
                task.step,
                0,
                site.bound.model_id,
                task.number,
                task.stream,
                site.name,
                site.op_type,
                "static",
            ),
            *(
                site.core,
                us(task.start) + "\t",
                us(task.duration),
                us(task.wait),
                site.bound.threads,
                0,
                "NO",
            ),
            *(*operands, ABSENT, *pmu, *chosen_for(site)),
        ]


def communication(profile: Profile) -> dict[str, Any]:
    """By step what each operation of HCCL took, the wait for other ranks included. Which of it was waiting
    and which way the bytes took isn't measured, so nothing is said of it."""
    found: dict[str, Any] = {}
    numbers: dict[tuple[str, str], int] = defaultdict(int)  # those of collectives are the same in all ranks
    for task in tasks(profile):
        if task.site.core != COMMUNICATION:
            continue
        kind, _, group = task.site.name.partition("@")
        side = "p2p" if kind in MESSAGES else "collective"
        number, numbers[group, side] = numbers[group, side], numbers[group, side] + 1
        step = found.setdefault(f"step{task.step}", {"p2p": {}, "collective": {}})
        times = {"Start Timestamp(us)": task.start / 1e3, "Elapse Time(ms)": task.duration / 1e6}
        step[side][f"{kind}_{zlib.crc32(group.encode()) % 1000:03d}_{number}_1@{group}"] = {
            "Communication Time Info": times,
            "Communication Bandwidth Info": {},
        }
    return found


def operator_details(profile: Profile) -> Iterator[Row]:
    """Of each call as an operator of the host, which here is the device, too."""
    for task in tasks(profile):
        spent = us(task.duration)
        core = "0" if task.site.core == "AI_CPU" else spent
        shapes = shapes_of(given(task.site.call.inputs)).strip('"')
        yield [operator_name(task), shapes, "", spent, spent, spent, spent, core, core]


def step_trace_time(profile: Profile) -> Iterator[Row]:
    """All in microseconds. What lies between kernels is Free. What computes and communicates at once isn't
    told apart."""
    first = 0
    for p, process in enumerate(profile.processes):
        steps = np.array(steps_of(process), np.int64)
        if not len(steps):
            continue
        count = int(steps[-1]) + 1
        spent = (process.calls["end"] - process.calls["start"]).astype(np.int64)
        kinds = [[_kind(site) for site in profile.sites[p, b.number]] for b in process.bounds]
        of_calls = [kinds[b][i] for b, i in process.calls[["bound", "index"]].tolist()]
        sums = np.zeros((count, 3), np.int64)
        np.add.at(sums, (steps[process.calls["run"]], of_calls), spent)
        begins, ends = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
        np.minimum.at(begins, steps, process.runs["start"].astype(np.int64))
        np.maximum.at(ends, steps, process.runs["end"].astype(np.int64))
        free = np.maximum(0, ends - begins - sums.sum(1))
        for step, (busy, apart, received) in enumerate(sums.tolist()):
            both = us(apart + received)
            yield [first + step, us(busy), both, 0, both, us(int(free[step])), 0, 0, us(apart), 0]
        first += count


def _kind(site: Site) -> int:
    """0: it computes; 1: it communicates; 2: it waits for another rank's message."""
    return 0 if site.core != COMMUNICATION else 2 if site.call.kernel == "hcom_receive_" else 1


# --- memory ----------------------------------------------------------------------------------------


def _first_runs(profile: Profile) -> Iterator[tuple[ProcessTrace, BoundPartition, list[tuple[int, int]]]]:
    """Of each bound partition the start and end of each call in its first whole run, since 1970."""
    for process in profile.processes:
        seen: set[int] = set()
        for run in process.runs.tolist():
            number, _, _, _, code, count, first, *_ = run
            if number in seen or code or not count:
                continue
            seen.add(number)
            calls = process.calls[first : first + count]
            begun = process.epoch_ns
            times = [(int(c["start"]) + begun, int(c["end"]) + begun) for c in calls]
            yield process, process.bounds[number], times


def operator_memory(profile: Profile) -> Iterator[Row]:
    for _, bound, times in _first_runs(profile):
        reserved = bound.arena_bytes / _MB
        for memory in bound.memory:
            begins, ends = times[memory.first_use][0], times[memory.last_use][1]
            alive = [live_bytes(bound, at) / _MB for at in (memory.first_use, memory.last_use)]
            spent = us(ends - begins)
            name = bound.calls[memory.first_use].name
            yield [
                *(name, f"{memory.bytes / 1024:.3f}", us(begins) + "\t", us(ends) + "\t", us(ends) + "\t"),
                *(spent, spent, f"{alive[0]:.6f}", f"{reserved:.6f}", f"{alive[0]:.6f}"),
                *(f"{alive[1]:.6f}", f"{reserved:.6f}", f"{alive[1]:.6f}", 0, DEVICE),
            ]


def memory_record(profile: Profile) -> Iterator[Row]:
    for _, bound, times in _first_runs(profile):
        for at, (start, _) in enumerate(times):
            alive = f"{live_bytes(bound, at) / _MB:.6f}"
            yield ["APP", us(start) + "\t", alive, f"{bound.arena_bytes / _MB:.6f}", alive, 0, DEVICE]


def live_bytes(bound: BoundPartition, at: int) -> int:
    """Of temporaries that call `at` finds or makes in the arena."""
    return sum(m.bytes for m in bound.memory if m.first_use <= at <= m.last_use)
