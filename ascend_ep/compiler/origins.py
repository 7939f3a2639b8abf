"""Which tensors of the source model the values of a plan are, and how they lie: what a dump says of them.

A value is known by its name where its dims are those of the tensor of that name, in the model's order or with
channels last. Lowering and precision make further forms of a tensor, in other types, whose names say so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.passes.retype import MADE, STORED
from ascend_ep.opdef.dims import Dim
from ascend_ep.plan.plan import INPUT, WEIGHT, NativePartition, Plan, Ref

from .half_types import BEFORE_ROUNDING, WIDENED
from .outputs import BEFORE_CAST
from .precision.precision_pass import node_names
from .rewrites.channels_last_insns import first_to_last


@dataclass(frozen=True)
class SourceNames:
    """Of the nodes of a model as it was given, and of the tensors that they make."""

    nodes: Collection[str]
    tensors: Collection[str]

    @classmethod
    def of(cls, model: ir.Model) -> SourceNames:
        return cls(node_names(model), {o.name for n in model.graph for o in n.outputs if o.name})


def note_origins(plan: Plan, model: ir.Model, facts: Facts, source: SourceNames) -> None:
    """Sets `origin` of the values whose order is known. `model`: what was lowered, with its facts.

    Of several values that are a tensor, the first one that an instruction makes has its name.
    """
    made = [*model.graph.inputs, *(o for node in model.graph for o in node.outputs)]
    by_name = {v.name: v for v in made if v.name}
    for part in plan.native_parts():
        _note(part, by_name, facts, source.tensors)


def _note(
    part: NativePartition, by_name: Mapping[str, ir.Value], facts: Facts, tensors: Collection[str]
) -> None:
    found = {id(ref): v for ref in part.values if (v := _value(ref.name, by_name)) is not None}
    for ref in part.values:
        value = found.get(id(ref))
        ref.origin = "" if value is not None and _lies_known(ref, facts[value].dims) else None
    claimed: set[str] = set()
    for ref in (out for insn in part.insns if insn.op_type for out in insn.outs):
        if ref.origin is None:
            continue
        tensor = _before_casts(found[id(ref)])
        name = tensor.name or ""
        original = name.removesuffix(STORED).removesuffix(BEFORE_CAST)
        if {name, original} & set(tensors) and name not in claimed:
            ref.origin = name
            claimed.add(name)


def _value(name: str, by_name: Mapping[str, ir.Value]) -> ir.Value | None:
    """The model's value of which one of the plan is a form."""
    while name not in by_name:
        shorter = name.removesuffix(BEFORE_ROUNDING).removesuffix(WIDENED)
        if shorter == name:
            return None
        name = shorter
    return by_name[name]


def _before_casts(value: ir.Value) -> ir.Value:
    """What the converter's own casts made this of."""
    node = value.producer()
    while node is not None and node.op_type == "Cast" and (source := node.inputs[0]) is not None:
        if MADE not in node.metadata_props and not (source.name or "").endswith(BEFORE_CAST):
            break
        value, node = source, source.producer()
    return value


def _lies_known(ref: Ref, dims: Sequence[Dim] | None) -> bool:
    if dims is None or ref.kind == WEIGHT:
        return False
    if ref.kind == INPUT:
        return ref.rank == len(dims)
    if not ref.last:
        return ref.strides is None and ref.dims == tuple(dims)
    if len(dims) < 3:
        return False
    *outer, line, channels = first_to_last(tuple(dims))
    if ref.last > 1:
        line, channels = line // ref.last, channels * ref.last
    return ref.dims == (*outer, line, channels)
