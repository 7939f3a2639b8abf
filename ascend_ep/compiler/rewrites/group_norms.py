"""GroupNormalization as PyTorch exports it becomes one call on the image itself:

    y = Reshape(InstanceNormalization(Reshape(x, [N, groups, -1]), 1, 0), [N, C, ..]) * scale + shift

is a group_norm of x's channels with `scale` and `shift`, one element for each channel, when nothing else
reads what stands between. Then it can have channels last, as the convolutions beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.fusion_candidates import candidate
from ascend_ep.element_types import FLOAT32
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.dims import Dim, static
from ascend_ep.opdef.expression import Apply, Input
from ascend_ep.opdef.fusion_rules import rule_of
from ascend_ep.plan.kernel_params import GROUP_NORM
from ascend_ep.plan.plan import TEMP, WEIGHT, Insn, NativePartition, Ref, Weight, joining
from ascend_ep.plan.tile_expression import place
from ascend_ep.plan.value_uses import ValueUses

from .elementwise_insns import in_float32, is_elementwise

RULE = rule_of("GroupNorm")


def fuse_group_norms(part: NativePartition, ledger: Ledger | None = None) -> int:
    """Fuses in place, wherever `ledger` decides so; the number of instructions that went."""
    ledger = Ledger() if ledger is None else ledger
    before = len(part.insns)
    if not ledger.is_on(RULE):
        return 0
    uses = ValueUses.of(part)
    for insn in [i for i in part.insns if i.kernel == "group_norm"]:
        found = _of_image(part, insn, uses)
        if found is None:
            continue
        for op in ("mul", "add"):
            found = _take(part, found, op, uses, ledger)
    return before - len(part.insns)


# --- the image --------------------------------------------------------------------------------


def _of_image(part: NativePartition, insn: Insn, uses: ValueUses) -> Insn | None:
    """The instruction, on the image of which its input is a view; None when there is none."""
    x, out = insn.ins[0], insn.outs[0]
    if x is None or x.base is None:
        return insn if uses.is_inner(out) else None
    image, views = x.base, uses.views(out)
    alike = [v for v in views if v.dims == image.dims and v.strides is None and static(v.offset) == 0]
    groups, channels = static(x.dims[1]), static(image.dims[1]) if image.rank > 2 else None
    parameters = [_parameter(insn.ins[i], groups) for i in (1, 2)]
    whole = (
        x.strides is None and image.strides is None and static(x.offset) == 0 and x.dims[0] == image.dims[0]
    )
    if not whole or not alike or len(alike) != len(views) or groups is None or channels is None:
        return None
    if uses.leaves(out) or uses.readers(out) or channels % groups or any(p is None for p in parameters):
        return None
    if _size(x.dims[1:]) is None or _size(x.dims[1:]) != _size(image.dims[1:]):
        return None
    made = Ref(out.name, out.dtype, image.dims, TEMP, last=image.last, origin=alike[0].origin)
    spread = [
        _row(f"{out.name}:{i}", np.repeat(p, channels // groups))
        for i, p in enumerate(parameters)
        if p is not None
    ]
    for reader in uses.memory_readers(out):
        uses.put(part, reader, replace(reader, ins=tuple(made if r in alike else r for r in reader.ins)))
    found = replace(insn, ins=(image, *spread), outs=(made,), ints=GROUP_NORM.pack(groups=groups))
    uses.put(part, insn, found)
    gone = [out, *alike] if uses.readers(x) or uses.leaves(x) else [x, out, *alike]
    part.values[:] = [v for v in part.values if v not in gone] + [made, *spread]
    return found


def _size(dims: tuple[Dim, ...]) -> int | None:
    sizes = [static(d) for d in dims]
    return None if None in sizes else prod(s for s in sizes if s is not None)


def _parameter(ref: Ref | None, count: int | None) -> NDArray[np.float32] | None:
    """The elements of a constant that has so many."""
    if ref is None or ref.weight is None or ref.base is not None or ref.weight.layout != "plain":
        return None
    elements = np.asarray(ref.weight.load())
    return elements.reshape(-1) if ref.dtype == FLOAT32 and elements.size == count else None


def _row(name: str, elements: NDArray[np.float32]) -> Ref:
    return Ref(name, FLOAT32, elements.shape, WEIGHT, weight=Weight(elements))


# --- what stands behind it --------------------------------------------------------------------


@dataclass(frozen=True)
class _ByChannel:
    """An elementwise instruction of a value and one constant for each of its channels."""

    insn: Insn
    elements: NDArray[np.float32]


def _take(part: NativePartition, norm: Insn, op: str, uses: ValueUses, ledger: Ledger) -> Insn:
    """The normalisation with the scale or shift behind it, if there is one."""
    out = norm.outs[0]
    found = _by_channel(uses.memory_readers(out), out, op)
    given = [_parameter(norm.ins[i], static(out.dims[1])) for i in (1, 2)]
    scale, shift = given
    if found is None or scale is None or shift is None or not uses.is_inner(out):
        return norm
    if not ledger.weigh(RULE, candidate([norm, found.insn])):
        return norm
    ins = list(norm.ins)
    by = found.elements
    changed = [(1, scale * by), (2, shift * by)] if op == "mul" else [(2, shift + by)]
    for i, elements in changed:
        row = _row(f"{found.insn.outs[0].name}:{i}", elements)
        part.values.append(row)
        ins[i] = row
    fused = joining(replace(norm, ins=tuple(ins), outs=found.insn.outs), [norm, found.insn])
    uses.put(part, norm, fused)
    uses.drop(part, found.insn)
    part.values.remove(out)
    return fused


def _by_channel(readers: list[Insn], image: Ref, op: str) -> _ByChannel | None:
    reader = readers[0] if len(readers) == 1 else None
    if reader is None or not is_elementwise(reader) or len(reader.outs) != 1:
        return None
    leaves: list[Ref] = []
    expression = in_float32(reader, {}, leaves)
    if not isinstance(expression, Apply) or expression.op != op or len(leaves) != 2:
        return None
    if not all(isinstance(arg, Input) for arg in expression.args) or reader.outs[0].dims != image.dims:
        return None
    places = {place(arg) for arg in expression.args if isinstance(arg, Input)}
    others = [ref for ref in leaves if ref is not image]
    if places != {0, 1} or len(others) != 1 or reader.outs[0].dtype != FLOAT32:
        return None
    (other,) = others
    own = (*(1,) * (image.rank - other.rank), *other.dims) if other.rank <= image.rank else ()
    if not own or [static(d) for d in own] != [1, static(image.dims[1]), *(1,) * (image.rank - 2)]:
        return None
    elements = _parameter(other, static(image.dims[1]))
    return None if elements is None else _ByChannel(reader, elements)
