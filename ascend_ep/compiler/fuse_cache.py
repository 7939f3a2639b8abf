"""Attention takes in what appends new keys and values to a cache:

    concat(past, new) -> keys, concat(past, new) -> values, attention     becomes    attention_append

The cache with the new positions stays a value of its own, which others may read after attention.
"""

from __future__ import annotations

from dataclasses import replace

from ascend_ep.compiler.fusion_candidates import candidate
from ascend_ep.compiler.plan import Insn, NativePartition, Ref
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.fusion_rules import rule_of

FLOAT = 1
POSITION = 2  #: axis of keys and values
APPEND = rule_of("CacheAppend")


def fuse_caches(part: NativePartition, ledger: Ledger | None = None) -> int:
    """Fuses in place, wherever possible and `ledger` decides so; the number of instructions that went."""
    ledger = Ledger() if ledger is None else ledger
    before = len(part.insns)
    if ledger.is_on(APPEND):
        for insn in [i for i in part.insns if i.kernel == "attention"]:
            _take_appends(part, insn, ledger)
    return before - len(part.insns)


def _take_appends(part: NativePartition, attention: Insn, ledger: Ledger) -> None:
    query, keys, values, *mask = attention.ins
    appends = [_append_of(part, x) for x in (keys, values)]
    if appends[0] is None or appends[1] is None or appends[0] is appends[1]:
        return
    presents = [a.outs[0] for a in appends if a is not None]
    both = candidate([appends[0], appends[1], attention], presents)
    at = part.insns.index(attention)
    for insn in part.insns[:at]:
        if any(r is not None and (r.base or r) in presents for r in insn.ins):
            ledger.refuse(APPEND, both, f"what it appends is read before, by {insn.name!r}")
            return
    if not ledger.weigh(APPEND, both):
        return
    (past_keys, new_keys), (past_values, new_values) = appends[0].ins, appends[1].ins
    ins = (query, new_keys, new_values, *(mask or [None]), past_keys, past_values)
    outs = (*attention.outs, *presents)
    part.insns[at] = replace(attention, kernel="attention_append", ins=ins, outs=outs)
    part.insns[:] = [i for i in part.insns if i is not appends[0] and i is not appends[1]]


def _append_of(part: NativePartition, x: Ref | None) -> Insn | None:
    """What puts these keys or values together of past and new ones, if that is their only maker."""
    for insn in part.insns:
        if x is not None and insn.kernel == "concat" and insn.outs[0] is x:
            fits = insn.ints == (POSITION,) and len(insn.ins) == 2 and x.rank == 4 and x.dtype == FLOAT
            return insn if fits else None
    return None
