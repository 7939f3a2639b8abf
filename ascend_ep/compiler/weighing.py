"""Which native partitions are worth their hand-over to a host partition and back."""

from __future__ import annotations

import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.partition import Claim, Partition, partition

from .semantics import Semantics

TOO_SMALL = "single elements, computed faster beside the host's nodes than handed over"


def worthwhile_partitions(
    model: ir.Model, claim: Claim, facts: Facts, semantics: Semantics
) -> list[Partition]:
    """The partitions of the main graph; native ones that compute nothing but single elements are the host's
    where fewer partitions remain so. A hand-over takes some 20 us; onnxruntime needs one for such a node.
    """
    found = partition(model, claim)
    reasons = {node: part.reasons.get(node) for part in found for node in part.nodes}
    for part in found:
        if part.kind == "native" and all(_is_single(node, facts, semantics) for node in part.nodes):
            reasons |= dict.fromkeys(part.nodes, TOO_SMALL)
    fewer = partition(model, reasons.__getitem__)
    return fewer if 0 < len(fewer) < len(found) else found


def _is_single(node: ir.Node, facts: Facts, semantics: Semantics) -> bool:
    """Whether a node reads and writes single elements, and onnxruntime has its operator."""
    values = [v for v in (*node.inputs, *node.outputs) if v is not None and v.name]
    own = node.domain not in ("", "ai.onnx") or bool(semantics.origin(node))
    return not own and all(set(facts[v].static_dims or (2,)) <= {1} or facts[v].dims == () for v in values)
