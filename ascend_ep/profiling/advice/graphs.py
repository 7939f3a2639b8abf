"""What edits read of ONNX graphs."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto, ModelProto, NodeProto, TensorProto

STANDARD = ("", "ai.onnx")


def opset_of(model: ModelProto) -> int:
    """The version of the standard operator set."""
    return int(next((o.version for o in model.opset_import if o.domain in STANDARD), 1))


def constants_of(graph: GraphProto) -> dict[str, TensorProto]:
    """Initializers, and the results of Constant nodes, by name."""
    found = {t.name: t for t in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            found[node.output[0]] = node.attribute[0].t
    return found


def all_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """Those of graphs within nodes, too."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


def reads(node: NodeProto) -> set[str]:
    """The names that the node, or a graph within it, reads."""
    found = {n for n in node.input if n}
    for attribute in node.attribute:
        if attribute.HasField("g"):
            found |= {name for inner in attribute.g.node for name in reads(inner)}
            found |= {v.name for v in attribute.g.output}
    return found


def copied(node: NodeProto) -> NodeProto:
    new = NodeProto()
    new.CopyFrom(node)
    return new
