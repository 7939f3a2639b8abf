"""An ONNX model with what a profile measured of each of its nodes, as metadata, which Netron shows.

Nodes are found by their names. A call that joins several gives each of them all of its time. A node without
a call of its own gets a note with what is known of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import onnx
from onnx.external_data_helper import uses_external_data

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError
from ascend_ep.profiling.advice.graphs import all_nodes, reads
from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.roofline import Bound, bounds
from ascend_ep.profiling.source_lines import nodes_of

#: How the keys of the metadata begin.
PREFIX = "ascend_ep.profile."
CONSTANT = "a constant: computed when the model was converted"
NAMELESS = "it has no name by which a call could be found"
ELSEWHERE = "no call of its own: removed, joined with its neighbours, or run outside of kernels"


def check_folder(model: onnx.ModelProto, source: Path, target: Path) -> None:
    """Whether what is written to `target` finds the external data of `source`. Raises AscendError E10001."""
    if has_external_data(model) and not target.absolute().parent.samefile(source.absolute().parent):
        reason = f"Weights of [{source}] lie in files beside it: give a name in its folder."
        raise AscendError("E10001", target, "--annotate", reason)


def write_annotated(
    model: onnx.ModelProto, source: Path, profile: Profile, machine: Machine, target: Path
) -> int:
    """Writes `model`, read from `source` without its external data, with what the profile has of its nodes;
    how many nodes have a call.

    Raises AscendError E40002 and E44013.
    """
    made = onnx.ModelProto()
    made.CopyFrom(model)
    found = annotate(made, profile, machine)
    if not found:
        raise AscendError("E44013", source)
    try:
        atomic_file.write(target, made.SerializeToString())
    except OSError as error:
        raise AscendError("E40002", f"can't write [{target}]: {error.strerror}") from error
    return found


def annotate(model: onnx.ModelProto, profile: Profile, machine: Machine) -> int:
    """Adds the metadata in place, in the place of what an earlier profile left; how many nodes have a call.

    Of several models in the profile the one that shares the most names counts.
    """
    nodes = list(all_nodes(model.graph))
    names = Counter(node.name for node in nodes if node.name)
    calls, total = _calls(profile, machine, names)
    parts = _calls_of_parts(model.graph, calls) if not any(profile.host_spans()) else {}
    constants = _constants(model.graph)
    for node in nodes:
        said = [_measured(rows, total, names[node.name]) for rows in [calls.get(node.name)] if rows]
        if not said:
            whole = parts.get(id(node))
            is_constant = bool(node.output) and all(o in constants for o in node.output if o)
            note = f"no call of its own: what it makes goes to [{whole}] alone" if whole else ELSEWHERE
            said = [{"note": CONSTANT if is_constant else note if node.name else NAMELESS}]
        _put(node.metadata_props, said[0])
    of_model = {
        "source": str(profile.folder),
        "time of kernels (us)": f"{total * 1e6:.1f}",
        "nodes with a call": f"{sum(node.name in calls for node in nodes)} of {len(nodes)}",
    }
    _put(model.metadata_props, of_model)
    return sum(node.name in calls for node in nodes)


def _calls(
    profile: Profile, machine: Machine, names: Mapping[str, int]
) -> tuple[dict[str, list[Bound]], float]:
    """The calls of each node, of the model that shares the most names; the seconds of all its calls."""
    models: dict[str, dict[str, list[Bound]]] = defaultdict(lambda: defaultdict(list))
    seconds: dict[str, float] = defaultdict(float)
    for bound in bounds(profile, machine):
        seconds[bound.row.model] += bound.row.seconds
        for part in nodes_of(bound.row.name, names):
            models[bound.row.model][part].append(bound)
    if not models:
        return {}, 0.0
    model = max(models, key=lambda name: (len(models[name]), seconds[name]))
    return dict(models[model]), seconds[model]


def _measured(rows: list[Bound], total: float, namesakes: int) -> dict[str, str]:
    """What is said of a node with these calls."""
    longest = max(rows, key=lambda b: b.row.seconds)
    spent = sum(b.row.seconds for b in rows)
    said = {
        "time (us)": f"{sum(b.row.usual / b.row.calls for b in rows) * 1e6:.3f}",
        "share": f"{100 * spent / total:.2f} %" if total else "",
        "calls": str(max(b.row.calls for b in rows)),
        "kernel": ", ".join(dict.fromkeys(b.row.kernel for b in rows)),
        "schedule": "; ".join(dict.fromkeys(filter(None, (b.row.schedule for b in rows)))),
        "bytes": str(sum(b.row.bytes // b.row.calls for b in rows)),
        "bound": _class(longest),
        "part of": ", ".join(dict.fromkeys(b.row.name for b in rows)),
        "note": f"{namesakes} nodes have this name; these are their calls together" if namesakes > 1 else "",
    }
    return {key: value for key, value in said.items() if value}


def _class(bound: Bound) -> str:
    if bound.kind == "unknown":
        return bound.kind
    if bound.unit:
        return f"{bound.kind}; its busiest unit, {bound.unit}, {100 * bound.attained:.1f} % of the time"
    return f"{bound.kind}; {100 * bound.attained:.1f} % of what is attainable"


def _calls_of_parts(graph: onnx.GraphProto, calls: Mapping[str, list[Bound]]) -> dict[int, str]:
    """By identity of a node without a call: the one call that reads all that it makes."""
    leaving = {o.name for o in graph.output}
    readers: dict[str, set[str]] = defaultdict(set)  # by value: calls, "" for what is none
    found: dict[int, str] = {}
    for node in reversed(graph.node):
        if node.name in calls:
            takes = {bound.row.name for bound in calls[node.name]}
        else:
            takes = set().union(*(readers[o] | ({""} if o in leaving else set()) for o in node.output if o))
            if len(takes) == 1 and "" not in takes:
                (found[id(node)],) = takes
        for value in node.input:
            readers[value] |= takes
        for value in reads(node) - set(node.input):  # by a body of it
            readers[value].add("")
    return found


def _constants(graph: onnx.GraphProto) -> set[str]:
    """Values that depend on no input of the model."""
    found = {i.name for i in graph.initializer} - {i.name for i in graph.input}
    for node in graph.node:
        if node.op_type.startswith("Random") or any(a.HasField("g") for a in node.attribute):
            continue
        if all(i in found for i in node.input if i):
            found |= {o for o in node.output if o}
    return found


def has_external_data(model: onnx.ModelProto) -> bool:
    """Whether weights lie in files that the model names by their place in its folder."""
    tensors = [*model.graph.initializer]
    tensors += [a.t for node in all_nodes(model.graph) for a in node.attribute if a.HasField("t")]
    return any(uses_external_data(tensor) for tensor in tensors)


def _put(props: object, said: Mapping[str, str]) -> None:
    kept = [(p.key, p.value) for p in props if not p.key.startswith(PREFIX)]  # type: ignore[attr-defined]
    del props[:]  # type: ignore[attr-defined]
    for key, value in [*kept, *((PREFIX + key, value) for key, value in said.items())]:
        props.add(key=key, value=value)  # type: ignore[attr-defined]
