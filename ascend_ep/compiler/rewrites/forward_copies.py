"""Copies of copies: what a copy has put in order is read where it lay before.

    copy(view of B), B = copy(view of A)     becomes     copy(view of A)

A copy in the order in which the memory lies is a view of it, and none is left where nothing reads it. So
transpositions at the boundary of a region with channels last end those that the model has there.
"""

from __future__ import annotations

from dataclasses import replace

from ascend_ep.opdef.dims import static
from ascend_ep.plan.plan import TEMP, VIEW, Insn, NativePartition, Ref, contiguous_strides
from ascend_ep.plan.value_uses import ValueUses, named_values


def forward_copies(part: NativePartition) -> int:
    """Changes the partition in place; the number of copies that now read elsewhere or are gone."""
    uses = ValueUses.of(part)
    changed = 0
    for insn in list(part.insns):
        found = _behind(insn, uses)
        if found is None:
            continue
        part.values.append(found)
        uses.put(part, insn, replace(insn, ins=(found,)))
        changed += 1
    return changed + _drop(part) if changed else 0


def _behind(insn: Insn, uses: ValueUses) -> Ref | None:
    """A view of what the copy's operand is a copy of, with the operand's elements in the same order."""
    seen = insn.ins[0] if insn.kernel == "copy" else None
    if seen is None:
        return None
    base = seen if seen.base is None else seen.base
    maker = uses.maker(base) if base.kind == TEMP else None
    source = maker.ins[0] if maker is not None and maker.kernel == "copy" else None
    if source is None or source.dims != base.dims or source.dtype != seen.dtype or static(seen.offset) != 0:
        return None
    axes = _axes(seen, base)
    if axes is None:
        return None
    steps = contiguous_strides(source.dims) if source.strides is None else source.strides
    strides = tuple(0 if axis is None else steps[axis] for axis in axes)
    memory, offset = (source, 0) if source.base is None else (source.base, source.offset)
    return Ref(seen.name, seen.dtype, seen.dims, VIEW, memory, offset, strides, last=seen.last)


def _axes(view: Ref, base: Ref) -> list[int | None] | None:
    """For each axis of a view the one of its base that it is; None for one of length 1. None: it is another
    view than of the whole base with its axes in some order."""
    own = contiguous_strides(view.dims) if view.strides is None else view.strides
    left = [(i, d, s) for i, (d, s) in enumerate(zip(base.dims, contiguous_strides(base.dims), strict=True))]
    found: list[int | None] = []
    for dim, stride in zip(view.dims, own, strict=True):
        if static(dim) == 1:
            found.append(None)
            continue
        match = next((axis for axis in left if axis[1:] == (dim, stride)), None)
        if match is None:
            return None
        left.remove(match)
        found.append(match[0])
    return found if all(static(dim) == 1 for _, dim, _ in left) else None


def _drop(part: NativePartition) -> int:
    """Copies in the order in which the memory lies become views; copies that nothing reads go."""
    kept: list[Insn] = []
    before = len(part.insns)
    for insn in part.insns:
        seen, out = (insn.ins[0], insn.outs[0]) if insn.kernel == "copy" else (None, None)
        if seen is not None and out is not None and _is_same(seen, out):
            _become_view(part, out, seen)
        else:
            kept.append(insn)
    part.insns[:] = kept
    while True:
        uses = ValueUses.of(part)
        kept = [i for i in part.insns if i.kernel != "copy" or _is_read(i.outs[0], uses)]
        if len(kept) == len(part.insns):
            break
        part.insns[:] = kept
    named = named_values(part)
    part.values[:] = [v for v in part.values if id(v) in named or v.kind not in (TEMP, VIEW)]
    part.values.sort(key=lambda v: v.kind == VIEW)
    return before - len(part.insns)


def _is_same(seen: Ref, out: Ref) -> bool:
    """Whether the copy of a view is another name for its memory."""
    if out.kind != TEMP or seen.dims != out.dims or seen.strides is None:
        return out.kind == TEMP and seen.dims == out.dims
    plain = contiguous_strides(seen.dims)
    return all(s == p for d, s, p in zip(seen.dims, seen.strides, plain, strict=True) if static(d) != 1)


def _become_view(part: NativePartition, out: Ref, seen: Ref) -> None:
    base, offset = (seen, 0) if seen.base is None else (seen.base, seen.offset)
    for view in part.values:
        if view.base is out:
            view.base, view.offset = base, view.offset + offset
    out.kind, out.base, out.offset, out.strides = VIEW, base, offset, None


def _is_read(ref: Ref, uses: ValueUses) -> bool:
    return ref.kind != TEMP or bool(uses.memory_readers(ref)) or uses.leaves(ref)
