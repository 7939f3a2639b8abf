"""TopK, of ONNX and the custom one; the result is always sorted."""

from __future__ import annotations

from ascend_ep.compiler.lower.arguments import axis_of, known_elements, needed, operand
from ascend_ep.compiler.lowering import Dim, NodeView, PlanBuilder, Unsupported, lowers

INT64 = 7


def _count(node: NodeView) -> Dim:
    """k: the input K, or an attribute (ONNX before opset 10, and the custom TopK)."""
    given = operand(node.inputs, 1)
    if given is None:
        if not node.has_attr("k"):
            raise Unsupported("it has neither the input K nor the attribute k")
        return int(node.attr("k"))
    elements = known_elements(given, "K")
    if len(elements) != 1:
        raise Unsupported(f"its K has {len(elements)} elements")
    return elements[0]


@lowers("topk")
def lower_topk(node: NodeView, b: PlanBuilder) -> None:
    source = needed(node.inputs, 0)
    axis, k = axis_of(node, source.rank, -1), _count(node)
    dims = [*source.dims[:axis], k, *source.dims[axis + 1 :]]
    values, indices = operand(node.outputs, 0), operand(node.outputs, 1)
    outs = [
        b.out(values) if values else b.temp(source.dtype, dims),
        b.out(indices) if indices else b.temp(INT64, dims),
    ]
    b.emit("topk", [b.ref(source)], outs, [axis, k, int(node.attr("largest", 1))])
