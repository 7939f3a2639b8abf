"""Whether a graph is likely to be one group, to be compiled as it is without asking node by node."""

from __future__ import annotations

import onnx

from ascend_ep.graph.components import Components
from ascend_ep.graph.passes.quantised import SPELLED_OUT
from ascend_ep.opdef.registry import Registry

_BODIES = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


def may_be_one_group(model: onnx.ModelProto, registry: Registry) -> bool:
    """Every operator has a definition or is spelled out by those that have one, no node has a body, nodes
    make all outputs, and all hang together, as onnxruntime asks of a group.
    """
    nodes = model.graph.node
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    operators = {(n.domain, n.op_type) for n in nodes}
    made = {name for n in nodes for name in n.output}
    return (
        len(nodes) > 0
        and not any(a.type in _BODIES for n in nodes for a in n.attribute)
        and all(output.name in made for output in model.graph.output)
        and all(registry.resolve(d, n, opsets.get(d, 1)) is not None for d, n in operators - SPELLED_OUT)
        and _is_connected(model.graph)
    )


def _is_connected(graph: onnx.GraphProto) -> bool:
    """Whether the nodes hang together by the values that some make and others read."""
    found = Components(len(graph.node))
    makers = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    for i, node in enumerate(graph.node):
        for name in node.input:
            if name in makers:
                found.join(i, makers[name])
    return len({found.of(i) for i in range(len(graph.node))}) == 1
