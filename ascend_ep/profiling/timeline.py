"""The timeline of a profile as Chrome trace events, as msprof writes them: for Perfetto and MindStudio.

Runs stand under "CANN" by thread, kernel calls under "Ascend Hardware" by stream, with arrows HostToDevice
between: from the thread that put a run into a queue, where one did. Timestamps are texts of microseconds with
three digits behind the point, as msprof's are. Those of msprof_<stamp>.json count from midnight, so that a
double holds them. Those of trace_view.json count from 1970, as in kernel_details.csv, since msprof-analyze
finds the rows of kernels there by their exact start; durations are shortened where readers that round those
starts would see slices overlap.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError
from ascend_ep.profiling.msprof_files import ABSENT, OUTPUT, Task, streams, tasks, us
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.rounding import ordered_durations
from ascend_ep.profiling.work import COMMUNICATION

#: Calls that a timeline shows; a page with more doesn't open.
MOST_CALLS = 1_000_000
Event = dict[str, Any]
#: What torch_npu's profiler recorded, beside its PROF_... in a folder ..._ascend_pt.
FRAMEWORK = "FRAMEWORK"


def write_timeline(profile: Profile) -> Path:
    """Writes msprof_<stamp>.json and returns its path. Raises AscendError E40002.

    In a folder of torch_npu's profiler, which joins it to its own events, times count from 1970, and which of
    it is Computing and Free is there, by which it sums up steps.
    """
    target = profile.folder / OUTPUT / f"msprof_{profile.stamp}.json"
    if (profile.folder.parent / FRAMEWORK).is_dir():
        return _write_in_order(target, lambda: chain(events(profile), _overlap(profile)))
    return write_events(target, events(profile, profile.midnight_ns))


def write_trace_view(profile: Profile, target: Path) -> Path:
    """The same with what the PyTorch profiler adds: each call as an operator of the host, with an arrow
    async_npu to its kernel, and which time is Computing, Communication and Free.

    Raises AscendError E40002.
    """

    return _write_in_order(target, lambda: chain(events(profile), _operators(profile), _overlap(profile)))


def _write_in_order(target: Path, found: Callable[[], Iterator[Event]]) -> Path:
    return write_events(target, _in_order(found(), _durations(found())))


def _durations(found: Iterable[Event]) -> Iterator[int]:
    """Of each slice the nanoseconds in which it overlaps no other one of its thread."""
    lanes: dict[tuple[int, int], int] = {}
    slices = array("q")
    for event in found:
        if event["ph"] == "X":
            lane = lanes.setdefault((event["pid"], event["tid"]), len(lanes))
            slices.extend((lane, int(event["ts"].replace(".", "")), round(1000 * event["dur"])))
    numbers = np.array(slices, np.int64).reshape(-1, 3)
    return iter(ordered_durations(*numbers.T).tolist())


def _in_order(found: Iterable[Event], durations: Iterator[int]) -> Iterator[Event]:
    for event in found:
        yield event | {"dur": next(durations) / 1000} if event["ph"] == "X" else event


def write_events(target: Path, found: Iterable[Event]) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file.replacing_text(target, synced=False) as file:
            between = "["
            for event in found:
                file.write(between + json.dumps(event))
                between = ",\n"
            file.write("]\n" if between != "[" else "[]\n")
    except OSError as error:
        raise AscendError("E40002", f"can't write [{target}]: {error.strerror}") from error
    return target


def events(profile: Profile, origin: int = 0) -> Iterator[Event]:
    """Names of processes and threads first, then slices with their arrows. `origin`: nanoseconds since 1970
    from which times count."""
    host, device = {}, {}
    for p, process in enumerate(profile.processes):
        host[p], device[p] = 10 * process.pid + 1, 10 * process.pid + 2
        yield from _process(host[p], "CANN", "CPU", 2 * p)
        yield from _process(device[p], "Ascend Hardware", "NPU", 2 * p + 1)
    for (p, thread), stream in streams(profile).items():
        yield _named("thread_name", host[p], thread, f"Thread {thread}")
        yield _named("thread_name", device[p], stream, f"Stream {stream}")
    for p, process in enumerate(profile.processes):
        for thread in sorted(set(process.runs["host"].tolist()) - {0, *process.runs["thread"].tolist()}):
            yield _named("thread_name", host[p], thread, f"Thread {thread}")
    yield from _runs(profile, host, origin)
    yield from _calls(profile, device, origin)


def _process(pid: int, name: str, label: str, order: int) -> Iterator[Event]:
    yield _named("process_name", pid, 0, name)
    yield {"name": "process_labels", "ph": "M", "pid": pid, "tid": 0, "args": {"labels": label}}
    yield {"name": "process_sort_index", "ph": "M", "pid": pid, "tid": 0, "args": {"sort_index": order}}


def _named(kind: str, pid: int, tid: int, name: str) -> Event:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def _slice(name: str, pid: int, tid: int, start: int, duration: int, args: Event) -> Event:
    return {
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": us(start),
        "dur": duration / 1000,
        "args": args,
        "ph": "X",
    }


def _flow(phase: str, pid: int, tid: int, at: int, number: int, name: str = "HostToDevice") -> Event:
    flow = {"ph": phase, "name": name, "cat": name, "id": str(number), "pid": pid, "tid": tid, "ts": us(at)}
    return flow | ({"bp": "e"} if phase == "f" else {})


def _runs(profile: Profile, host: dict[int, int], origin: int) -> Iterator[Event]:
    number = 0
    for p, process in enumerate(profile.processes):
        bounds = {b.number: b for b in process.bounds}
        begun = process.epoch_ns - origin
        for span in process.spans:
            mode = {"Mode": "model" if span.is_model else "host partition"}
            start = span.start + begun
            name = "InferenceSession.run" if span.is_model else span.name
            yield _slice(name, host[p], span.thread, start, span.end - span.start, mode)
        waited = process.queue_ns.tolist()
        for i, run in enumerate(process.runs[: MOST_CALLS - number].tolist()):
            bound, thread, start, end, code, n_calls, _first, queued, spent, caller = run
            level, api = bounds[bound].api
            args = {
                "Mode": level,
                "partition": bounds[bound].partition,
                "model": bounds[bound].model,
                "connection_id": number,
            }
            failed = {"code": code} if code else {}
            begins = start + begun
            yield _slice(api, host[p], thread, begins, end - start, args | failed)
            if queued:  # an arrow begins in a slice, however short
                thread, begins = caller, queued + begun
                if waited[i] >= 0:
                    yield _slice(f"Enqueue@{api}", host[p], thread, begins, spent or 1, args)
            if n_calls:
                yield _flow("s", host[p], thread, begins, number)
            number += 1


def _calls(profile: Profile, device: dict[int, int], origin: int) -> Iterator[Event]:
    at = {id(process): p for p, process in enumerate(profile.processes)}
    number = -1
    for count, task in enumerate(tasks(profile)):
        if count >= MOST_CALLS:
            return
        site, pid = task.site, device[at[id(task.site.process)]]
        number += site.index == 0
        args = {
            "Model Id": site.bound.model_id,
            "Task Type": site.core,
            "Stream Id": task.stream,
            "Task Id": task.number,
            "OP Type": site.op_type,
            "kernel": site.call.kernel,
            "connection_id": number,
        }
        if not profile.of_chip:
            args |= {"isa": site.bound.isa, "schedule": site.call.schedule or ABSENT}
        start = task.start - origin
        yield _slice(site.name, pid, task.stream, start, task.duration, args)
        if site.index == 0:
            yield _flow("f", pid, task.stream, start, number)


def operator_name(task: Task) -> str:
    """Of a call as an operator of the host."""
    return f"AscendEP::{task.site.op_type}"


def _operators(profile: Profile) -> Iterator[Event]:
    """Each call as an operator of the host, with an arrow to its kernel."""
    first = {id(process): 10 * process.pid for process in profile.processes}
    for p, process in enumerate(profile.processes):
        yield from _process(10 * process.pid + 3, "Python", "CPU", 100 + p)
    for count, task in enumerate(islice(tasks(profile), MOST_CALLS)):
        base, stream, start = first[id(task.site.process)], task.stream, task.start
        yield _slice(operator_name(task), base + 3, stream, start, task.duration, {}) | {"cat": "cpu_op"}
        number = MOST_CALLS + count
        yield _flow("s", base + 3, stream, start, number, "async_npu")
        yield _flow("f", base + 2, stream, start, number, "async_npu")


def _overlap(profile: Profile) -> Iterator[Event]:
    """Which time of each stream is Computing, Communication and, within a step, Free."""
    first = {id(process): 10 * process.pid for process in profile.processes}
    for p, process in enumerate(profile.processes):
        yield from _process(10 * process.pid + 4, "Overlap Analysis", "NPU", 200 + p)
    last: dict[tuple[int, int], tuple[int, int]] = {}
    for task in islice(tasks(profile), MOST_CALLS):
        base, stream, start = first[id(task.site.process)], task.stream, task.start
        kind = "Communication" if task.site.core == COMMUNICATION else "Computing"
        yield _slice(kind, base + 4, stream, start, task.duration, {})
        step, ended = last.get((base, stream), (-1, 0))
        if step == task.step and start > ended:
            yield _slice("Free", base + 4, stream, ended, start - ended, {})
        last[base, stream] = (task.step, start + task.duration)
