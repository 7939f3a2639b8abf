"""A profile as one HTML page that needs no network.

Timeline, roofline, time by operator, node, layer and source line, memory, what moves between calls that
weren't fused, and another profile beside it.
"""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError
from ascend_ep.profiling import tables
from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.msprof_files import streams
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.roofline import bounds
from ascend_ep.profiling.source_lines import Source, source_of
from ascend_ep.profiling.torch_files import live_bytes
from ascend_ep.profiling.trace_file import BoundPartition

TEMPLATE = Path(__file__).with_name("report.html")
#: Calls that the timeline holds; sums are of all.
MOST_CALLS = 1_000_000
MOST_NODES, MOST_TENSORS = 200, 30


def write_report(
    profile: Profile,
    machine: Machine,
    target: Path,
    sources: Mapping[str, Source] | None = None,
    beside: Profile | None = None,
) -> None:
    """`sources`: lines of the program that the nodes come from; `beside`: another profile to compare with.

    Raises AscendError E40002.
    """
    page = page_of(profile, machine, sources, beside)
    try:
        atomic_file.write(target, page)
    except OSError as error:
        raise AscendError("E40002", f"can't write [{target}]: {error.strerror}") from error


def page_of(
    profile: Profile,
    machine: Machine,
    sources: Mapping[str, Source] | None = None,
    beside: Profile | None = None,
) -> str:
    """The page as text."""
    page = TEMPLATE.read_text(encoding="utf-8")
    data = json.dumps(contents(profile, machine, sources or {}, beside)).replace("<", "\\u003c")
    return page.replace("/*PROFILE*/null", data)


def contents(
    profile: Profile,
    machine: Machine,
    sources: Mapping[str, Source] = MappingProxyType({}),
    beside: Profile | None = None,
) -> dict[str, Any]:
    """What the page shows. Arrays are base64 of little-endian numbers; times in nanoseconds."""
    return {
        "summary": tables.summary(profile),
        "machine": None if profile.of_chip else machine.as_json(),
        "operators": [row.as_json() for row in tables.by_type(profile)],
        "nodes": [row.as_json() for row in tables.by_node(profile)[:MOST_NODES]],
        "layers": layers(profile, sources),
        "lines": lines(profile, sources) if sources else [],
        "beside": side_by_side(beside, profile) if beside else None,
        "roofline": [
            {
                "name": b.row.name,
                "kind": b.kind,
                "attained": b.attained,
                "intensity": b.intensity,
                "rate": b.row.gigaops or 0,
                "seconds": b.row.usual,
            }
            for b in bounds(profile, machine)
            if b.intensity > 0 or b.unit
        ][:MOST_NODES],
        "memory": [memory(b) for p in profile.processes for b in p.bounds],
        "between": between(profile),
        "timeline": timeline(profile),
    }


def timeline(profile: Profile) -> dict[str, Any]:
    """Calls by stream and start: `site` into `sites`, `stream` into `streams`, start since the first."""
    numbers = streams(profile)
    sites: dict[int, int] = {}
    names: list[list[str]] = []
    columns: dict[str, list[Any]] = defaultdict(list)
    for p, process in enumerate(profile.processes):
        calls = process.calls[: MOST_CALLS - sum(map(len, columns["start"]))]
        if not len(calls):
            continue
        keys = calls["bound"].astype(np.int64) << 32 | calls["index"]
        unique, places = np.unique(keys, return_inverse=True)
        places_of = []
        for key in unique.tolist():
            site = profile.sites[p, key >> 32][key & 0xFFFFFFFF]
            if id(site) not in sites:
                sites[id(site)] = len(names)
                said = [site.name, site.op_type, site.call.kernel, site.bound.model, site.call.schedule]
                names.append([part for part in said if part])
            places_of.append(sites[id(site)])
        columns["site"].append(np.array(places_of, np.uint32)[places])
        threads, which = np.unique(calls["thread"], return_inverse=True)
        lanes = np.array([numbers[p, t] for t in threads.tolist()], np.uint32)
        columns["stream"].append(lanes[which])
        columns["start"].append(calls["start"].astype(np.float64) + process.epoch_ns)
        columns["duration"].append((calls["end"] - calls["start"]).astype(np.float32))
    joined = {name: np.concatenate(parts) for name, parts in columns.items() if parts}
    if not joined:
        return {"sites": [], "streams": [], "count": 0}
    order = np.lexsort((joined["start"], joined["stream"]))
    joined["start"] -= joined["start"].min()
    encoded = {name: base64.b64encode(array[order].tobytes()).decode() for name, array in joined.items()}
    kinds = ("device", "stream") if profile.of_chip else ("process", "thread")
    labels = [f"{kinds[0]} {profile.processes[p].pid}, {kinds[1]} {number}" for p, number in numbers]
    return {"sites": names, "streams": labels, "count": len(order), **encoded}


