"""Applying the fusions to a model."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.attention import AttentionFusion, HeadsLastAttentionFusion
from ascend_ep.graph.fusion.candidates import candidate
from ascend_ep.graph.fusion.gelu import GeluFusion, TanhGeluFusion
from ascend_ep.graph.fusion.layer_norm import LayerNormFusion
from ascend_ep.graph.fusion.ledger import Ledger, Outcome
from ascend_ep.graph.fusion.outline import outline
from ascend_ep.graph.fusion.pattern import Match, makers, match
from ascend_ep.graph.fusion.quantised import QUANTISED
from ascend_ep.graph.fusion.rms_norm import RMSNormFusion
from ascend_ep.graph.fusion.rope import InterleavedRoPEFusion, RegroupedRoPEFusion, RoPEFusion
from ascend_ep.graph.fusion.rule import Fusion
from ascend_ep.graph.fusion.silu import SiLUFusion, SwiGLUFusion
from ascend_ep.graph.fusion.softmax import SoftmaxFusion
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.shape_inference import Registry, infer_facts

#: in the order they are tried at a node: a larger pattern before one inside it
FUSIONS: tuple[Fusion, ...] = (
    SoftmaxFusion(),
    HeadsLastAttentionFusion(),
    AttentionFusion(),
    LayerNormFusion(),
    RMSNormFusion(),
    RegroupedRoPEFusion(),
    InterleavedRoPEFusion(),
    RoPEFusion(),
    SwiGLUFusion(),
    TanhGeluFusion(),
    GeluFusion(),
    SiLUFusion(),
    *QUANTISED,
)


def fuse(
    model: ir.Model,
    registry: Registry | None = None,
    fusions: Sequence[Fusion] = FUSIONS,
    facts: Facts | None = None,
    ledger: Ledger | None = None,
) -> tuple[int, list[Outcome]]:
    """Fuses in place, where `ledger` decides so; the number of fused nodes, and the refusals.

    The fused nodes are operators of domain "ascend_ep" and, at the same time, calls of model-local functions
    that hold the original nodes; or operators of ONNX.
    """
    facts = infer_facts(model, registry) if facts is None else facts
    ledger = Ledger() if ledger is None else ledger
    known = len(ledger.outcomes)
    applied = [fusion for fusion in fusions if ledger.is_on(fusion.rule)]
    count = _sweep(model, [f for f in applied if f.prepares], facts, ledger)
    count += _sweep(model, [f for f in applied if not f.prepares], facts, ledger)
    return count, [o for o in ledger.outcomes[known:] if not o.is_fused]


def _sweep(model: ir.Model, fusions: Sequence[Fusion], facts: Facts, ledger: Ledger) -> int:
    """Fuses at every node, from the last on; the number of fused nodes."""
    count = 0
    tried = [(fusion, makers(fusion.pattern)) for fusion in fusions]
    for node in reversed(list(model.graph)) if fusions else ():
        if node.graph is not model.graph or len(node.outputs) != 1:
            continue
        for fusion, operators in tried:
            if operators is not None and node.op_type not in operators:
                continue
            found = _find(fusion, node, facts, ledger)
            if found is not None:
                call = outline(model, node, found.matched, fusion.replacement(found, facts))
                facts[call.outputs[0]] = facts[node.outputs[0]]
                count += 1
                break
    return count


def _find(fusion: Fusion, root: ir.Node, facts: Facts, ledger: Ledger) -> Match | None:
    """The first match that can be fused, if the ledger has it; the first match is entered otherwise."""
    refused: tuple[Match, str] | None = None
    for found in match(fusion.pattern, root.outputs[0], facts):
        refusal = _escapes(found, root) or fusion.check(found, facts) or _reads(found, fusion, facts)
        if refusal is None:
            operands = fusion.replacement(found, facts).inputs
            weighed = candidate(found.matched, root, operands, facts)
            return found if ledger.weigh(fusion.rule, weighed) else None
        refused = refused or (found, refusal)
    if refused is not None:
        found, refusal = refused
        operands = list(found.values.values())
        ledger.refuse(fusion.rule, candidate(found.matched, root, operands, facts), refusal)
    return None


def _escapes(found: Match, root: ir.Node) -> str | None:
    """Why an intermediate value must stay."""
    members = set(found.matched)
    for node in members - {root}:
        for value in node.outputs:
            if value.is_graph_output() or any(user not in members for user in value.consumers()):
                return f"its intermediate value {value.name!r} is used elsewhere"
    return None


def _reads(found: Match, fusion: Fusion, facts: Facts) -> str | None:
    """Why the nodes can't be a function of the fused node's operands: what else they read is no constant."""
    known = {value for node in found.matched for value in node.outputs}
    known |= set(fusion.replacement(found, facts).inputs)
    for node in found.matched:
        for value in node.inputs:
            if value is not None and value not in known and value.const_value is None:
                return f"its {node.op_type} reads {value.name!r}, which is no constant"
    return None


class FuseOperators(ir.passes.InPlacePass):
    """`fuse` as a pass."""

    def __init__(self, facts: KnownFacts, ledger: Ledger | None = None) -> None:
        self.facts = facts
        self.ledger = ledger

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        count, _ = fuse(model, self.facts.registry, facts=self.facts.of(model), ledger=self.ledger)
        return ir.passes.PassResult(model, count > 0)
