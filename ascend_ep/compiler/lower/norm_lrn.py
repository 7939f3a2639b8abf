"""LRN: averages of squares over neighbouring channels, between elementwise programs."""

from __future__ import annotations

from ascend_ep.compiler.lower.arguments import needed
from ascend_ep.compiler.lower.elementwise import Program, emit_program, power
from ascend_ep.compiler.lower.matmul import require_float
from ascend_ep.compiler.lower.pooling_composed import COUNT_PADDING, powers
from ascend_ep.compiler.lowering import Dim, NodeView, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import POOL, POOL_AXIS
from ascend_ep.plan.tile_program import Value


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
    b.emit("average_pool", [b.view(powers(b, x, 2), planes)], [means], ints)
    program = Program()
    mean = program.input(b.view(means, source.dims), x.dtype)
    scale = mean * float(node.attr("alpha", 1e-4)) + float(node.attr("bias", 1.0))
    program.output(program.input(x, x.dtype) / power(program, scale, _beta(program, node, x)), target.dtype)
    emit_program(b, program, [b.out(target)])


def _beta(program: Program, node: NodeView, x: Ref) -> Value:
    return program.const(float(node.attr("beta", 0.75)), x.dtype)
