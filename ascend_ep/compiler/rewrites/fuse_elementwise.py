"""Merges elementwise instructions: a value that only the next one reads never reaches memory.

The merged program does the same steps in the same types, rounding what the value's memory would have
rounded, so its results have the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ascend_ep.compiler.fusion_candidates import candidate
from ascend_ep.graph.fusion.ledger import Ledger, Outcome
from ascend_ep.opdef.dtypes import BFLOAT16, FLOAT16, INT8, INT16, UINT8, UINT16, UINT32
from ascend_ep.opdef.fusion_rules import rule_of
from ascend_ep.plan.plan import TEMP, Insn, Ref
from ascend_ep.plan.tile_program import ProgramError, TileProgram, Value
from ascend_ep.plan.value_uses import ValueUses

from .elementwise_insns import computing, is_elementwise, loaded

CHAIN = rule_of("ElementwiseChain")
#: Types that a register holds in a wider one.
ROUNDED = (FLOAT16, BFLOAT16, INT8, UINT8, INT16, UINT16, UINT32)
MAX_NAME = 100  # characters of a merged instruction's name


def fuse_elementwise(insns: Sequence[Insn], ledger: Ledger | None = None) -> list[Insn]:
    """The instructions, each elementwise one merged with the producers of its inputs where possible and where
    `ledger` decides so, which weighs all that the merged one would do.

    A producer is merged when its one output is a temporary of the consumer's shape and has no other reader.
    """
    ledger = Ledger() if ledger is None else ledger
    if not ledger.is_on(CHAIN):
        return list(insns)
    uses = ValueUses(insns)
    made: list[_Grown | Insn | None] = []
    producer: dict[Ref, int] = {}
    for insn in insns:
        if not is_elementwise(insn):
            made.append(insn)
            continue
        now = _Grown(insn, (insn,))
        for ref in dict.fromkeys(r for r in insn.ins if r is not None):
            at = producer.get(ref)
            first = None if at is None else made[at]
            if at is None or not isinstance(first, _Grown):
                continue
            joined = _joined_with(first, now, ref, len(uses.memory_readers(ref)), ledger)
            if joined is not None:
                made[at], now = None, joined
        if len(insn.outs) == 1:
            producer[insn.outs[0]] = len(made)
        made.append(now)
    return [x.insn if isinstance(x, _Grown) else x for x in made if x is not None]


@dataclass(frozen=True)
class _Grown:
    """An instruction, those it was merged of, in order, and what the ledger has of it."""

    insn: Insn
    parts: tuple[Insn, ...]
    outcome: Outcome | None = None


def _joined_with(first: _Grown, second: _Grown, ref: Ref, readers: int, ledger: Ledger) -> _Grown | None:
    """One instruction for a producer and its reader, or None: then the ledger has the reason."""
    insn, parts = second.insn, (*first.parts, *second.parts)
    whole = candidate(parts)
    merged: Insn | None = None
    if ref.kind != TEMP:
        reason = f"its intermediate value {ref.name!r} leaves the partition"
    elif readers != 1 or any(r is not None and r.base is ref for r in insn.ins):
        reason = f"its intermediate value {ref.name!r} is used elsewhere"
    elif ref.dims != insn.outs[0].dims:
        reason = f"its intermediate value {ref.name!r} would be computed again for every row of the result"
    else:
        merged = _merged(first.insn, insn, ref)
        reason = "" if merged is not None else "its steps are more than one program holds"
    if merged is None:
        ledger.refuse(CHAIN, whole, reason)
        return None
    outcome = ledger.weigh_grown(CHAIN, whole, [o for o in (first.outcome, second.outcome) if o])
    return _Grown(merged, parts, outcome) if outcome.is_fused else None


def _merged(first: Insn, second: Insn, between: Ref) -> Insn | None:
    """One instruction for both, or None when the kernel's limits don't hold it."""
    program: TileProgram[Ref] = TileProgram()
    (value,) = program.include(first.expressions, [loaded(program, r) for r in first.ins])
    held = _held(program, value, between.dtype)
    inputs = [held if r is between else loaded(program, r) for r in second.ins]
    for value, out in zip(program.include(second.expressions, inputs), second.outs, strict=True):
        program.output(value, out.dtype)
    try:
        computed = program.finish()
    except ProgramError:
        return None
    name, op_type = _joined(first.name, second.name), _joined(first.op_type, second.op_type)
    merged = replace(second, name=name, op_type=op_type, attrs={}, unfused=None)
    return computing(merged, computed, second.outs)


def _held(program: TileProgram[Ref], value: Value, dtype: int) -> Value:
    """What a consumer would have read back from memory of that type."""
    return program.cast(value, dtype) if dtype in ROUNDED or value.dtype != dtype else value


def _joined(first: str, second: str) -> str:
    """The names of both, unless they are one or too long; then the second."""
    if not first or first == second:
        return second
    joined = f"{first}+{second}"
    return joined if second and len(joined) <= MAX_NAME else second
