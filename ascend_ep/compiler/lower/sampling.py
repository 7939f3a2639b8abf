"""Operators that read images at places that other tensors name."""

from __future__ import annotations

from ascend_ep.compiler.lower.arguments import enum_of, needed
from ascend_ep.compiler.lower.in_float32 import in_float32
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, lowers

# the numbers of native/kernels/grid_sample.c
GRID_MODES = {"linear": 0, "bilinear": 0, "nearest": 1, "cubic": 2, "bicubic": 2}
GRID_PADDINGS = ("zeros", "border", "reflection")


@lowers("grid_sample")
@in_float32
def lower_grid_sample(node: NodeView, b: PlanBuilder) -> None:
    names = tuple(GRID_MODES)
    ints = [
        GRID_MODES[names[enum_of(node, "mode", names, "linear")]],
        enum_of(node, "padding_mode", GRID_PADDINGS, "zeros"),
        int(node.attr("align_corners", 0)),
    ]
    ins = [b.ref(needed(node.inputs, i)) for i in range(2)]
    b.emit("grid_sample", ins, [b.out(needed(node.outputs, 0))], ints)
