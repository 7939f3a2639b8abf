"""The bytes of the PLAN partition: every list of the plan becomes an array of a struct of ascend_rt.h,
filled through cffi, so that the C compiler's layout is the only one there is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.opdef.constraints import Constraint
from ascend_ep.plan.plan import (
    VIEW,
    WEIGHT,
    AttrValue,
    Edge,
    HostPartition,
    Insn,
    Native,
    NativePartition,
    Plan,
    Ref,
)
from ascend_ep.plan.tile_encoding import kernel_arguments
from ascend_ep.runtime._rt import ffi, lib
from ascend_ep.runtime.layouts import LAYOUTS

from .placement import Placement, Segment
from .pools import Pools
from .reader_version import min_reader

NONE: int = lib.ASC_NONE
INT64_MAX = 2**63 - 1

Record = dict[str, Any]


class PlanImage:
    """Turns a plan into sections: records of fixed size, which refer to pools and to each other by number."""

    def __init__(self, plan: Plan, placement: Placement) -> None:
        self._plan = plan
        self._placed = placement
        self._pools = Pools(plan.symbols)
        self._attrs: list[dict[str, int]] = []
        self._origins: list[dict[str, int]] = []
        self._symbol_at = {name: i for i, name in enumerate(plan.symbols)}
        self._native_at = {native: i for i, native in enumerate(placement.natives)}
        self._edge_at = {edge: i for i, edge in enumerate(plan.edges)}

    def build(self) -> bytes:
        """The whole PLAN partition (layout: native/core/bundle.c)."""
        edges = self._structs("asc_edge", map(self._edge, self._plan.edges))
        partitions, values, insns = self._partitions()
        symbols = self._structs("asc_symbol", map(self._symbol, self._plan.symbols))
        natives = self._structs("asc_native", map(self._native, self._placed.natives))
        samples = self._structs("asc_sample", map(self._sample, range(len(self._plan.samples))))
        meta = self._structs(
            "asc_meta",
            (
                {"key": self._pools.string(k), "value": self._pools.string(v)}
                for k, v in self._plan.meta.items()
            ),
        )
        constraints = self._structs("asc_constraint", map(self._constraint, self._plan.constraints))
        dims = ({"op": op, "a": a, "b": b, "value": value} for op, a, b, value in self._pools.dims)
        return assemble(
            [
                (lib.ASC_SEC_SYMBOLS, symbols),
                (lib.ASC_SEC_DIMS, self._structs("asc_dim", dims)),
                (
                    lib.ASC_SEC_INDICES,
                    (4, struct.pack(f"<{len(self._pools.indices)}I", *self._pools.indices)),
                ),
                (lib.ASC_SEC_FLOATS, (8, struct.pack(f"<{len(self._pools.floats)}d", *self._pools.floats))),
                (lib.ASC_SEC_WEIGHTS, self._structs("asc_weight", map(_digested, self._placed.weights))),
                (lib.ASC_SEC_VALUES, self._structs("asc_value", values)),
                (lib.ASC_SEC_INSNS, self._structs("asc_insn", insns)),
                (lib.ASC_SEC_PARTITIONS, self._structs("asc_partition", partitions)),
                (lib.ASC_SEC_EDGES, edges),
                (lib.ASC_SEC_ATTRS, self._structs("asc_attr_record", self._attrs)),
                (lib.ASC_SEC_NATIVE, natives),
                (lib.ASC_SEC_META, meta),
                (lib.ASC_SEC_SAMPLES, samples),
                (lib.ASC_SEC_PROFILES, self._structs("asc_profile_size", self._profile_sizes())),
                (lib.ASC_SEC_WEIGHT_FILES, self._structs("asc_weight_file", self._weight_files())),
                (lib.ASC_SEC_CONSTRAINTS, constraints),
                (lib.ASC_SEC_ORIGINS, self._structs("asc_origin", self._origins)),
                *self._apart(),
                (lib.ASC_SEC_STRINGS, (1, bytes(self._pools.strings))),
            ],
            min_reader(
                self._plan,
                {v["layout"] for v in values},
                weight_files=bool(self._placed.weight_files),
            ),
        )

    def _partitions(self) -> tuple[list[Record], list[Record], list[Record]]:
        """The partitions, what falls back on another behind it; and all their values and instructions."""
        values: list[Record] = []
        insns: list[Record] = []
        partitions: list[Record] = []
        for partition in self._plan.partitions:
            if isinstance(partition, NativePartition):
                partitions.append(self._native_partition(partition, values, insns))
                if partition.fallback is not None:
                    partitions[-1]["fallback"] = len(partitions)
                    fallback = self._native_partition(partition.fallback, values, insns)
                    partitions.append(fallback | {"kind": lib.ASC_PARTITION_FALLBACK})
            else:
                partitions.append(self._host_partition(partition, len(values), len(insns)))
        return partitions, values, insns

    def _apart(self) -> list[Section]:
        """The plan for sizes that contradict names, a whole PLAN partition, and its host models."""
        if self._plan.apart is None:
            return []
        hosts = [p for p in self._plan.apart.partitions if isinstance(p, HostPartition)]
        body, places = bytearray(), {}
        for host in hosts:
            body += bytes(-len(body) % lib.ASC_ALIGN)
            places[host] = Segment(len(body), len(host.model), b"")
            body += host.model
        image = PlanImage(self._plan.apart, replace(self._placed, hosts=places, samples=[])).build()
        return [(lib.ASC_SEC_APART, (1, image)), (lib.ASC_SEC_APART_HOST, (1, bytes(body)))]

    # --- records ------------------------------------------------------------------------------

    def _structs(self, ctype: str, records: Iterable[dict[str, Any]]) -> tuple[int, bytes]:
        rows = list(records)
        try:
            array = ffi.new(f"{ctype}[]", rows)
        except OverflowError as error:
            raise AscendError("E40008", "a number of the model's sizes is beyond 64 bits") from error
        return ffi.sizeof(ctype), bytes(ffi.buffer(array)) if rows else b""

    def _symbol(self, name: str) -> dict[str, Any]:
        size = self._plan.symbols[name]
        return {
            "name": self._pools.string(name),
            "min": size.min,
            "max": INT64_MAX if size.max is None else size.max,
        }

    def _profile_sizes(self) -> list[dict[str, int]]:
        return [
            {"profile": number, "symbol": self._symbol_at[name], "size": size}
            for number, profile in enumerate(self._plan.profiles)
            for name, size in profile.items()
        ]

    def _constraint(self, constraint: Constraint) -> dict[str, int]:
        return {
            "left": self._pools.dim(constraint.left),
            "right": self._pools.dim(constraint.right),
            "or_one": int(constraint.or_one),
            "text": self._pools.string(constraint.text),
        }

    def _weight_files(self) -> list[dict[str, Any]]:
        return [
            {
                "name": self._pools.string(f.name),
                "first_weight": f.first,
                "n_weights": f.count,
                "bytes": f.size,
                "sha256": list(f.sha256),
            }
            for f in self._placed.weight_files
        ]

    def _edge(self, edge: Edge) -> dict[str, Any]:
        role = (lib.ASC_EDGE_INPUT if edge.is_input else 0) | (lib.ASC_EDGE_OUTPUT if edge.is_output else 0)
        return {
            "name": self._pools.string(edge.name),
            "dtype": edge.dtype,
            "rank": len(edge.dims),
            "role": role,
            "first_dim": self._pools.dim_run(edge.dims),
        }

    def _native_partition(
        self, partition: NativePartition, values: list[dict[str, Any]], insns: list[dict[str, Any]]
    ) -> dict[str, Any]:
        kept = _referenced(partition)
        first = len(values)
        number = {ref: first + i for i, ref in enumerate(kept)}
        first_insn = len(insns)
        values += [self._value(ref, number) for ref in kept]
        self._origins += [
            {"value": number[ref], "name": self._pools.string(ref.origin), "last": ref.last}
            for ref in kept
            if ref.origin is not None
        ]
        insns += [self._insn(insn, number) for insn in partition.insns]
        ins = [n for edge, ref in partition.inputs for n in (self._edge_at[edge], number[ref])]
        outs = [n for edge, ref in partition.outputs for n in (self._edge_at[edge], number[ref])]
        return {
            "name": self._pools.string(partition.name),
            "kind": lib.ASC_PARTITION_NATIVE,
            "first_value": first,
            "n_values": len(kept),
            "first_insn": first_insn,
            "n_insns": len(partition.insns),
            "first_input": self._pools.run(ins),
            "n_inputs": len(partition.inputs),
            "first_output": self._pools.run(outs),
            "n_outputs": len(partition.outputs),
        }

    def _host_partition(self, partition: HostPartition, n_values: int, n_insns: int) -> dict[str, Any]:
        place = self._placed.hosts[partition]
        ins = [n for edge in partition.inputs for n in (self._edge_at[edge], NONE)]
        outs = [n for edge in partition.outputs for n in (self._edge_at[edge], NONE)]
        return {
            "name": self._pools.string(partition.name),
            "kind": lib.ASC_PARTITION_HOST,
            "first_value": n_values,
            "first_insn": n_insns,
            "first_input": self._pools.run(ins),
            "n_inputs": len(partition.inputs),
            "first_output": self._pools.run(outs),
            "n_outputs": len(partition.outputs),
            "host_offset": place.offset,
            "host_bytes": place.size,
            "reason": self._pools.string(partition.reason),
        }

    def _value(self, ref: Ref, number: dict[Ref, int]) -> dict[str, Any]:
        base = NONE
        if ref.kind == WEIGHT and ref.weight is not None:
            base = self._placed.weight_of[ref.weight]
        elif ref.kind == VIEW and ref.base is not None:
            base = number[ref.base]
        return {
            "name": self._pools.string(ref.name),
            "dtype": ref.dtype,
            "kind": ref.kind,
            "rank": ref.rank,
            "layout": LAYOUTS[ref.weight.layout].number if ref.weight else lib.ASC_LAYOUT_PLAIN,
            "first_dim": self._pools.dim_run(ref.dims),
            "first_stride": NONE if ref.strides is None else self._pools.dim_run(ref.strides),
            "base": base,
            "offset": NONE if ref.offset == 0 else self._pools.dim(ref.offset),
        }

    def _insn(self, insn: Insn, number: dict[Ref, int]) -> dict[str, Any]:
        operands = [NONE if r is None else number[r] for r in (*insn.ins, *insn.outs)]
        first_attr = len(self._attrs)
        self._attrs += [self._attr(name, value) for name, value in insn.attrs.items()]
        ints, floats = kernel_arguments(insn)
        return {
            "name": self._pools.string(insn.joined_name),
            "kernel": self._pools.string(insn.kernel),
            "n_in": len(insn.ins),
            "n_out": len(insn.outs),
            "first_operand": self._pools.run(operands),
            "first_int": self._pools.dim_run(ints),
            "n_ints": len(ints),
            "first_float": self._pools.float_run(floats),
            "n_floats": len(floats),
            "native": NONE if insn.native is None else self._native_at[insn.native],
            "first_attr": first_attr,
            "n_attrs": len(insn.attrs),
            "op_type": self._pools.string(insn.joined_type),
        }

    def _attr(self, name: str, value: AttrValue) -> dict[str, int]:
        key = self._pools.string(name)
        if isinstance(value, str):
            return {"name": key, "kind": lib.ASC_ATTR_STRING, "first": self._pools.string(value), "count": 1}
        if any(isinstance(v, float) for v in value):
            floats = [float(v) for v in value if isinstance(v, int | float)]
            return {
                "name": key,
                "kind": lib.ASC_ATTR_FLOATS,
                "first": self._pools.float_run(floats),
                "count": len(floats),
            }
        dims = [v for v in value if not isinstance(v, float)]
        return {
            "name": key,
            "kind": lib.ASC_ATTR_INTS,
            "first": self._pools.dim_run(dims),
            "count": len(dims),
        }

    def _native(self, native: Native) -> dict[str, Any]:
        place = self._placed.natives[native]
        return {"name": self._pools.string(native.name)} | _digested(place)

    def _sample(self, index: int) -> dict[str, Any]:
        sample, place = self._plan.samples[index], self._placed.samples[index]
        shape = sample.array.shape
        return {
            "edge": self._edge_at[sample.edge],
            "rank": len(shape),
            "dims": [*shape],
            "offset": place.offset,
            "bytes": place.size,
        }


def _digested(place: Segment) -> dict[str, Any]:
    return {"offset": place.offset, "bytes": place.size, "sha256": list(place.sha256)}


def _referenced(partition: NativePartition) -> list[Ref]:
    """The values that an instruction or the boundary needs, with their bases, in order of making."""
    used = {r for insn in partition.insns for r in (*insn.ins, *insn.outs) if r is not None}
    used |= {ref for _, ref in (*partition.inputs, *partition.outputs)}
    used |= {r.base for r in used if r.base is not None}
    return [r for r in partition.values if r in used]


#: A section: its kind, the bytes of an element, and those of all.
Section = tuple[int, tuple[int, bytes]]


def assemble(sections: Sequence[Section], min_reader: int) -> bytes:
    """Header, section table and sections. Empty sections are left out."""
    present = [(kind, stride, body) for kind, (stride, body) in sections if body]
    align = lib.ASC_ALIGN
    head = ffi.sizeof("asc_plan_header")
    at = head + ffi.sizeof("asc_section") * len(present)
    table = ffi.new("asc_section[]", len(present))
    image = bytearray(at)
    for row, (kind, stride, body) in zip(table, present, strict=True):
        image += bytes(-len(image) % align)
        row.kind, row.stride, row.offset, row.count = kind, stride, len(image), len(body) // stride
        image += body
    if len(image) > 2**62:
        raise AscendError("E40008", "the plan is too large for a bundle")
    header = ffi.new(
        "asc_plan_header *",
        {
            "magic": lib.ASC_PLAN_MAGIC,
            "version": lib.ASC_PLAN_VERSION,
            "min_reader": min_reader,
            "header_bytes": head,
            "n_sections": len(present),
            "plan_bytes": len(image),
            "isa_hint": lib.asc_isa_current(),
        },
    )
    image[:head] = ffi.buffer(header)
    image[head:at] = ffi.buffer(table)
    return bytes(image)
