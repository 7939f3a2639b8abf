"""Profiles out of msprof's own tables, for folders without a trace of ours: those recorded on a chip.

One row is one task: those of op_summary, else of kernel_details (the PyTorch profiler's name for it), else
of task_time. Columns go by the names that they have in any version of CANN. What a table doesn't say is left
out: nothing is known of operations, and of operands only shapes and types.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ascend_ep import regular_file
from ascend_ep.element_types import ELEMENT_TYPES
from ascend_ep.errors import AscendError
from ascend_ep.profiling.trace_file import CALLS, RUNS, BoundPartition, KernelCall, Operand, ProcessTrace

#: Files with a row a task, the one that says most first.
TABLES = ("op_summary", "kernel_details", "task_time")
#: The one with sums of tasks by type.
SUMS = "op_statistic"
#: Where they lie in a folder, in new versions first.
PLACES = ("mindstudio_profiler_output", "ASCEND_PROFILER_OUTPUT", "device_*/summary", "summary")
#: What a column is called, in lower case: in op_summary, kernel_details, task_time, by version. (Dims are
#: apart by , or *.)
COLUMNS = {
    "name": ("op name", "name", "kernel_name"),
    "duration": ("task duration(us)", "duration(us)", "task_time(us)"),
    "op type": ("op type", "type"),
    "core": ("task type", "accelerator core", "kernel_type"),
    "start": ("task start time(us)", "start time(us)", "task_start(us)", "task start time"),
    "stream": ("stream id", "stream_id"),
    "device": ("device_id", "device id"),
    "model": ("model id",),
    "model name": ("model name",),
    "round": ("step id", "infer id"),
    "blocks": ("block dim", "block num"),
    **{
        f"{side} {what}": (f"{side} {what}", f"{side} {what[:-1]}")
        for side in ("input", "output")
        for what in ("shapes", "data types")
    },
}
NEEDED = ("name", "duration")
#: Units of a core whose share of its cycles msprof counts, as their columns name them.
UNITS = ("mac", "vec", "mte2", "mte3", "scalar", "mte1", "fixpipe")
_RATIO = re.compile(
    r"(aic_|aiv_|)(mac|vec|mte[123]|scalar|fixpipe)(_exe|_fp16|_fp32|_int8|_int32|_misc|)_ratio"
)
#: Nanoseconds without a task on a stream after which another step begins, where the table numbers none.
PAUSE = 100_000_000
#: msprof's number for operators of no model.
SINGLE = 0xFFFFFFFF
_NONE = ("", "N/A")


def tables_in(folder: Path) -> list[Path]:
    """The tables of the newest export in `folder`, all of one kind; none where there are none."""
    return next((found for kind in TABLES if (found := _tables(folder, kind))), [])


def _tables(folder: Path, kind: str) -> list[Path]:
    for place in (folder, *(found for pattern in PLACES for found in sorted(folder.glob(pattern)))):
        if found := _newest(sorted(place.glob(f"{kind}*.csv"))):
            if "device_" not in str(place.relative_to(folder)):
                return found
            others = sorted(folder.glob(PLACES[2]))
            return [path for other in others for path in _newest(sorted(other.glob(f"{kind}*.csv")))]
    return []


def sums_alone(path: Path) -> AscendError:
    """What is wrong with a table of sums without one of tasks."""
    fix = f"Put {', '.join(TABLES[:-1])} or {TABLES[-1]} of the same profile beside it, or name that."
    return AscendError("E44010", path, "it has sums by type, and no row for a task", fix=fix)


def sums_in(folder: Path) -> list[Path]:
    """Its newest tables of sums."""
    return _tables(folder, SUMS)


def _newest(paths: Sequence[Path]) -> list[Path]:
    """Those of the last time stamp: an export may be repeated, and has several files when it is large."""
    stamps = [match[0] if (match := re.search(r"\d{14}", path.name)) else "" for path in paths]
    return [path for path, stamp in zip(paths, stamps, strict=True) if stamp == max(stamps)]


@dataclass
class _Device:
    """The tasks of one device as they are read: a call of a bound partition each."""

    bounds: dict[tuple[str, str], int] = field(default_factory=dict)
    sites: list[dict[tuple[str, ...], int]] = field(default_factory=list)
    tasks: list[tuple[int, int, str, str, int, int]] = field(default_factory=list)
    busy: list[list[float]] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)


def read_tables(paths: Sequence[Path]) -> list[ProcessTrace]:
    """One for each device. Raises AscendError E40002 when a table can't be read, E44010 when it is none."""
    devices: dict[str, _Device] = defaultdict(_Device)
    for path in paths:
        if path.name.startswith(SUMS):
            raise sums_alone(path)
        try:
            with io.TextIOWrapper(regular_file.opened(path), "utf-8-sig", newline="") as file:
                _read(csv.reader(file), path, devices)
        except OSError as error:
            raise AscendError("E40002", f"can't read [{path}]: {error.strerror}") from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise AscendError("E44010", path, f"it is no text of CSV ({error})") from error
    if not devices:
        raise AscendError("E44010", paths[0], "it has no tasks")
    return [_trace(name, device, str(paths[0])) for name, device in sorted(devices.items())]