def grouped(profile: Profile, key: Callable[[str], str]) -> list[dict[str, Any]]:
    """Time by what `key` says of nodes, the longest first."""
    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for site, spent in profile.sums:
        name = key(site.call.node) or "(unknown)"
        found[name][0] += float(spent.sum()) / 1e9
        found[name][1] += len(spent)
    rows = [{"name": name, "seconds": s, "calls": int(n)} for name, (s, n) in found.items()]
    return sorted(rows, key=lambda row: -row["seconds"])


def lines(profile: Profile, sources: Mapping[str, Source]) -> list[dict[str, Any]]:
    """Time by line of the exported program; of a call that joins nodes of several, by these together."""

    def line(node: str) -> str:
        found = source_of(node, sources)
        return found.line if found else ""

    return grouped(profile, line)


def layers(profile: Profile, sources: Mapping[str, Source]) -> list[dict[str, Any]]:
    """Time by layer: the module that the exporter names, else the first parts of the nodes' names."""

    def layer(node: str) -> str:
        found = source_of(node, sources)
        return found.layer if found else layer_of(node)

    return grouped(profile, layer)


def runs_of(profile: Profile) -> int:
    """How often models ran: as often as the partition of each process that ran most."""
    return sum(int(np.bincount(p.runs["bound"]).max()) for p in profile.processes if len(p.runs))


def side_by_side(old: Profile, new: Profile) -> dict[str, Any]:
    """What a run spends in each kind of call and in each node, in both; the greatest differences first.
    Of usual times, since a mean has what neighbours took."""

    def rows(by: Callable[[Profile], list[tables.Row]]) -> list[tuple[str, float, float]]:
        spent: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for side, profile in enumerate((old, new)):
            for row in by(profile):
                spent[row.name][side] += row.usual / max(1, runs_of(profile))
        found = [(name, both[0], both[1]) for name, both in spent.items()]
        return sorted(found, key=lambda row: -abs(row[2] - row[1]))[:MOST_NODES]

    return {
        "old": str(old.folder),
        "new": str(new.folder),
        "operators": rows(tables.by_type),
        "nodes": rows(tables.by_node),
    }


def layer_of(node: str) -> str:
    """/model/layers.3/attn/MatMul -> model/layers.3; a name without parts is its own layer."""
    parts = [part for part in re.split(r"[/:]", node) if part]
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0] if len(parts) == 2 else node or "(unnamed)"


def memory(bound: BoundPartition) -> dict[str, Any]:
    """Bytes alive at each call, and the largest temporaries."""
    count = len(bound.calls)
    largest = sorted(bound.memory, key=lambda m: -m.bytes)[:MOST_TENSORS]
    return {
        "model": bound.model,
        "partition": bound.partition,
        "arena": bound.arena_bytes,
        "weights": bound.weight_bytes,
        "workspace": bound.workspace_bytes,
        "alive": [live_bytes(bound, i) for i in range(count)],
        "values": [
            {
                "made by": bound.calls[m.first_use].name if count else "",
                "bytes": m.bytes,
                "first": m.first_use,
                "last": m.last_use,
            }
            for m in largest
        ],
    }


def between(profile: Profile) -> list[dict[str, Any]]:
    """Temporaries by the bytes that a run moves because they are stored: written once, read by each reader.
    What a fusion of maker and reader would save."""
    rows = []
    for process in profile.processes:
        runs = np.bincount(process.runs["bound"], minlength=len(process.bounds)).tolist()
        for bound in process.bounds:
            makers = {o.value: c for c in bound.calls for o in c.outputs if o and o.kind == "temp"}
            readers: dict[int, list[str]] = defaultdict(list)
            sizes: dict[int, int] = defaultdict(int)
            for call in bound.calls:
                for o in call.inputs:
                    if o and o.value in makers:
                        readers[o.value].append(call.name)
                        sizes[o.value] += o.bytes
            for value, maker in makers.items():
                written = next(o.bytes for o in maker.outputs if o and o.value == value)
                total = (written + sizes[value]) * runs[bound.number]
                rows.append({"maker": maker.name, "readers": readers[value], "bytes": total})
    return sorted(rows, key=lambda row: -row["bytes"])[:MOST_TENSORS]
