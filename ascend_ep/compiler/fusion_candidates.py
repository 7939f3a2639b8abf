"""Kernel calls of a plan as a candidate for the cost function of fusions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence

from ascend_ep.graph.fusion.assessment import Candidate, Kind, Step, Tensor
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.fusion_rules import Rule
from ascend_ep.plan.plan import Insn, NativePartition, Plan, Ref

KINDS = {
    **dict.fromkeys(("matmul", "conv", "conv_last", "attention", "attention_append"), Kind.PRODUCT),
    **dict.fromkeys(("rms_norm", "layer_norm", "softmax", "reduce"), Kind.ROWS),
    **dict.fromkeys(("copy", "transpose", "concat", "gather"), Kind.MOVE),
}


def candidate(
    insns: Sequence[Insn], stays: Sequence[Ref] = (), known: MutableMapping[Ref, Tensor] | None = None
) -> Candidate:
    """The calls, in order and the last of them the result's, as what one call would do.

    Besides the last one's results the fused call writes those in `stays`. `known` keeps the tensors of
    values from one candidate to the next.
    """
    tensors = {} if known is None else known

    def tensor(ref: Ref) -> Tensor:
        found = tensors.get(ref)
        if found is None:
            found = tensors[ref] = Tensor(ref.dims, ref.dtype)
        return found

    steps = tuple(
        Step(
            insn.op_type.rpartition("::")[2] or insn.kernel,
            KINDS.get(insn.kernel, Kind.ELEMENTWISE),
            tuple(tensor(r) for r in _given(insn.ins)),
            tuple(tensor(r) for r in insn.outs),
        )
        for insn in insns
    )
    made = {r for insn in insns for r in insn.outs}
    reads = tuple(tensor(r) for insn in insns for r in _given(insn.ins) if r not in made)
    writes = tuple(tensor(r) for r in (*insns[-1].outs, *stays))
    place = insns[-1].name or insns[-1].outs[0].name
    return Candidate(place, steps, tuple(dict.fromkeys(reads)), writes)


def _given(refs: Iterable[Ref | None]) -> list[Ref]:
    return [r for r in refs if r is not None]


def decided_parts(
    plan: Plan, rule: Rule, ledger: Ledger | None = None
) -> Iterator[tuple[NativePartition, Ledger]]:
    """The partitions on which a rule is decided, if it is on, and by which ledger. What a partition falls
    back on is decided alike, and not entered."""
    ledger = Ledger() if ledger is None else ledger
    if ledger.is_on(rule):
        for part in plan.native_parts():
            yield part, ledger if any(part is p for p in plan.partitions) else ledger.fresh()
