"""Products of what another product made: weighed and entered into the ledger, never fused.

Fused, whole rows of the value between lie on the chip, so that few rows are computed at a time, and all
weights are read again for the next few. Mostly that is more traffic than the value between is; where it is
less, the ledger says what a kernel for it would save.
"""

from __future__ import annotations

from dataclasses import replace

from ascend_ep.compiler.fusion_candidates import candidate, decided_parts
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.fusion_rules import rule_of
from ascend_ep.plan.plan import TEMP, NativePartition, Plan
from ascend_ep.plan.value_uses import ValueUses

RULE = rule_of("ProductChain")
PRODUCTS = ("matmul", "matmul_exact", "qmatmul")


def weigh_product_chains(plan: Plan, ledger: Ledger) -> None:
    """Enters every pair of products, with the epilogues that they have by now."""
    for part, own in decided_parts(plan, RULE, ledger):
        _weigh(part, own)


def _weigh(part: NativePartition, ledger: Ledger) -> None:
    uses = ValueUses.of(part)
    for second in part.insns:
        left = second.ins[0] if second.kernel in PRODUCTS else None
        between = None if left is None else left.base or left
        first = None if between is None else uses.maker(between)
        if between is None or first is None or first.kernel not in PRODUCTS:
            continue
        call = candidate([first, replace(second, ins=(between, *second.ins[1:]))])
        used = between.kind != TEMP or uses.leaves(between) or len(uses.memory_readers(between)) > 1
        ledger.decline(
            RULE,
            call,
            f"its intermediate value {between.name!r} is used elsewhere" if used else "",
            "no kernel computes a product of a product",
        )
