"""LpPool, GlobalLpPool and LRN: averages or sums of powers, between elementwise programs."""

from __future__ import annotations

import math

from ascend_ep.compiler.lower.arguments import needed
from ascend_ep.compiler.lower.elementwise import Program, emit_program, power
from ascend_ep.compiler.lower.matmul import require_float
from ascend_ep.compiler.lower.pooling import pool_window
from ascend_ep.compiler.lower.reduction import OPS
from ascend_ep.compiler.lowering import Dim, NodeView, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef.dims import max_, static
from ascend_ep.plan.kernel_params import POOL, POOL_AXIS, REDUCE
from ascend_ep.plan.tile_program import Value

COUNT_PADDING = 1  # every tap counts, padding too


def _order(node: NodeView) -> float:
    p = float(node.attr("p", 2))
    if p <= 0:
        raise Unsupported(f"its p {p:g} is not positive")
    return p


def _powers(b: PlanBuilder, x: Ref, p: float) -> Ref:
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
    window, p = pool_window(node, source), _order(node)
    axes: list[tuple[Dim, ...]] = []
    spatial = zip(source.dims[2:], target.dims[2:], strict=True)
    for i, (length, out) in enumerate(spatial):
        kernel, stride, dilation = window.kernel[i], window.stride[i], window.dilation[i]
        reach = (out - 1) * stride + (kernel - 1) * dilation + 1  # of all windows, those of ceil_mode too
        before, after = window.before[i], max_(reach - length - window.before[i], 0)
        axes.append(
            POOL_AXIS.pack(kernel=kernel, stride=stride, dilation=dilation, before=before, after=after)
        )
    means = b.temp(source.dtype, target.dims)
    b.emit("average_pool", [_powers(b, b.ref(source), p)], [means], POOL.pack(*axes, mode=COUNT_PADDING))
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
    b.emit("reduce", [_powers(b, b.ref(source), p)], [sums], REDUCE.pack(axes, op=OPS["ReduceSum"]))
    program = Program()
    program.output(_root(program, program.input(sums, sums.dtype), p), target.dtype)
    emit_program(b, program, [b.out(target)])


@lowers("lrn")
def lower_lrn(node: NodeView, b: PlanBuilder) -> None:
    """x / (bias + alpha * the mean of the squares around each channel) ^ beta."""
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    require_float(source)
    size = int(node.attr("size", 0))
    if size < 1 or source.rank < 2:
        raise Unsupported(f"its size {size} or its rank {source.rank} is too small")
    x = b.contiguous(b.ref(source))
    inner: Dim = 1
    for d in source.dims[2:]:
        inner = inner * d
    planes = [source.dims[0], 1, source.dims[1], inner]
    before = (size - 1) // 2
    means = b.temp(x.dtype, planes)
    channels = POOL_AXIS.pack(kernel=size, stride=1, dilation=1, before=before, after=size - 1 - before)
    pixels = POOL_AXIS.pack(kernel=1, stride=1, dilation=1, before=0, after=0)
    ints = POOL.pack(channels, pixels, mode=COUNT_PADDING)
    if static(inner) == 0:
        raise Unsupported("its images are empty")
    b.emit("average_pool", [b.view(_powers(b, x, 2), planes)], [means], ints)
    program = Program()
    mean = program.input(b.view(means, source.dims), x.dtype)
    scale = mean * float(node.attr("alpha", 1e-4)) + float(node.attr("bias", 1.0))
    program.output(program.input(x, x.dtype) / power(program, scale, _beta(program, node, x)), target.dtype)
    emit_program(b, program, [b.out(target)])


def _beta(program: Program, node: NodeView, x: Ref) -> Value:
    return program.const(float(node.attr("beta", 0.75)), x.dtype)
