"""AIPP, bytes into images, as a call of kernel aipp (native/kernels/image/aipp.c)."""

from __future__ import annotations

from ascend_ep.compiler.lower.arguments import needed
from ascend_ep.compiler.lowering import Dim, NodeView, PlanBuilder, lowers
from ascend_ep.plan.kernel_params import AIPP, AIPP_FLOATS, numbered

#: Attributes by member that is an array.
_ARRAYS = {"order": "order", "matrix": "matrix", "in_bias": "input_bias", "out_bias": "output_bias"}


@lowers("aipp")
def lower_aipp(node: NodeView, b: PlanBuilder) -> None:
    x = needed(node.inputs, 0)
    ints: dict[str, Dim] = dict.fromkeys(AIPP.names, 0)
    for member, attribute in _ARRAYS.items():
        given = node.attr(attribute) or []
        ints |= zip(numbered(member, len(given)), given, strict=True)
    ints |= {"format": int(node.attr("format")), "convert": int(bool(node.attr("matrix")))}
    crop = node.attr("crop") or [0, 0, x.dims[2], x.dims[1]]
    ints |= zip(("left", "top", "width", "height"), crop, strict=True)
    ints |= zip(("pad_left", "pad_top"), node.attr("padding"), strict=True)
    floats = {"padding": float(node.attr("padding_value", 0.0))}
    for member in ("shift", "scale"):
        floats |= zip(numbered(member, 4), node.attr(member), strict=True)
    out = b.out(needed(node.outputs, 0))
    b.emit("aipp", [b.ref(x)], [out], AIPP.pack(**ints), AIPP_FLOATS.pack(**floats))