def _read(rows: Iterator[list[str]], path: Path, devices: dict[str, _Device]) -> None:
    header = [name.strip() for name in next(rows, [])]
    places = {name.lower(): i for i, name in reversed(list(enumerate(header)))}
    at = {key: places[name] for key, names in COLUMNS.items() for name in reversed(names) if name in places}
    for key in NEEDED:
        if key not in at:
            raise AscendError("E44010", path, f"it has no column [{COLUMNS[key][0]}]")
    ratios = [(match[1], match[2], i) for i, name in enumerate(header) if (match := _RATIO.fullmatch(name))]

    for line, row in enumerate(rows, 2):
        if not any(row):
            continue
        if len(row) < len(header):
            raise AscendError("E44010", path, f"line {line} has {len(row)} of {len(header)} columns")
        said = {key: row[i].strip() for key, i in at.items()}
        try:
            _task(devices[said.get("device", "0")], said, _busy(row, ratios))
        except ValueError as error:
            raise AscendError("E44010", path, f"line {line}: {error}") from error


def _task(device: _Device, said: dict[str, str], busy: list[float]) -> None:
    core = said.get("core", "")
    names = [text for key in ("name", "op type", "core") if (text := said.get(key, "")) not in _NONE]
    name, model = (names or ["unnamed"])[0], said.get("model", "")
    op_type = said.get("op type", "") if said.get("op type", "") not in _NONE else name
    bound = device.bounds.setdefault((said.get("model name", ""), model), len(device.bounds))
    if bound == len(device.sites):
        device.sites.append({})
    operands = [
        said.get(f"{side} {what}", "") for side in ("input", "output") for what in ("shapes", "data types")
    ]
    key = (name, op_type, "" if core in _NONE else core, said.get("blocks", ""), *operands)
    index = device.sites[bound].setdefault(key, len(device.sites[bound]))

    stream = said.get("stream", "0")
    duration = _ns(said["duration"], "duration")
    begins = said.get("start", "")
    start = _ns(begins, "start") if begins not in _NONE else device.ends.get(stream, 0)
    device.ends[stream] = start + duration
    device.tasks.append((bound, index, stream, said.get("round", ""), start, start + duration))
    device.busy.append(busy)


def _ns(text: str, what: str) -> int:
    """Nanoseconds of microseconds as text, whose digits a float doesn't hold."""
    whole, _, part = text.partition(".")
    if not (whole.isdecimal() and (part or "0").isdecimal()):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value < 1e15:
            raise ValueError(f"{what} [{text}] is no time")
        return round(1000 * value)
    return 1000 * int(whole) + int(f"{part:0<3}"[:3])


