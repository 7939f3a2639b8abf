"""An If whose condition is known becomes the nodes of its branch: what exporters write for squeezed axes,
ranks and sizes that turn out to be fixed.

So does one that removes an axis where this has one element, and else gives what no run gets to its end with:
`x.squeeze(-1)` before a layer that takes one rank. Its Squeeze refuses other sizes at run.
"""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes import common

from ascend_ep.graph.control_flow import taken_branch
from ascend_ep.graph.declared import contradicts, declared_fact
from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.passes.rewire import add_constant, attribute, integers, is_standard
from ascend_ep.graph.shape_inference import symbols_in_order, works_with
from ascend_ep.opdef.dims import Dim


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
            branch = _branch(node, facts) or self._only_branch(node, facts, model)
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

    def _only_branch(self, node: ir.Node, facts: Facts, model: ir.Model) -> ir.Graph | None:
        """The branch that squeezes, where the ranks of the other one fit no node that follows."""
        then, other = (attribute(node, f"{which}_branch") for which in ("then", "else"))
        if not isinstance(then, ir.Graph) or not isinstance(other, ir.Graph):
            return None
        if not any(facts[v].varies for v in node.outputs) or not _needs_condition(node, then, facts, model):
            return None
        given = [[Fact(facts[v].dtype, facts[v].dims) for v in graph.outputs] for graph in (then, other)]
        if not all(len(g) == len(node.outputs) for g in given):
            return None
        fits = [works_with(model, self.facts.registry, facts, node, g) for g in given]
        return then if fits == [True, False] else None


def _needs_condition(node: ir.Node, branch: ir.Graph, facts: Facts, model: ir.Model) -> bool:
    """Whether the branch fails, and says so, unless the condition holds: that a size is 1, which its Squeeze
    asks for."""
    condition = node.inputs[0].producer() if node.inputs[0] is not None else None
    if condition is None or not is_standard(condition, "Equal"):
        return False
    sides = [None if v is None else facts[v].shape_value for v in condition.inputs]
    sizes = [v[0] for v in sides if v is not None and len(v) == 1]
    if len(sizes) != 2 or 1 not in sizes:
        return False
    size = sizes[0] if sizes[1] == 1 else sizes[1]
    if not facts.constraints.can_say(size, 1, symbols_in_order(model, facts)):
        return False
    return any(size in _squeezed(each, facts) for each in branch if is_standard(each, "Squeeze"))


def _squeezed(node: ir.Node, facts: Facts) -> list[Dim]:
    """The sizes of the axes that a Squeeze names."""
    source = node.inputs[0]
    dims = None if source is None else facts[source].dims
    axes = list(integers(node, "axes", ()))
    if len(node.inputs) > 1 and node.inputs[1] is not None:
        known = facts[node.inputs[1]].const
        axes = [] if known is None else [int(a) for a in known.reshape(-1)]
    return [dims[a] for a in axes if dims is not None and -len(dims) <= a < len(dims)]


def _branch(node: ir.Node, facts: Facts) -> ir.Graph | None:
    """The branch that is taken, if it gives as many values as the node."""
    branch = taken_branch(node, facts)
    return branch if branch is not None and len(branch.outputs) == len(node.outputs) else None


def _forget_shapes(node: ir.Node) -> bool:
    """Of all values in both branches; whether any had one."""
    bodies = [a.as_graph() for a in node.attributes.values() if a.type == ir.AttributeType.GRAPH]
    declared = [v for body in bodies for inner in body for v in inner.outputs if v.shape is not None]
    for value in declared:
        value.shape = None
    return bool(declared)


def _agree(fact: Fact, output: ir.Value) -> bool:
    """Whether what the branch gives is no contradiction to what is declared of the output."""
    known = fact.dims is not None or output.shape is None
    return known and fact.dtype != 0 and not contradicts(fact, declared_fact(output))


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
