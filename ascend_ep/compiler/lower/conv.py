"""Conv and ConvTranspose as calls of the conv kernel (native/kernels/conv/conv.c)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.matmul import require_float
from ascend_ep.compiler.lower.windows import (
    Window,
    kernel_shape,
    placed,
    spatial_ints,
    window_of,
    windows,
)
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.graph import sliding
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import CONV, CONV_FLOATS
from ascend_ep.runtime._rt import lib

#: From so many output channels in a group on, weights are packed; fewer would mostly be padding.
PACKED_CHANNELS = 8


def _spatial_rank(x: Operand) -> int:
    count = x.rank - 2
    if not 1 <= count <= 3:
        raise Unsupported(f"it has {count} spatial axes; the kernel has one to three")
    return count


def _weights(b: PlanBuilder, w: Operand, group: int) -> Ref:
    """[M, C/group, kernel..] as it is, or when constant as group matrices [C/group * taps, M/group]."""
    if w.const is None or any(static(d) is None for d in w.dims):
        return b.ref(w)
    array = w.const
    outputs = array.shape[0] // group
    depthwise = array.shape[1] == 1
    if depthwise or outputs < PACKED_CHANNELS or array.size == 0:
        return b.ref(w)
    matrices = array.reshape(group, outputs, prod(array.shape[1:])).transpose(0, 2, 1)
    return b.constant(matrices, layout="panel32")


#: Of a convolution that limits nothing.
FLOATS = CONV_FLOATS.pack(low=0.0, high=0.0)


def _arguments(group: int, window: Window, transposed: bool) -> tuple[Dim, ...]:
    """The kernel's ints, without activation."""
    none = lib.ASC_ACTIVATION_NONE
    return CONV.pack(*window.conv_axes(), group=group, activation=none, transposed=int(transposed))


def _group(node: NodeView, channels: Dim) -> int:
    group = int(node.attr("group", 1))
    known = static(channels)
    if group < 1 or (known is not None and known % group):
        raise Unsupported(f"its group {group} doesn't divide its {channels} channels")
    return group


@lowers("conv")
def lower_conv(node: NodeView, b: PlanBuilder) -> None:
    x, w, bias = needed(node.inputs, 0), needed(node.inputs, 1), operand(node.inputs, 2)
    require_float(x, w, bias)
    _spatial_rank(x)
    group = _group(node, w.dims[0])
    window = window_of(node, x.dims[2:], kernel_shape(node, w.dims[2:]))
    ins = [b.ref(x), _weights(b, w, group), None if bias is None else b.ref(bias)]
    b.emit("conv", ins, [b.out(needed(node.outputs, 0))], _arguments(group, window, False), FLOATS)


def _transposed_window(node: NodeView, x: Operand, kernel: Sequence[int]) -> Window:
    """The window of a ConvTranspose; its padding is cut from the output."""
    count, parts = len(kernel), windows(node, kernel)
    extra = spatial_ints(node, "output_padding", count, least=0)
    sizes = [None] * count if not node.has_attr("output_shape") else list(node.attr("output_shape"))[-count:]
    axes = list(zip(x.dims[2:], parts, extra, sizes, strict=True))
    return placed(parts, lambda: [sliding.transposed(*axis) for axis in axes])


def _transposed_weights(b: PlanBuilder, w: Operand, group: int, kernel: Sequence[int]) -> Ref:
    """[C, M/group, kernel..] transposed into [M, C/group, kernel..]."""
    inputs, outputs = static(w.dims[0]), static(w.dims[1])
    if inputs is None or outputs is None or inputs % group:
        raise Unsupported(
            "its weight's channels are known only at run time, or its group doesn't divide them"
        )
    transposed = (group * outputs, inputs // group, *kernel)
    if w.const is not None:
        array = w.const.reshape(group, inputs // group, outputs, *kernel)
        return b.constant(np.ascontiguousarray(array.swapaxes(1, 2)).reshape(transposed))
    taps = prod(kernel)
    split = (group, outputs, inputs // group, taps)
    strides = (inputs // group * outputs * taps, taps, outputs * taps, 1)
    return b.view(b.contiguous(b.view(b.contiguous(b.ref(w)), split, 0, strides)), transposed)


@lowers("conv_transpose")
def lower_conv_transpose(node: NodeView, b: PlanBuilder) -> None:
    x, w, bias = needed(node.inputs, 0), needed(node.inputs, 1), operand(node.inputs, 2)
    require_float(x, w, bias)
    _spatial_rank(x)
    group = _group(node, w.dims[0])
    out = needed(node.outputs, 0)
    kernel = kernel_shape(node, w.dims[2:])
    window = _transposed_window(node, x, kernel)
    ins = [b.ref(x), _transposed_weights(b, w, group, kernel), None if bias is None else b.ref(bias)]
    b.emit("conv", ins, [b.out(out)], _arguments(group, window, True), FLOATS)
