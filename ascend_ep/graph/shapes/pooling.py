"""Shapes of pooling: [N, C, spatial...]."""

from __future__ import annotations

from ascend_ep.graph import sliding
from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, infers
from ascend_ep.graph.shapes.windows import counted, window, windows


@infers("MaxPool", "AveragePool", "LpPool")
def infer_pool(call: Call) -> list[Fact]:
    x = call.dims(0)
    kernel = window(call, "kernel_shape", len(x) - 2, 1)
    maxima = call.node.op_type == "MaxPool"
    ceil_mode, parts = bool(call.attr("ceil_mode", 0)), zip(x[2:], windows(call, kernel), strict=True)
    dims = [*x[:2], *counted(call, lambda: [sliding.pooled(dim, w, ceil_mode, maxima) for dim, w in parts])]
    return [Fact(dims=dims), Fact(7, dims)][: call.n_outputs]


@infers("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def infer_global_pool(call: Call) -> Fact:
    x = call.dims(0)
    return Fact(dims=[*x[:2], *(1 for _ in x[2:])])


@infers("MaxUnpool")
def infer_max_unpool(call: Call) -> Fact:
    x = call.dims(0)
    if call.fact(1).dims is not None:
        for axis, (have, want) in enumerate(zip(call.dims(1, len(x)), x, strict=True)):
            call.require(have, want, f"axis {axis} of the indices and the input")
    if call.has(2):
        sizes = call.fact(2).shape_value
        if sizes is not None and len(sizes) != len(x):
            call.fail(f"output_shape has {len(sizes)} dimensions, the input {len(x)}")
        return Fact(dims=call.fresh_dims(0, len(x)) if sizes is None else sizes)
    count = len(x) - 2
    kernel, strides = window(call, "kernel_shape", count, 1), window(call, "strides", count, 1)
    pads = [int(p) for p in call.attr("pads") or [0] * (2 * count)]
    if len(pads) != 2 * count:
        call.fail(f"pads {pads} don't fit {count} spatial dimensions")
    room = [(x[i + 2] - 1) * strides[i] + (kernel[i] - pads[i] - pads[i + count]) for i in range(count)]
    return Fact(dims=[*x[:2], *room])
