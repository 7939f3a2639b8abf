"""Elementwise instructions that nothing joined, as the kernel that does just that."""

from __future__ import annotations

from ascend_ep.plan.plan import WEIGHT, Insn, NativePartition
from ascend_ep.plan.value_uses import read_values


def take_unfused(part: NativePartition) -> None:
    """Changes the partition in place; constants that only the other form reads leave it."""
    spared = {id(r) for i in part.insns if i.unfused is not None for r in i.unfused.ins}
    part.insns[:] = [_unfused(insn) for insn in part.insns]
    read = read_values(part)
    part.values[:] = [r for r in part.values if r.kind != WEIGHT or id(r) in read or id(r) not in spared]


def _unfused(insn: Insn) -> Insn:
    """The other form, unless other passes changed what the instruction reads or writes."""
    other = insn.unfused
    same = other is not None and other.ins[0] is insn.ins[0] and other.outs == insn.outs
    return other if other is not None and same else insn
