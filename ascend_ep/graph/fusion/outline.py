"""Putting one node in the place of many, keeping the many as the node's function body.

The body makes the model complete without us: whoever doesn't know the fused operator (onnxruntime, in a host
partition) runs the original nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from ascend_ep.graph.fusion.rule import DOMAIN, Replacement

#: The metadata of a fused node that lists the names of the nodes in it, a line each.
FUSED = "ascend_ep.fused"


def original_names(node: ir.Node) -> list[str]:
    """The names of the model's own nodes that a node stands for; its outputs' where they have none."""
    if FUSED in node.metadata_props:
        return node.metadata_props[FUSED].split("\n")
    return [node.name] if node.name else [v.name for v in node.outputs if v.name]


def outline(model: ir.Model, root: ir.Node, matched: Sequence[ir.Node], new: Replacement) -> ir.Node:
    """Replaces `matched` (whose last is `root`) by a call of a new model-local function, or by a node of
    ONNX's own, which needs none; returns the new node."""
    graph = model.graph
    places = {node: i for i, node in enumerate(graph)}
    nodes = sorted(dict.fromkeys(matched), key=places.__getitem__)
    overload = _function(model, nodes, root, new) if new.domain == DOMAIN else ""
    old = root.outputs[0]
    call = ir.node(
        new.op_type,
        list(new.inputs),
        dict(new.attributes),
        domain=new.domain,
        overload=overload,
        name=root.name,
    )
    call.metadata_props[FUSED] = "\n".join(dict.fromkeys(name for n in nodes for name in original_names(n)))
    output = call.outputs[0]
    output.type, output.shape = old.type, old.shape
    graph.insert_before(root, call)
    model.opset_imports.setdefault(new.domain, 1)
    name = old.name
    old.replace_all_uses_with(output, replace_graph_outputs=True)
    for node in reversed(nodes):
        graph.remove(node, safe=True)
    output.name = name
    return call


def _function(model: ir.Model, nodes: Sequence[ir.Node], root: ir.Node, new: Replacement) -> str:
    """A new function of the model with these nodes; its overload."""
    overload = _unused_overload(model, new.op_type)
    body = _body(nodes, new.inputs, root.outputs[0], model.opset_imports)
    function = ir.Function(DOMAIN, new.op_type, overload, graph=body, attributes=[])
    model.functions[function.identifier()] = function
    model.opset_imports.setdefault(DOMAIN, 1)
    return overload


def _unused_overload(model: ir.Model, op_type: str) -> str:
    count = 0
    while (DOMAIN, op_type, f"fused{count}") in model.functions:
        count += 1
    return f"fused{count}"


def _body(
    nodes: Sequence[ir.Node], inputs: Sequence[ir.Value], output: ir.Value, opsets: dict[str, int]
) -> ir.Graph:
    """Copies of `nodes` on fresh values; constants they read become Constant nodes."""
    parameters = [ir.Value(name=f"x{i}") for i in range(len(inputs))]
    renamed = dict(
        zip(reversed(inputs), reversed(parameters), strict=True)
    )  # of a repeated operand, the first
    copies: list[ir.Node] = []
    for node in nodes:
        operands: list[ir.Value | None] = []
        for value in node.inputs:
            if value is not None and value not in renamed:
                tensor = value.const_value
                assert tensor is not None, (
                    f"{value.name} is neither operand nor constant of the fused pattern"
                )
                value_of = [ir.AttrTensor("value", tensor)]
                constant = ir.Node("", "Constant", [], value_of, name=f"c{len(copies)}")
                constant.outputs[0].name = f"c{len(copies)}"
                copies.append(constant)
                renamed[value] = constant.outputs[0]
            operands.append(None if value is None else renamed[value])
        copy = ir.Node(
            node.domain,
            node.op_type,
            operands,
            list(node.attributes.values()),
            name=f"n{len(copies)}",
            num_outputs=len(node.outputs),
        )
        for i, (made, original) in enumerate(zip(copy.outputs, node.outputs, strict=True)):
            made.name = f"v{len(copies)}" if i == 0 else f"v{len(copies)}_{i}"
            renamed[original] = made
        copies.append(copy)
    used = {n.domain for n in copies}
    imports = {d: v for d, v in opsets.items() if d in used}
    return ir.Graph(parameters, [renamed[output]], nodes=copies, opset_imports=imports)
