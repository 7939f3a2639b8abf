"""Attention fuses what appends new keys and values to a cache:

    concat(past, new) -> keys, concat(past, new) -> values, attention     becomes    attention_append

The cache with the new positions stays a value of its own, which others may read after attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ascend_ep.compiler.fusion_candidates import candidate
from ascend_ep.element_types import FLOAT32
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.fusion_rules import rule_of
from ascend_ep.plan.kernel_params import CONCAT
from ascend_ep.plan.plan import Insn, NativePartition, Ref, joining
from ascend_ep.plan.value_uses import ValueUses

POSITION = 2  #: axis of keys and values
APPEND = rule_of("CacheAppend")


def fuse_caches(part: NativePartition, ledger: Ledger | None = None) -> int:
    """Fuses in place, wherever possible and `ledger` decides so; the number of instructions that went."""
    ledger = Ledger() if ledger is None else ledger
    before = len(part.insns)
    if ledger.is_on(APPEND):
        uses = ValueUses.of(part)
        for insn in [i for i in part.insns if i.kernel == "attention"]:
            _take_appends(part, insn, uses, ledger)
    return before - len(part.insns)


def _take_appends(part: NativePartition, attention: Insn, uses: ValueUses, ledger: Ledger) -> None:
    query, keys, values, *mask = attention.ins
    appends = [_append_of(uses, x) for x in (keys, values)]
    if appends[0] is None or appends[1] is None or appends[0] is appends[1]:
        return
    presents = [a.outs[0] for a in appends if a is not None]
    both = candidate([appends[0], appends[1], attention], presents)
    (past_keys, new_keys), (past_values, new_values) = appends[0].ins, appends[1].ins
    assert past_keys is not None
    assert past_values is not None
    at = part.insns.index(attention)
    reason = _read_before(part.insns[:at], (query, *mask), presents, uses)
    if past_keys.dims[POSITION] != past_values.dims[POSITION]:
        reason = "there are not as many past values as keys"
    if reason:
        ledger.refuse(APPEND, both, reason)
        return
    if not ledger.weigh(APPEND, both):
        return
    ins = (query, new_keys, new_values, *(mask or [None]), past_keys, past_values)
    outs = (*attention.outs, *presents)
    fused = replace(attention, kernel="attention_append", ins=ins, outs=outs)
    fused = joining(fused, [appends[0], appends[1], attention])
    uses.put(part, attention, fused)
    for append in (appends[0], appends[1]):
        uses.drop(part, append)


def _read_before(
    insns: Sequence[Insn], others: Sequence[Ref | None], presents: Sequence[Ref], uses: ValueUses
) -> str | None:
    """Who reads what is appended although it isn't there yet: an instruction before attention, or attention
    itself by one of its `others`."""
    readers = {id(i) for value in presents for i in uses.memory_readers(value)}
    for insn in insns:
        if id(insn) in readers:
            return f"what it appends is read before, by {insn.name!r}"
    itself = any(r is not None and (r.base or r) in presents for r in others)
    return "what it appends is its query or mask, too" if itself else None


def _append_of(uses: ValueUses, x: Ref | None) -> Insn | None:
    """What puts these keys or values together of past and new ones."""
    made = None if x is None else uses.maker(x)
    if x is None or made is None or made.kernel != "concat" or made.ints != CONCAT.pack(axis=POSITION):
        return None
    return made if len(made.ins) == 2 and x.rank == 4 and x.dtype == FLOAT32 else None
