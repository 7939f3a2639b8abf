"""Indices that are repeated along what follows the axis become indices of whole slices.

    I = copy(indices, repeated);  scatter_elements(X, I, U), axis 0  becomes  scatter_nd(X, indices, U)
    I = copy(indices, repeated);  gather_elements(X, I), axis a      becomes  gather or gather_nd(X, indices)

Graph networks write `x.scatter_add_(0, index.expand(-1, C), u)`, detectors and transformers
`x.gather(1, index.expand(-1, -1, C))`: element by element what is one row after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ascend_ep.opdef.dims import Dim, static
from ascend_ep.plan.kernel_params import GATHER, GATHER_ND, SCATTER_ELEMENTS, SCATTER_ND
from ascend_ep.plan.plan import TEMP, VIEW, Insn, NativePartition, Ref, contiguous_strides
from ascend_ep.plan.value_uses import ValueUses


def take_rows(part: NativePartition) -> int:
    """Changes the partition in place; the number of instructions that now take whole slices."""
    uses = ValueUses.of(part)
    changed = 0
    for insn in list(part.insns):
        repeated = _repeated(insn, uses)
        made = None if repeated is None else _by_slices(insn, repeated)
        if repeated is None or made is None:
            continue
        new, rows = made
        part.values.append(rows)
        uses.put(part, insn, new)
        if not uses.memory_readers(repeated.ref) and not uses.leaves(repeated.ref):
            uses.drop(part, repeated.maker)
            part.values[:] = [v for v in part.values if v is not repeated.ref]
        changed += 1
    part.values.sort(key=lambda v: v.kind == VIEW)  # each behind its base
    return changed


@dataclass(frozen=True)
class _Repeated:
    """Indices that a copy repeats: the copy's result, the copy, and what it reads."""

    ref: Ref
    maker: Insn
    source: Ref
    strides: tuple[Dim, ...]


def _repeated(insn: Insn, uses: ValueUses) -> _Repeated | None:
    if insn.kernel not in ("scatter_elements", "gather_elements") or insn.native is not None:
        return None
    ref = insn.ins[1]
    maker = uses.maker(ref) if ref is not None and ref.kind == TEMP else None
    source = maker.ins[0] if maker is not None and maker.kernel == "copy" else None
    if ref is None or maker is None or source is None or source.strides is None or source.dtype != ref.dtype:
        return None
    return _Repeated(ref, maker, source, source.strides) if source.dims == ref.dims else None


def _by_slices(insn: Insn, found: _Repeated) -> tuple[Insn, Ref] | None:
    """The instruction that takes slices, and the view of the indices that it reads."""
    x = insn.ins[0]
    scatters = insn.kernel == "scatter_elements"
    axis = static((SCATTER_ELEMENTS if scatters else GATHER).get(insn.ints, "axis"))
    if x is None or axis is None:
        return None
    dims, strides = found.ref.dims, found.strides
    after = axis + 1
    if any(static(s) != 0 for s in strides[after:]) or dims[after:] != x.dims[after:] or after == len(dims):
        return None
    if scatters:
        if axis != 0:
            return None
        ints = SCATTER_ND.pack(reduction=SCATTER_ELEMENTS.get(insn.ints, "reduction"))
        return _reading(insn, found, (*dims[:1], 1), "scatter_nd", ints)
    if dims[:axis] != x.dims[:axis]:
        return None
    if all(static(s) == 0 for s in strides[:axis]):
        rows = _view(found, dims[axis : axis + 1], strides[axis : axis + 1])
        return None if rows is None else (_with(insn, rows, "gather", GATHER.pack(axis=axis)), rows)
    return _reading(insn, found, (*dims[:after], 1), "gather_nd", GATHER_ND.pack(batch_axes=axis))


def _reading(
    insn: Insn, found: _Repeated, dims: tuple[Dim, ...], kernel: str, ints: tuple[Dim, ...]
) -> tuple[Insn, Ref] | None:
    """The instruction with tuples of one index each."""
    rows = _view(found, dims, (*found.strides[: len(dims) - 1], 1))
    return None if rows is None else (_with(insn, rows, kernel, ints), rows)


def _with(insn: Insn, rows: Ref, kernel: str, ints: tuple[Dim, ...]) -> Insn:
    return replace(insn, kernel=kernel, ins=(insn.ins[0], rows, *insn.ins[2:]), ints=ints)


def _view(found: _Repeated, dims: tuple[Dim, ...], strides: Sequence[Dim]) -> Ref | None:
    """The indices without repetition; None where they don't lie one behind the other."""
    own = contiguous_strides(dims)
    if any(static(d) != 1 and s != o for d, s, o in zip(dims, strides, own, strict=True)):
        return None
    source = found.source
    memory, offset = (source, 0) if source.base is None else (source.base, source.offset)
    return Ref(f"{found.ref.name}.rows", source.dtype, dims, VIEW, base=memory, offset=offset)