def _busy(row: list[str], ratios: Sequence[tuple[str, str, int]]) -> list[float]:
    """The share of cycles of each of UNITS: kinds of instructions added up, of the two sides the greater."""
    sides: dict[tuple[str, str], float] = {}
    for side, unit, i in ratios:
        try:
            sides[unit, side] = sides.get((unit, side), 0.0) + float(row[i])
        except ValueError:  # N/A
            continue
    return [max((v for (u, _), v in sides.items() if u == unit), default=math.nan) for unit in UNITS]


# --- as a trace -------------------------------------------------------------------------------------


def _trace(name: str, device: _Device, path: str) -> ProcessTrace:
    streams = {text: n for n, text in enumerate(dict.fromkeys(task[2] for task in device.tasks))}
    free = iter(range(max((int(t) for t in streams if t.isdecimal()), default=-1) + 1, SINGLE))
    numbers = {t: int(t) if t.isdecimal() and int(t) < SINGLE else next(free) for t in streams}
    order = sorted(range(len(device.tasks)), key=lambda i: (streams[device.tasks[i][2]], device.tasks[i][4]))
    calls, runs = np.zeros(len(order), CALLS), list[list[int]]()
    known: tuple[Any, ...] = ()
    for at, i in enumerate(order):
        bound, index, stream, turn, start, end = device.tasks[i]
        paused = turn in _NONE and runs and start > runs[-1][3] + PAUSE
        if known != (bound, stream, turn) or paused:
            runs.append([bound, numbers[stream], start, end, 0, 0, at])
            known = (bound, stream, turn)
        runs[-1][3], runs[-1][5] = max(runs[-1][3], end), runs[-1][5] + 1
        calls[at] = (bound, index, len(runs) - 1, numbers[stream], start, end)
    return ProcessTrace(
        path,
        int(name) if name.isdecimal() else 0,
        (),
        int(calls["start"].min()),
        0,
        "",
        (),
        (),
        [_bound(n, key, sites) for (key, n), sites in zip(device.bounds.items(), device.sites, strict=True)],
        runs=np.array([(*run, 0, 0, 0) for run in runs], RUNS),
        calls=calls,
        busy=np.array([device.busy[i] for i in order], np.float32),
        complete=True,
    )


def _bound(number: int, key: tuple[str, str], sites: dict[tuple[str, ...], int]) -> BoundPartition:
    name, model = key
    single = model in (*_NONE, str(SINGLE))
    text = name if name not in _NONE else "single operators" if single else f"model {model}"
    blocks = max((int(site[3]) for site in sites if site[3].isdecimal()), default=1)
    return BoundPartition(number, "", text, "", blocks, 0, 0, 0, (), tuple(_call(site) for site in sites))


def _call(site: tuple[str, ...]) -> KernelCall:
    name, op_type, core, _, *operands = site
    inputs = _operands(operands[0], operands[1], "input")
    outputs = _operands(operands[2], operands[3], "output")
    return KernelCall(name, core or "N/A", op_type, inputs, outputs, (), (), False, core or "N/A")


def _operands(shapes: str, types: str, kind: str) -> tuple[Operand, ...]:
    if shapes in _NONE:
        return ()
    found = []
    names = types.split(";")
    for i, text in enumerate(shapes.strip('"').split(";")):
        dims = tuple(map(int, re.findall(r"\d+", text)))
        dtype = _types().get(names[i].strip().removeprefix("DT_").upper() if i < len(names) else "", 0)
        bits = ELEMENT_TYPES[dtype].bits if dtype else 0
        found.append(Operand(0, kind, dtype, dims, 0, math.prod(dims) * bits // 8))
    return tuple(found)


@cache
def _types() -> dict[str, int]:
    """By the graph engine's name, and by those of numpy and the protocol, which some versions write."""
    found: dict[str, int] = {}
    for number, row in ELEMENT_TYPES.items():
        names = (row.name, row.protocol, row.ge.removeprefix("DT_"))
        found |= {name.upper(): number for name in names if name}
    return found
