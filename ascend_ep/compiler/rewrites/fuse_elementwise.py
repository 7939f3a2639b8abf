"""Merges elementwise instructions: a value that only the next one reads never reaches memory.

The merged program does the same steps in the same types, rounding what the value's memory would have
rounded, so its results have the same bits. It is written once, when it is known what it is merged of; until
then, bounds of its steps and registers say that the kernel holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ascend_ep.compiler.fusion_candidates import candidate
from ascend_ep.graph.fusion.assessment import Tensor
from ascend_ep.graph.fusion.ledger import Ledger, Outcome
from ascend_ep.opdef.dtypes import BFLOAT16, FLOAT16, INT8, INT16, UINT8, UINT16, UINT32
from ascend_ep.opdef.fusion_rules import rule_of
from ascend_ep.plan.joined_names import MAX_NAME
from ascend_ep.plan.plan import TEMP, Insn, Ref
from ascend_ep.plan.tile_encoding import schedule
from ascend_ep.plan.tile_program import ProgramError, TileProgram, Value
from ascend_ep.plan.tile_value import MAX_INPUTS, MAX_REGISTERS, MAX_STEPS
from ascend_ep.plan.value_uses import ValueUses

from .elementwise_insns import computing, input_types, is_elementwise, loaded

CHAIN = rule_of("ElementwiseChain")
#: Types that a register holds in a wider one.
ROUNDED = (FLOAT16, BFLOAT16, INT8, UINT8, INT16, UINT16, UINT32)


def fuse_elementwise(insns: Sequence[Insn], ledger: Ledger | None = None) -> list[Insn]:
    """The instructions, each elementwise one merged with the producers of its inputs where possible and where
    `ledger` decides so, which weighs all that the merged one would do.

    A producer is merged when its one output is a temporary of the consumer's shape and has no other reader.
    """
    ledger = Ledger() if ledger is None else ledger
    if not ledger.is_on(CHAIN):
        return list(insns)
    uses, tensors = ValueUses(insns), dict[Ref, Tensor]()
    made: list[_Chain | Insn | None] = []
    producer: dict[Ref, int] = {}
    for insn in insns:
        if not is_elementwise(insn):
            made.append(insn)
            continue
        now = _Chain.of(insn)
        for ref in dict.fromkeys(r for r in insn.ins if r is not None):
            at = producer.get(ref)
            first = None if at is None else made[at]
            if at is None or not isinstance(first, _Chain):
                continue
            joined = _joined_with(first, now, ref, len(uses.memory_readers(ref)), ledger, tensors)
            if joined is not None:
                made[at], now = None, joined
        if len(insn.outs) == 1:
            producer[insn.outs[0]] = len(made)
        made.append(now)
    return [x.merged() if isinstance(x, _Chain) else x for x in made if x is not None]


@dataclass(frozen=True)
class _Chain:
    """Instructions that become one, in order, its name and operator, and what the ledger has of it.

    `inputs`: what it reads. `steps` and `registers`: no fewer than it takes.
    """

    parts: tuple[Insn, ...]
    name: str
    op_type: str
    inputs: frozenset[Ref | None]
    steps: int
    registers: int
    outcome: Outcome | None = None

    @classmethod
    def of(cls, insn: Insn) -> _Chain:
        steps = schedule(insn.expressions, input_types(insn))
        count = len(steps.order) + len(steps.roots)
        return cls((insn,), insn.name, insn.op_type, frozenset(insn.ins), count, steps.count)

    @property
    def last(self) -> Insn:
        return self.parts[-1]

    def behind(self, first: _Chain, between: Ref) -> _Chain | None:
        """Both, `between` being what it reads of the first; None when the kernel's limits don't hold them.

        A sum of registers is enough: wherever one's steps stand among the other's, each holds no more than it
        does by itself. What both compute lives longer, though, and a gate may fall into two steps.
        """
        inputs = first.inputs | (self.inputs - {between})
        shared = self.steps if first.inputs & self.inputs else 0
        both = _Chain(
            (*first.parts, *self.parts),
            _joined(first.name, self.name),
            _joined(first.op_type, self.op_type),
            inputs,
            first.steps + self.steps + 1,
            first.registers + self.registers + 2 + shared,
        )
        if len(inputs) <= MAX_INPUTS and both.steps <= MAX_STEPS and both.registers <= MAX_REGISTERS:
            return both
        try:
            exact = _Chain.of(both.merged())
        except ProgramError:
            return None
        return replace(both, inputs=exact.inputs, steps=exact.steps, registers=exact.registers)

    def merged(self) -> Insn:
        """One instruction for all. Raises ProgramError when the kernel's limits don't hold it."""
        if len(self.parts) == 1:
            return self.last
        program: TileProgram[Ref] = TileProgram()
        held: dict[Ref | None, Value] = {}
        for insn in self.parts:
            inputs = [held[r] if r in held else loaded(program, r) for r in insn.ins]
            values = program.include(insn.expressions, inputs)
            if insn is not self.last:
                (out,) = insn.outs
                held[out] = _held(program, values[0], out.dtype)
        for value, out in zip(values, self.last.outs, strict=True):
            program.output(value, out.dtype)
        whole = replace(self.last, name=self.name, op_type=self.op_type, attrs={}, unfused=None)
        return computing(whole, program.finish(), self.last.outs)


def _joined_with(
    first: _Chain, second: _Chain, ref: Ref, readers: int, ledger: Ledger, tensors: dict[Ref, Tensor]
) -> _Chain | None:
    """One chain of a producer and its reader, or None: then the ledger has the reason."""
    insn = second.last
    whole = candidate((*first.parts, *second.parts), known=tensors)
    both: _Chain | None = None
    if ref.kind != TEMP:
        reason = f"its intermediate value {ref.name!r} leaves the partition"
    elif readers != 1 or any(r is not None and r.base is ref for r in second.inputs):
        reason = f"its intermediate value {ref.name!r} is used elsewhere"
    elif ref.dims != insn.outs[0].dims:
        reason = f"its intermediate value {ref.name!r} would be computed again for every row of the result"
    else:
        both = second.behind(first, ref)
        reason = "" if both is not None else "its steps are more than one program holds"
    if both is None:
        ledger.refuse(CHAIN, whole, reason)
        return None
    outcome = ledger.weigh_grown(CHAIN, whole, [o for o in (first.outcome, second.outcome) if o])
    return replace(both, outcome=outcome) if outcome.is_fused else None


def _held(program: TileProgram[Ref], value: Value, dtype: int) -> Value:
    """What a consumer would have read back from memory of that type."""
    return program.cast(value, dtype) if dtype in ROUNDED or value.dtype != dtype else value


def _joined(first: str, second: str) -> str:
    """The names of both, unless they are one or too long; then the second."""
    if not first or first == second:
        return second
    joined = f"{first}+{second}"
    return joined if second and len(joined) <= MAX_NAME else second
