"""What `ascend-om inspect` shows of a bundle: as data for --json, and as text made from that data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ascend_ep.element_types import element_name
from ascend_ep.runtime.binding import isa_name, lib, open_model
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.bundle_records import Edge, Instruction, Partition, Value

Found = dict[str, Any]

_PARTS = {
    "MODEL_DEF": lib.ASC_PART_MODEL_DEF,
    "WEIGHTS": lib.ASC_PART_WEIGHTS,
    "HOST": lib.ASC_PART_HOST,
    "NATIVE": lib.ASC_PART_NATIVE,
    "SAMPLES": lib.ASC_PART_SAMPLES,
    "PLAN": lib.ASC_PART_PLAN,
}


def describe(path: str) -> Found:
    """Everything the bundle says about itself. Native code in it is not loaded. Raises AscendError."""
    model = open_model(path, flags=lib.ASC_OPEN_NO_NATIVE)
    bundle = Bundle(model)
    return {
        "path": path,
        "isa": isa_name(),
        "parts": {
            name: bundle.part(kind).nbytes for name, kind in _PARTS.items() if bundle.part(kind).nbytes
        },
        "meta": bundle.meta,
        "inputs": [_edge(e) for e in bundle.edges if e.is_input],
        "outputs": [_edge(e) for e in bundle.edges if e.is_output],
        "symbols": [{"name": s.name, "min": s.min, "max": s.max} for s in bundle.symbols],
        "profiles": list(bundle.profiles),
        "partitions": [_partition(bundle, p) for p in bundle.partitions],
        "weights": _weights(bundle),
        "weight_files": [
            {"name": f.name, "bytes": f.size, "sha256": f.sha256, "weights": len(f.weights)}
            for f in bundle.weight_files
        ],
        "native": [{"name": n.name, "bytes": n.size, "sha256": n.sha256} for n in bundle.natives],
    }


def _weights(bundle: Bundle) -> list[Found]:
    """Offsets count from the start of the WEIGHTS partition, or of the file that is named."""
    files = {i: f.name for f in bundle.weight_files for i in f.weights}
    return [
        {"offset": w.offset, "bytes": w.size, "sha256": w.sha256} | ({"file": files[i]} if i in files else {})
        for i, w in enumerate(bundle.weights)
    ]


def _edge(edge: Edge) -> Found:
    return {"name": edge.name, "type": element_name(edge.dtype), "shape": list(edge.dims)}


def _partition(bundle: Bundle, partition: Partition) -> Found:
    found: Found = {
        "name": partition.name,
        "kind": "native" if partition.is_native else "host",
        "inputs": [bundle.edges[i].name for i in partition.inputs],
        "outputs": [bundle.edges[i].name for i in partition.outputs],
    }
    if partition.model is None:
        found["instructions"] = [_instruction(i) for i in bundle.instructions(partition)]
    else:
        found |= {"reason": partition.reason, "bytes": len(partition.model)}
    return found


def _instruction(insn: Instruction) -> Found:
    return {
        "node": insn.node,
        "op_type": insn.op_type,
        "kernel": insn.kernel,
        "inputs": [_value(v) for v in insn.inputs],
        "outputs": [_value(v) for v in insn.outputs],
        "ints": list(insn.ints),
        "floats": list(insn.floats),
    }


def _value(value: Value | None) -> str:
    if value is None:
        return "-"
    layout = "" if value.layout == "plain" else f" {value.layout}"
    dims = ",".join(map(str, value.dims))
    return f"{value.name or '_'}:{element_name(value.dtype)}[{dims}] {value.kind}{layout}"


def bundle_text(found: Found) -> str:
    """The description for people."""
    return "\n".join(_lines(found))


def _lines(found: Found) -> Iterator[str]:
    yield f"{found['path']}  (ISA level here: {found['isa']})"
    yield "parts: " + ", ".join(f"{name} {size} B" for name, size in found["parts"].items())
    for key, value in found["meta"].items():
        yield f"  {key} = {value}"
    for side in ("inputs", "outputs"):
        for edge in found[side]:
            yield f"{side[:-1]} {edge['name']}: {edge['type']}{edge['shape']}"
    for symbol in found["symbols"]:
        top = "" if symbol["max"] is None else symbol["max"]
        yield f"symbol {symbol['name']}: {symbol['min']}..{top}"
    for profile in found["profiles"]:
        yield "profile " + ", ".join(f"{name}={size}" for name, size in profile.items())
    for partition in found["partitions"]:
        boundary = f"({', '.join(partition['inputs'])}) -> ({', '.join(partition['outputs'])})"
        if partition["kind"] == "host":
            size, reason = partition["bytes"], partition["reason"]
            yield f"host partition {partition['name']} {boundary}, {size} B: {reason}"
            continue
        yield f"native partition {partition['name']} {boundary}"
        for i, insn in enumerate(partition["instructions"]):
            yield f"  {i:4d} {insn['kernel']:<16} {insn['node'] or '-'} ({insn['op_type'] or '-'})"
            yield f"         {', '.join(insn['inputs'])} -> {', '.join(insn['outputs'])}"
            if insn["ints"] or insn["floats"]:
                yield f"         ints {_short(insn['ints'])} floats {_short(insn['floats'])}"
    total = sum(w["bytes"] for w in found["weights"])
    yield f"weights: {len(found['weights'])} segments, {total} B"
    for file in found["weight_files"]:
        yield f"  in {file['name']}: {file['weights']}, {file['bytes']} B, sha256:{file['sha256']}"
    for native in found["native"]:
        yield f"native code: {native['name']}, {native['bytes']} B, sha256:{native['sha256']}"


def _short(values: list[Any]) -> str:
    shown = ", ".join(map(str, values[:24]))
    return f"[{shown}{', ...' if len(values) > 24 else ''}]"
