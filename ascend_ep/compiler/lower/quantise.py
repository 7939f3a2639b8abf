"""DequantizeLinear and QuantizeLinear as calls of the kernels of native/kernels/quantize.c.

A constant that is dequantised for a product is a matter of compiler/quantised_products.py.
"""

from __future__ import annotations

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Unsupported, lowers

FLOAT = 1


@lowers("dequantize_linear")
def lower_dequantize_linear(node: NodeView, b: PlanBuilder) -> None:
    """y = (x - zero point) * scale."""
    _emit(node, b, "dequantize")


@lowers("quantize_linear")
def lower_quantize_linear(node: NodeView, b: PlanBuilder) -> None:
    """y = saturate(round(x / scale) + zero point)."""
    if node.attr("precision", 0) not in (0, FLOAT):
        raise Unsupported("the native kernel divides in float32 only")
    _emit(node, b, "quantize")


def _emit(node: NodeView, b: PlanBuilder, kernel: str) -> None:
    x, scale, zero, y = (
        needed(node.inputs, 0),
        needed(node.inputs, 1),
        operand(node.inputs, 2),
        needed(node.outputs, 0),
    )
    ints = _axis_and_block(node, x, scale)
    b.emit(kernel, [b.ref(x), b.ref(scale), None if zero is None else b.ref(zero)], [b.out(y)], ints)


def _axis_and_block(node: NodeView, x: Operand, scale: Operand) -> tuple[int, int]:
    """The kernels' ints. A vector of scales belongs to `axis`; one element to the whole tensor."""
    block, axis = int(node.attr("block_size", 0)), int(node.attr("axis", 1))
    if block:
        return axis % max(x.rank, 1), block
    if scale.rank == 0:
        return 0, 0
    if scale.rank != 1:
        raise Unsupported("scales of several axes need the attribute block_size")
    if not -x.rank <= axis < x.rank:
        if scale.dims != (1,):
            raise Unsupported(f"axis {axis} is outside a tensor of rank {x.rank}")
        return 0, 0
    return axis % x.rank, 0
