"""An If whose condition is known becomes the nodes of its branch: what exporters write for squeezed axes,
ranks and sizes that turn out to be fixed."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes import common

from ascend_ep.graph.declared import contradicts, declared_fact
from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.passes.rewire import add_constant, attribute, is_standard


class InlineBranches(ir.passes.InPlacePass):
    """Of the main graph; an If inside the inlined branch is a matter of the next round.

    Exporters declare wrong shapes inside branches: those are forgotten. An If whose own outputs are declared
    otherwise than its branch says stays, since onnxruntime takes that.
    """

    def __init__(self, facts: KnownFacts) -> None:
        self.facts = facts

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        facts = self.facts.of(model)
        modified = False
        for node in [n for n in model.graph if is_standard(n, "If")]:
            branch = _branch(node, facts)
            if branch is None:
                continue
            if _forget_shapes(node):
                modified = True
            elif all(_agree(facts[r], o) for r, o in zip(branch.outputs, node.outputs, strict=True)):
                _inline(node, branch, model.graph)
                modified = True
        if modified:
            common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
        return ir.passes.PassResult(model, modified)


def _branch(node: ir.Node, facts: Facts) -> ir.Graph | None:
    """The branch that is taken; None when only the data decide."""
    condition = node.inputs[0] if node.inputs else None
    fact = None if condition is None else facts[condition]
    if fact is None or fact.const is None or fact.const.size != 1:
        return None
    branch = attribute(node, "then_branch" if fact.const.reshape(-1)[0] else "else_branch")
    return branch if isinstance(branch, ir.Graph) and len(branch.outputs) == len(node.outputs) else None


def _forget_shapes(node: ir.Node) -> bool:
    """Of all values in both branches; whether any had one."""
    bodies = [a.as_graph() for a in node.attributes.values() if a.type == ir.AttributeType.GRAPH]
    declared = [v for body in bodies for inner in body for v in inner.outputs if v.shape is not None]
    for value in declared:
        value.shape = None
    return bool(declared)


def _agree(fact: Fact, output: ir.Value) -> bool:
    """Whether what the branch gives is known and no contradiction to what is declared of the output."""
    return fact.dims is not None and fact.dtype != 0 and not contradicts(fact, declared_fact(output))


def _inline(node: ir.Node, branch: ir.Graph, graph: ir.Graph) -> None:
    """The branch's nodes go before `node`, whose outputs become copies of the branch's, and which goes.

    Values are renamed after the node's first output, since another branch may have used their names.
    """
    prefix = node.outputs[0].name
    results = list(branch.outputs)
    for value in list(branch.initializers.values()):
        assert value.const_value is not None
        moved = add_constant(graph, f"{prefix}.{value.name}", value.const_value)
        value.replace_all_uses_with(moved, replace_graph_outputs=True)
        results = [moved if r is value else r for r in results]
    inner = list(branch)
    branch.outputs.clear()
    branch.remove(inner)
    for each in inner:
        for value in each.outputs:
            if value.name:
                value.name = f"{prefix}.{value.name}"
        graph.insert_before(node, each)
    for output, result in zip(node.outputs, results, strict=True):
        copy = ir.node("Identity", [result], num_outputs=1)
        new, name = copy.outputs[0], output.name
        new.type, new.shape = output.type, output.shape
        graph.insert_before(node, copy)
        output.replace_all_uses_with(new, replace_graph_outputs=True)
        output.name, new.name = f"{name}.replaced", name
    graph.remove(node, safe=True)
