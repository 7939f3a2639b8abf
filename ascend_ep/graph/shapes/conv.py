"""Shapes of convolutions: [N, C, spatial...]."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, infers
from ascend_ep.graph.shapes.windows import counted, slid, window, windows
from ascend_ep.graph.sliding import transposed
from ascend_ep.opdef.dims import Dim, floordiv, product


@infers("Conv", "ConvInteger", "DeformConv", "QLinearConv")
def infer_conv(call: Call) -> Fact:
    second = 3 if call.node.op_type == "QLinearConv" else 1
    rank = call.fact(0).rank or call.fact(second).rank
    x, w = call.dims(0, rank), call.dims(second, rank)
    if len(x) < 3:
        call.fail(f"rank {len(x)} where at least 3 is needed")
    group = int(call.attr("group", 1))
    if group < 1 or (isinstance(w[0], int) and w[0] % group):
        call.fail(f"group {group} doesn't divide {w[0]} output channels")
    call.require(x[1], w[1] * group, "the number of input channels")
    kernel = _kernel(call, w[2:])
    room = call.fresh_dims(0, len(x))[2:] if kernel is None else slid(call, x[2:], kernel)
    return Fact(dims=[x[0], w[0], *room])


def _kernel(call: Call, dims: Sequence[Dim]) -> list[int] | None:
    """The spatial dims of the weight; None where they come with the data."""
    known = [d for d in dims if isinstance(d, int)]
    given = call.attr("kernel_shape")
    if len(known) != len(dims):
        return None if given is None else [int(v) for v in given]
    if given is not None and [int(v) for v in given] != known:
        call.fail(f"kernel_shape {list(given)} contradicts the weight's {known}")
    return known


@infers("ConvTranspose")
def infer_conv_transpose(call: Call) -> Fact:
    rank = call.fact(0).rank or call.fact(1).rank
    x, w = call.dims(0, rank), call.dims(1, rank)
    if len(x) < 3:
        call.fail(f"rank {len(x)} where at least 3 is needed")
    count = len(x) - 2
    group = int(call.attr("group", 1))
    call.require(x[1], w[0], "the number of input channels")
    dims: list[Dim] = [x[0], w[1] * group]
    given = call.attr("output_shape")
    if given is not None:
        return Fact(dims=[*dims, *[int(d) for d in given][-count:]])
    kernel = _kernel(call, w[2:])
    if kernel is None:
        return Fact(dims=[*dims, *call.fresh_dims(0, len(x))[2:]])
    extra = window(call, "output_padding", count, 0)
    parts = list(zip(x[2:], windows(call, kernel), extra, strict=True))
    return Fact(dims=[*dims, *counted(call, lambda: [transposed(d, w, e, None) for d, w, e in parts])])


@infers("Col2Im")
def infer_col2im(call: Call) -> Fact:
    batch, rows, _ = call.dims(0, 3)
    image, block = call.fact(1).shape_value, call.fact(2).shape_value
    spatial = call.count(1, 2)
    size = 0 if block is None else product(block)
    channels = floordiv(rows, size) if size != 0 else call.fresh(0, 1)
    return Fact(dims=[batch, channels, *(call.fresh_dims(0, spatial + 2)[2:] if image is None else image)])
