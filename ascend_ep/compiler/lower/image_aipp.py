"""AIPP, bytes into images, as a call of kernel aipp (native/kernels/image/aipp.c)."""

from __future__ import annotations

from ascend_ep.compiler.lower.arguments import needed
from ascend_ep.compiler.lowering import Dim, NodeView, PlanBuilder, lowers

_NO_CONVERSION = {"matrix": 9, "input_bias": 3, "output_bias": 3}


@lowers("aipp")
def lower_aipp(node: NodeView, b: PlanBuilder) -> None:
    x = needed(node.inputs, 0)
    ints: list[Dim] = [int(node.attr("format")), *node.attr("order")]
    ints += node.attr("crop") or [0, 0, x.dims[2], x.dims[1]]
    ints += node.attr("padding")
    ints.append(int(bool(node.attr("matrix"))))
    for name, count in _NO_CONVERSION.items():
        ints += node.attr(name) or [0] * count
    floats = [*node.attr("shift"), *node.attr("scale"), float(node.attr("padding_value", 0.0))]
    b.emit("aipp", [b.ref(x)], [b.out(needed(node.outputs, 0))], ints, floats)
