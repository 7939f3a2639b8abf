"""The few edits of a graph that passes make."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir


def attribute(node: ir.Node, name: str, default: object = None) -> object:
    """The value of a plain attribute, or `default`."""
    found = node.attributes.get(name)
    return default if found is None or found.is_ref() else found.value


def integers(node: ir.Node, name: str, default: Sequence[int]) -> list[int]:
    """The integers of a plain attribute, or `default`."""
    found = attribute(node, name)
    return [int(v) for v in found] if isinstance(found, Sequence) else list(default)


def is_standard(node: ir.Node, *op_types: str) -> bool:
    """Whether `node` is one of these operators of the default domain."""
    return node.op_type in op_types and node.domain in ("", "ai.onnx")


def bypass(node: ir.Node, value: ir.Value) -> bool:
    """Lets consumers of `node`'s first output read `value` instead, and removes the node if it can go.

    The name of a graph output stays: when `value` can't take it over, the node becomes an Identity.
    Whether anything changed.
    """
    output, graph = node.outputs[0], node.graph
    if graph is None or value is output:
        return False
    if output.is_graph_output():
        return _bypass_output(node, value)
    output.replace_all_uses_with(value)
    graph.remove(node, safe=True)
    return True


def _bypass_output(node: ir.Node, value: ir.Value) -> bool:
    output, graph = node.outputs[0], node.graph
    assert isinstance(graph, ir.Graph)
    producer = value.producer()
    if producer is None or producer.graph is not graph or value.is_graph_output():
        if is_standard(node, "Identity"):
            return False
        replacement = ir.node("Identity", [value], num_outputs=1)
        new = replacement.outputs[0]
        new.type, new.shape = output.type, output.shape
        graph.insert_before(node, replacement)
        name = output.name
        output.replace_all_uses_with(new, replace_graph_outputs=True)
        graph.remove(node, safe=True)
        new.name = name
        return True
    name = output.name
    output.replace_all_uses_with(value, replace_graph_outputs=True)
    graph.remove(node, safe=True)
    value.name = name
    return True


def replace_by_constant(value: ir.Value, tensor: ir.TensorProtocol) -> ir.Value:
    """A new initializer that all consumers of `value` read instead. Not for graph outputs."""
    producer = value.producer()
    assert producer is not None
    graph = producer.graph
    assert isinstance(graph, ir.Graph)
    assert not value.is_graph_output()
    constant = add_constant(graph, f"{value.name}.folded", tensor)
    value.replace_all_uses_with(constant)
    return constant


def add_constant(graph: ir.Graph, name: str, tensor: ir.TensorProtocol) -> ir.Value:
    """A new initializer; its name is `name`, or that with a number when it is taken."""
    taken = {v.name for v in graph.inputs} | set(graph.initializers)
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = f"{name}.{count}"
    value = ir.Value(
        name=unique,
        shape=ir.Shape(tensor.shape.numpy()),
        type=ir.TensorType(tensor.dtype),
        const_value=tensor,
    )
    graph.register_initializer(value)
    return value


def only_consumer(value: ir.Value) -> ir.Node | None:
    """The node that alone reads `value`, which is no graph output; else None."""
    consumers = [use.node for use in value.uses()]
    return consumers[0] if len(consumers) == 1 and not value.is_graph_output() else None
