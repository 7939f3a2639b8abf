"""The order of passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir
from onnx_ir.passes import common

from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.fusion.fuse import FuseOperators
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.graph.infer import Registry
from ascend_ep.graph.passes import repeated_heads  # noqa: F401 (registers its rules)
from ascend_ep.graph.passes.batchnorm import FoldBatchNorm
from ascend_ep.graph.passes.branch import InlineBranches
from ascend_ep.graph.passes.contract import run_in_order
from ascend_ep.graph.passes.fold import FoldConstants
from ascend_ep.graph.passes.inline import InlineFunctions
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.passes.quantised import SpellOutQuantised
from ascend_ep.graph.passes.rewire import is_standard
from ascend_ep.graph.passes.simplify import Simplify
from ascend_ep.graph.passes.subpixel import SubpixelConvolutions
from ascend_ep.graph.passes.trim_padding import TrimPadding
from ascend_ep.graph.passes.unflatten import UnflattenProducts
from ascend_ep.graph.passes.unique_dequantize import UniqueDequantize

#: rounds of simplification; each round of a chain removes at least one link, most need two or three
MAX_ROUNDS = 16


#: Passes after which what was known of the values that remain is all that there is to know.
KEEPING = (FoldConstants, Simplify, UnflattenProducts, FuseOperators, common.RemoveUnusedNodesPass)


def run_passes(
    model: ir.Model,
    registry: Registry | None = None,
    fusing: bool = True,
    ledger: Ledger | None = None,
    facts: KnownFacts | None = None,
) -> ir.Model:
    """`model`, simplified in place: the same inputs and outputs by name, the same results.

    Results differ only by rounding: where BatchNormalization was folded, and (`fusing`) in fused operators.
    Custom operators that `registry` defines, control flow that depends on the data, and sequences stay. With
    ASCEND_EP_VERIFY=1 every step is checked. `ledger` decides on fusions, and keeps what became of them.
    `facts`, of this registry, are known afterwards.
    """
    facts = KnownFacts(registry) if facts is None else facts
    _simplify(model, facts)
    if fusing:
        fuse = [
            TrimPadding(facts),
            SubpixelConvolutions(),
            UniqueDequantize(),
            FuseOperators(facts, ledger),
            common.RemoveUnusedNodesPass(),
        ]
        _run(model, fuse, facts)
    return model


def simplify(model: ir.Model, registry: Registry | None, given: Mapping[str, Fact]) -> Facts:
    """The facts of `model` after it is simplified in place. `given`: what is known of its inputs, by name."""
    facts = KnownFacts(registry, given)
    _simplify(model, facts)
    return facts.of(model)


def _simplify(model: ir.Model, facts: KnownFacts) -> None:
    prepare: list[ir.passes.PassBase] = [
        InlineFunctions(facts.registry),
        common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0),
        SpellOutQuantised(facts.registry),
    ]
    rounds: list[ir.passes.PassBase] = [
        # first: what is made of one weight many times is folded once
        *([] if _draws_randomly(model) else [common.CommonSubexpressionEliminationPass()]),
        FoldConstants(facts),
        InlineBranches(facts),
        Simplify(facts),
        UnflattenProducts(facts),
        FoldBatchNorm(),
        common.RemoveUnusedNodesPass(),
    ]
    _run(model, prepare, facts)
    for _ in range(MAX_ROUNDS):
        if not _run(model, rounds, facts):
            break


def _run(model: ir.Model, passes: Sequence[ir.passes.PassBase], facts: KnownFacts) -> bool:
    """`run_in_order`, forgetting the facts after passes that may change them."""

    def forget(step: ir.passes.PassBase) -> None:
        if not isinstance(step, KEEPING):
            facts.forget()

    return run_in_order(model, passes, forget)


def _draws_randomly(model: ir.Model) -> bool:
    """Whether equal nodes may have different results that the subexpression pass doesn't know of."""
    return any(is_standard(n, "Bernoulli", "Dropout") for n in model.graph)
