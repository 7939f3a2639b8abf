"""msprof's rules and msadvisor's classes on a profile: what is found, and what is usually done about it.

Rules about counters of an AI core have nothing to look at here and are left out. Nothing of this was tried:
that is what `ascend-prof advise` is for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ascend_ep import atomic_file
from ascend_ep.element_types import INT64
from ascend_ep.errors import AscendError
from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.profile import Profile, Site
from ascend_ep.profiling.roofline import bounds

#: What the documents advise for each class (their API names are of the chip's kernels).
SUGGESTIONS = {
    "memory bound": "larger tiles, another order of access, fewer intermediate tensors: fuse neighbours",
    "compute bound": "a lower precision (--precision_mode_v2), or fewer operations",
    "low pipeline": "double buffering and asynchronous copies in kernels; larger shapes or a batch here",
    "latency bound (memory)": "merge contiguous dims, fuse neighbours, run several samples at once",
    "latency bound (compute)": "merge contiguous dims, vectorize, run several samples at once",
}
MOST = 10
Tuning = list[str]


@dataclass(frozen=True)
class Finding:
    """One rule that holds; `tuning`: what it holds of."""

    kind: str
    subtype: str
    description: str
    suggestion: str
    tuning: Tuning

    def as_json(self) -> dict[str, Any]:
        return {
            "Rule Type": self.kind,
            "Rule Subtype": self.subtype,
            "Rule Description": self.description,
            "Rule Suggestion": self.suggestion,
            "Tuning Data": self.tuning,
        }


def findings(profile: Profile, machine: Machine) -> list[Finding]:
    """All rules that hold, by type."""
    return [*_classes(profile, machine), *(f for rule in RULES if (f := rule(profile)) is not None)]


def _classes(profile: Profile, machine: Machine) -> Iterator[Finding]:
    groups: dict[str, Tuning] = {}
    for bound in list(bounds(profile, machine))[: 5 * MOST]:
        if bound.kind in SUGGESTIONS and len(groups.setdefault(bound.kind, [])) < MOST:
            share = f"{100 * bound.attained:.1f}% of what is attainable"
            if bound.unit:
                share = f"{100 * bound.attained:.1f}% of the cycles; its busiest unit is {bound.unit}"
            groups[bound.kind].append(f"{bound.row.name}: {share}")
    for kind, tuning in groups.items():
        name = "Model Bottleneck Analysis"
        yield Finding(name, kind.title(), f"Operators that are {kind}", SUGGESTIONS[kind], tuning)


def _waits(profile: Profile) -> Finding | None:
    """Waits of more than 10 us between the calls of a run, together more than 3 % of the time."""
    waited: dict[str, int] = {}
    for p, process in enumerate(profile.processes):
        calls = process.calls
        same = calls["run"][1:] == calls["run"][:-1]
        gaps = np.where(same, calls["start"][1:].astype(np.int64) - calls["end"][:-1].astype(np.int64), 0)
        for i in np.flatnonzero(gaps > 10_000).tolist():
            call = calls[i + 1]
            name = profile.sites[p, int(call["bound"])][int(call["index"])].name
            waited[name] = waited.get(name, 0) + int(gaps[i])
    total = sum(waited.values())
    if total <= 0.03 * (profile.wall_ns or 1):
        return None
    tuning = [f"{n}: {ns / 1e3:.1f} us" for n, ns in sorted(waited.items(), key=lambda item: -item[1])[:MOST]]
    description = "Task Wait Time of operators exceeds 10 us, and 3% of the total"
    suggestion = "leave the CPUs to the model; fewer threads"
    if profile.of_chip:
        suggestion = "whole graphs in the place of operators launched one by one; fewer, larger operators"
    return Finding("Operator Schedule", "Wait", description, suggestion, tuning)


def _host(profile: Profile) -> Finding | None:
    names = sorted({span.name for _, span in profile.host_spans()})
    description = "Operators of type AI_CPU: partitions that run in onnxruntime"
    suggestion = "ascend-om inspect has the reason; unroll loops; describe operators"
    if profile.of_chip:
        names = _sites(profile, lambda s: s.core in ("AI_CPU", "AICPU"))
        description = "Operators of type AI_CPU"
        suggestion = (
            "types that the AI Core takes (INT64 and DOUBLE often go to the AI CPU); another operator"
        )
    if not names:
        return None
    return Finding("Computation", "AI CPU", description, suggestion, names[:MOST])


def _transpositions(profile: Profile) -> Finding | None:
    found = _sites(profile, lambda s: s.op_type in ("Transpose", "TransposeD", "TransData"))
    if len(found) <= 2:
        return None
    description = "More than two operators change the format of data"
    return Finding(
        "Operator Processing", "TransData", description, "export in the layout that is used", found
    )


def _int64(profile: Profile) -> Finding | None:
    def is_wide(site: Site) -> bool:
        arithmetic = site.call.kernel == "elementwise" or bool(site.call.core)
        return arithmetic and any(o and o.dtype == INT64 and len(o.dims) for o in site.call.inputs)

    found = _sites(profile, is_wide)
    if not found:
        return None
    description = "Operators compute in INT64"
    return Finding(
        "Operator Processing", "Data Type", description, "export with int32 where it suffices", found
    )


def _workspace(profile: Profile) -> Finding | None:
    found = [
        f"{b.model} {b.partition}: {b.workspace_bytes / 1024:.0f} KiB"
        for p in profile.processes
        for b in p.bounds
        if b.workspace_bytes
    ]
    if not found:
        return None
    return Finding(
        "Memory", "Workspace", "Memory Workspace is not 0", "smaller shapes or fewer threads", found
    )


RULES: tuple[Callable[[Profile], Finding | None], ...] = (_host, _waits, _transpositions, _int64, _workspace)


def _sites(profile: Profile, holds: Callable[[Site], bool]) -> Tuning:
    return sorted({site.name for site, _ in profile.sums if holds(site)})


def write_findings(found: list[Finding], folder: Path, number: int = 0) -> Path:
    """Writes prof_rule_<number>.json and returns its path. Raises AscendError E40002."""
    path = folder / f"prof_rule_{number}.json"
    try:
        atomic_file.make_folder(folder)
        atomic_file.write(path, json.dumps([f.as_json() for f in found], indent=2, ensure_ascii=False))
    except OSError as error:
        raise AscendError("E40002", f"can't write [{path}]: {error.strerror}") from error
    return path


def findings_text(found: list[Finding]) -> str:
    lines = []
    for f in found:
        lines += [f"{f.kind} / {f.subtype}: {f.description}", f"    suggestion: {f.suggestion}"]
        lines += [f"    {line}" for line in f.tuning]
    return "\n".join(lines) or "no rule holds"
