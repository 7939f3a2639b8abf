"""DequantizeLinear and QuantizeLinear: as elementwise programs where one scale belongs to a whole tensor, so
that they merge with their neighbours; else as calls of the kernels of native/kernels/quantize/quantize.c.

A constant that is dequantised for a product is a matter of compiler/rewrites/quantised_products.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.half_types import WIDENED
from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.elementwise import Program, emit_program, input_value
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.element_types import BFLOAT16, FLOAT16, FLOAT32, INT4, INT8, INT16, UINT4, UINT8, UINT16
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import QUANTIZE
from ascend_ep.plan.plan import TensorSource

RANGES = {UINT8: (0, 255), INT8: (-128, 127), UINT16: (0, 65535), INT16: (-32768, 32767)}
EXACT = (UINT8, INT8, UINT16, INT16)  # whose differences float32 holds


@dataclass(eq=False)
class Widened:
    """A constant of 4 bits as int8 or uint8; read when the bundle is written."""

    source: NDArray[np.generic] | TensorSource
    kind: type[np.int8] | type[np.uint8]

    def numpy(self) -> NDArray[np.generic]:
        array = self.source if isinstance(self.source, np.ndarray) else self.source.numpy()
        return array.astype(self.kind)


def widened(given: Operand | None) -> Operand | None:
    """A constant of 4 bits as one of 8 bits; anything else as it is."""
    if given is None or given.dtype not in (UINT4, INT4):
        return given
    if given.constant is None:
        raise Unsupported(f"{given.name!r} of 4 bits is no constant")
    signed = given.dtype == INT4
    source = Widened(given.constant, np.int8 if signed else np.uint8)
    return replace(given, dtype=INT8 if signed else UINT8, constant=source, name=f"{given.name}:8")


@lowers("dequantize_linear")
def lower_dequantize_linear(node: NodeView, b: PlanBuilder) -> None:
    """y = (x - zero point) * scale."""
    x, scale, zero = widened(needed(node.inputs, 0)), needed(node.inputs, 1), widened(operand(node.inputs, 2))
    y = needed(node.outputs, 0)
    assert x is not None
    weights = x.constant is not None and x.rank > 1
    if weights or x.dtype not in EXACT or not _is_single(scale) or y.dtype != FLOAT32:
        _emit(node, b, "dequantize", x, zero)
        return
    program = Program()
    value = program.cast(program.input(b.ref(x), x.dtype), FLOAT32)
    if zero is not None and (zero.const is None or zero.const.any()):
        value = value - program.cast(input_value(program, b, zero), FLOAT32)
    program.output(value * input_value(program, b, scale), FLOAT32)
    emit_program(b, program, [b.out(y)])


@lowers("quantize_linear")
def lower_quantize_linear(node: NodeView, b: PlanBuilder) -> None:
    """y = saturate(round(x / scale) + zero point), where x / scale has the scale's type since opset 23."""
    x, scale, zero = needed(node.inputs, 0), needed(node.inputs, 1), operand(node.inputs, 2)
    y = needed(node.outputs, 0)
    precision = node.attr("precision", 0) or (scale.dtype if node.version >= 23 else FLOAT32)
    if node.version >= 23 and not node.attr("precision", 0) and scale.name.endswith(WIDENED):
        raise Unsupported("the quotient has the type of its scale")
    if precision != FLOAT32:
        _quantize_quotient(node, b, x, scale, zero, precision)
        return
    if x.dtype != FLOAT32 or y.dtype not in RANGES or not _is_single(scale):
        _emit(node, b, "quantize", x, zero)
        return
    program = Program()
    value = program.call("round", program.input(b.ref(x), FLOAT32) / input_value(program, b, scale))
    if zero is not None:
        value = value + program.cast(input_value(program, b, zero), FLOAT32)
    low, high = RANGES[y.dtype]
    clipped = program.call("min", program.call("max", value, float(low)), float(high))
    program.output(program.cast(clipped, y.dtype), y.dtype)
    out, refs = b.out(y), [b.ref(x), b.ref(scale), None if zero is None else b.ref(zero)]
    emit_program(b, program, [out])
    if refs[0] is not None and refs[0].strides is None and scale.dtype == FLOAT32:
        b.insns[-1].unfused = replace(
            b.insns[-1],
            kernel="quantize",
            ins=tuple(refs),
            outs=(out,),
            ints=QUANTIZE.pack(axis=0, block=0),
            expressions=(),
        )


def _quantize_quotient(
    node: NodeView, b: PlanBuilder, x: Operand, scale: Operand, zero: Operand | None, precision: int
) -> None:
    """Divides first, in float32 rounded to half a float, which is the quotient of two of these."""
    axis, block = _axis_and_block(node, x, scale)
    sizes = [static(d) for d in scale.dims]
    if precision not in (FLOAT16, BFLOAT16) or block or any(size is None for size in sizes):
        raise Unsupported(f"it divides blocks, or free sizes, in {dtypes.name(precision)}")
    divisor = _rounded(b, b.ref(scale), precision)
    if not _is_single(scale):
        divisor = b.view(divisor, [scale.dims[0] if i == axis else 1 for i in range(x.rank)])
    program = Program()
    divided = program.input(_rounded(b, b.ref(x), precision), FLOAT32) / program.input(divisor, FLOAT32)
    program.output(divided, FLOAT32)
    quotient = b.temp(FLOAT32, x.dims)
    emit_program(b, program, [quotient])
    ones = b.constant(np.ones([size or 0 for size in sizes], np.float32), dtype=FLOAT32)
    ins = [_rounded(b, quotient, precision), ones, None if zero is None else b.ref(zero)]
    b.emit("quantize", ins, [b.out(needed(node.outputs, 0))], QUANTIZE.pack(axis=axis, block=0))


def _rounded(b: PlanBuilder, ref: Ref, precision: int) -> Ref:
    """The elements in float32, of those that the type has."""
    return b.cast(b.cast(ref, precision), FLOAT32)


def _is_single(given: Operand) -> bool:
    return all(static(d) == 1 for d in given.dims)


def _emit(node: NodeView, b: PlanBuilder, kernel: str, x: Operand, zero: Operand | None) -> None:
    scale, y = needed(node.inputs, 1), needed(node.outputs, 0)
    axis, block = _axis_and_block(node, x, scale)
    ints = QUANTIZE.pack(axis=axis, block=block)
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


@lowers("dynamic_quantize_linear")
def lower_dynamic_quantize_linear(node: NodeView, b: PlanBuilder) -> None:
    outs = [b.out(needed(node.outputs, i)) for i in range(3)]
    b.emit("dynamic_quantize", [b.ref(needed(node.inputs, 0))], outs)
