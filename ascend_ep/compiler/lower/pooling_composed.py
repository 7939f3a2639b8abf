"""LpPool, GlobalLpPool: averages or sums of powers, between elementwise programs; MaxUnpool by scattering."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.elementwise import Program, emit_program, power
from ascend_ep.compiler.lower.indexing import not_from_the_end
from ascend_ep.compiler.lower.matmul import require_float
from ascend_ep.compiler.lower.pooling import cropped, pool_window
from ascend_ep.compiler.lower.reduction import OPS
from ascend_ep.compiler.lowering import Dim, NodeView, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef.dims import max_, product
from ascend_ep.plan.kernel_params import POOL, POOL_AXIS, REDUCE, SCATTER_ELEMENTS
from ascend_ep.plan.tile_program import Value
from ascend_ep.runtime._rt import lib

COUNT_PADDING = 1  # every tap counts, padding too


def _order(node: NodeView) -> float:
    p = float(node.attr("p", 2))
    if p <= 0:
        raise Unsupported(f"its p {p:g} is not positive")
    return p


def powers(b: PlanBuilder, x: Ref, p: float) -> Ref:
    """|x|^p"""
    program = Program()
    value = program.input(x, x.dtype)
    size = value if p == 2 else program.call("abs", value)
    program.output(size if p == 1 else power(program, size, program.const(p, x.dtype)), x.dtype)
    y = b.temp(x.dtype, x.dims)
    emit_program(b, program, [y])
    return y


def _root(program: Program, value: Value, p: float) -> Value:
    """value ^ (1/p)"""
    if p == 1:
        return value
    return program.call("sqrt", value) if p == 2 else program.call("pow", value, 1 / p)


@lowers("lp_pool")
def lower_lp_pool(node: NodeView, b: PlanBuilder) -> None:
    """LpPool: the average over a window that counts its padding, times its taps, is the sum."""
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    require_float(source)
    p = _order(node)
    x, window = cropped(node, b, b.ref(source), pool_window(node, source))
    axes: list[tuple[Dim, ...]] = []
    spatial = zip(x.dims[2:], target.dims[2:], strict=True)
    for i, (length, out) in enumerate(spatial):
        kernel, stride, dilation = window.kernel[i], window.stride[i], window.dilation[i]
        reach = (out - 1) * stride + (kernel - 1) * dilation + 1  # of all windows, those of ceil_mode too
        before, after = window.before[i], max_(reach - length - window.before[i], 0)
        axes.append(
            POOL_AXIS.pack(kernel=kernel, stride=stride, dilation=dilation, before=before, after=after)
        )
    means = b.temp(source.dtype, target.dims)
    b.emit("average_pool", [powers(b, x, p)], [means], POOL.pack(*axes, mode=COUNT_PADDING))
    program = Program()
    sums = program.input(means, means.dtype) * float(math.prod(window.kernel))
    program.output(_root(program, sums, p), target.dtype)
    emit_program(b, program, [b.out(target)])


@lowers("global_lp_pool")
def lower_global_lp_pool(node: NodeView, b: PlanBuilder) -> None:
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    p, axes = _order(node), list(range(2, source.rank))
    if p in (1, 2):
        op = OPS["ReduceL1" if p == 1 else "ReduceL2"]
        b.emit("reduce", [b.ref(source)], [b.out(target)], REDUCE.pack(axes, op=op))
        return
    sums = b.temp(source.dtype, target.dims)
    b.emit("reduce", [powers(b, b.ref(source), p)], [sums], REDUCE.pack(axes, op=OPS["ReduceSum"]))
    program = Program()
    program.output(_root(program, program.input(sums, sums.dtype), p), target.dtype)
    emit_program(b, program, [b.out(target)])


@lowers("max_unpool")
def lower_max_unpool(node: NodeView, b: PlanBuilder) -> None:
    """Zeros with each element at the place that its index names in the whole output."""
    source, indices, target = needed(node.inputs, 0), needed(node.inputs, 1), needed(node.outputs, 0)
    if operand(node.inputs, 2) is not None:
        raise Unsupported("its indices are of a tensor smaller than its output_shape")
    x, places = (b.contiguous(b.ref(o)) for o in (source, indices))
    total, count = [product(target.dims)], [product(source.dims)]
    zero = b.constant(np.zeros((), ir.DataType(target.dtype).numpy()), dtype=target.dtype)
    zeros, filled = (b.temp(target.dtype, total) for _ in range(2))
    b.emit("copy", [b.view(zero, total, 0, [0])], [zeros])
    ints = SCATTER_ELEMENTS.pack(axis=0, reduction=lib.ASC_SCATTER_NONE)
    where = b.view(places, count)
    if indices.const is None or (indices.const < 0).any():
        where = not_from_the_end(b, where, count[0])
    b.emit("scatter_elements", [zeros, where, b.view(x, count)], [filled], ints)
    b.bind(target, b.view(filled, target.dims))
