"""The passes over the model, in order; compiler/pipeline.py lists those over the plan behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import onnx_ir as ir
from onnx_ir.passes import common

from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.fusion.fuse import FuseOperators
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.graph.passes import repeated_heads  # noqa: F401 (registers its rules)
from ascend_ep.graph.passes.batchnorm import FoldBatchNorm
from ascend_ep.graph.passes.branch import InlineBranches
from ascend_ep.graph.passes.contract import run_in_order
from ascend_ep.graph.passes.fold import FoldConstants, FoldDequantized
from ascend_ep.graph.passes.fold_padding import FoldPadding
from ascend_ep.graph.passes.inline import InlineFunctions
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.passes.quantised import SpellOutQuantised
from ascend_ep.graph.passes.simplify import Simplify
from ascend_ep.graph.passes.stage import Pass, Stage
from ascend_ep.graph.passes.subpixel import SubpixelConvolutions
from ascend_ep.graph.passes.trim_padding import TrimPadding
from ascend_ep.graph.passes.unflatten import UnflattenProducts
from ascend_ep.graph.passes.unique_dequantize import UniqueDequantize
from ascend_ep.graph.random_nodes import random_nodes
from ascend_ep.graph.shape_inference import Registry

#: rounds of simplification; each round of a chain removes at least one link, most need two or three
MAX_ROUNDS = 16

#: Told the name of each pass that modified the model.
Watch = Callable[[str, ir.Model], None]


@dataclass(frozen=True)
class Setting:
    """What passes over a model are made with."""

    facts: KnownFacts
    ledger: Ledger | None = None


@dataclass(frozen=True, kw_only=True)
class ModelPass(Pass):
    """`keeps_facts`: after it, what was known of the values that remain is all that there is to know."""

    make: Callable[[Setting], ir.passes.PassBase]
    applies: Callable[[ir.Model], bool] = lambda _: True
    keeps_facts: bool = False


#: What draws, and the subexpression pass merges all the same.
_MERGED = ("Bernoulli", "Dropout")


def _draws_nothing_unknown(model: ir.Model) -> bool:
    """Whether the subexpression pass knows every node whose results differ from those of an equal node."""
    return not any(node.op_type in _MERGED for node in random_nodes(model))


_UNUSED = ModelPass(
    "RemoveUnusedNodesPass",
    needs="",
    leaves="no nodes whose results nothing reads",
    make=lambda _: common.RemoveUnusedNodesPass(),
    keeps_facts=True,
)

PREPARATION = Stage(
    "Preparation",
    "model",
    (
        ModelPass(
            "InlineFunctions",
            needs="functions that don't call themselves",
            leaves="bodies in place of calls, but of operators that have a definition",
            make=lambda s: InlineFunctions(s.facts.registry),
        ),
        ModelPass(
            "LiftConstantsToInitializersPass",
            needs="",
            leaves="constants as initializers",
            make=lambda _: common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0),
        ),
        ModelPass(
            "SpellOutQuantised",
            needs="constants as initializers",
            leaves="onnxruntime's quantised operators, but products and convolutions, as floats between "
            "DequantizeLinear and QuantizeLinear",
            make=lambda s: SpellOutQuantised(s.facts.registry),
        ),
    ),
)

SIMPLIFICATION = Stage(
    "Simplification",
    "model",
    (
        # first: what is made of one weight many times is folded once
        ModelPass(
            "CommonSubexpressionEliminationPass",
            needs="no node that draws at random",
            leaves="equal nodes once",
            make=lambda _: common.CommonSubexpressionEliminationPass(),
            applies=_draws_nothing_unknown,
        ),
        ModelPass(
            "FoldConstants",
            needs="facts of the values",
            leaves="results that are known, as initializers",
            make=lambda s: FoldConstants(s.facts),
            keeps_facts=True,
        ),
        ModelPass(
            "InlineBranches",
            needs="folded conditions",
            leaves="the branch that is taken, instead of the If",
            make=lambda s: InlineBranches(s.facts),
        ),
        ModelPass(
            "Simplify",
            needs="facts of the values",
            leaves="no nodes that change nothing; chains of movements and casts as one",
            make=lambda s: Simplify(s.facts),
            keeps_facts=True,
        ),
        ModelPass(
            "UnflattenProducts",
            needs="facts of the values",
            leaves="a Gemm of flattened rows as MatMul and Add, which has the shape of what follows",
            make=lambda s: UnflattenProducts(s.facts),
            keeps_facts=True,
        ),
        ModelPass(
            "FoldBatchNorm",
            needs="constant weights and statistics",
            leaves="BatchNormalization in the convolution before it",
            make=lambda _: FoldBatchNorm(),
        ),
        _UNUSED,
    ),
    rounds=MAX_ROUNDS,
)

FUSION = Stage(
    "Fusion",
    "model",
    (
        ModelPass(
            "FoldPadding",
            needs="static padding, no negative one",
            leaves="convolutions and pooling that pad themselves in the place of a Pad",
            make=lambda s: FoldPadding(s.facts),
        ),
        ModelPass(
            "TrimPadding",
            needs="static padding",
            leaves="convolutions that don't compute what a Slice cuts off",
            make=lambda s: TrimPadding(s.facts),
        ),
        ModelPass(
            "SubpixelConvolutions",
            needs="static weights",
            leaves="transposed convolutions as ordinary ones, whose channels become neighbours",
            make=lambda _: SubpixelConvolutions(),
        ),
        ModelPass(
            "UniqueDequantize",
            needs="",
            leaves="a DequantizeLinear for each of its readers, with a zero point",
            make=lambda _: UniqueDequantize(),
        ),
        ModelPass(
            "FuseOperators",
            needs="operators in the form that exporters write, simplified",
            leaves="attention, norms, activations and quantised operators as one node each",
            switch="`--fusion_switch_file`, rules of GraphFusion",
            make=lambda s: FuseOperators(s.facts, s.ledger),
            keeps_facts=True,
        ),
        ModelPass(
            "FoldDequantized",
            needs="quantised products as one node",
            leaves="scales and biases in 8 bits that they don't take as float constants",
            make=lambda s: FoldDequantized(s.facts),
            keeps_facts=True,
        ),
        _UNUSED,
    ),
)

#: All of them, in order.
MODEL_STAGES = (PREPARATION, SIMPLIFICATION, FUSION)


def run_passes(
    model: ir.Model,
    registry: Registry | None = None,
    fusing: bool = True,
    ledger: Ledger | None = None,
    facts: KnownFacts | None = None,
    watch: Watch | None = None,
) -> ir.Model:
    """`model`, simplified in place: the same inputs and outputs by name, the same results.

    Results differ only by rounding: where BatchNormalization was folded, and (`fusing`) in fused operators.
    Custom operators that `registry` defines, control flow that depends on the data, and sequences stay. With
    ASCEND_EP_VERIFY=1 every step is checked. `ledger` decides on fusions, and keeps what became of them.
    `facts`, of this registry, are known afterwards.
    """
    setting = Setting(KnownFacts(registry) if facts is None else facts, ledger)
    for stage in MODEL_STAGES if fusing else MODEL_STAGES[:-1]:
        _run(model, stage, setting, watch)
    return model


def simplify(model: ir.Model, registry: Registry | None, given: Mapping[str, Fact]) -> Facts:
    """The facts of `model` after it is simplified in place. `given`: what is known of its inputs, by name."""
    facts = KnownFacts(registry, given)
    for stage in MODEL_STAGES[:-1]:
        _run(model, stage, Setting(facts), None)
    return facts.of(model)


def _run(model: ir.Model, stage: Stage[ModelPass], setting: Setting, watch: Watch | None) -> None:
    """Runs a stage, forgetting the facts after passes that may change them."""
    applied = [(each.make(setting), each) for each in stage.passes if each.applies(model)]
    row = {id(made): each for made, each in applied}

    def changed(step: ir.passes.PassBase) -> None:
        each = row[id(step)]
        if not each.keeps_facts:
            setting.facts.invalidate()
        if watch is not None:
            watch(each.name, model)

    for _ in range(stage.rounds):
        if not run_in_order(model, [made for made, _ in applied], changed):
            break
