"""Sums and products of an 8-bit image with another, or with a row of constants, between DequantizeLinear and
QuantizeLinear as one kernel.

    y = QuantizeLinear(Relu(DequantizeLinear(a) + DequantizeLinear(b)))     becomes     y = byte_binary(a, b)

It does the steps of the elementwise program in registers, with the same roundings: the bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ascend_ep.element_types import FLOAT32, INT8, UINT8
from ascend_ep.opdef.expression import Apply, Cast, Expression, Input, Number
from ascend_ep.plan.kernel_params import BYTE_BINARY, BYTE_BINARY_FLOATS
from ascend_ep.plan.plan import Insn, NativePartition, Ref
from ascend_ep.plan.tile_expression import place
from ascend_ep.runtime._rt import lib

from .elementwise_insns import is_elementwise

RANGES = {UINT8: (0.0, 255.0), INT8: (-128.0, 127.0)}
OPS = {"add": lib.ASC_BYTE_BINARY_ADD, "mul": lib.ASC_BYTE_BINARY_MULTIPLY}
MOST_SCALE = 1e30
#: Elements from which on a row is worth its own beginning and end; what is shorter is looked up in tables.
LEAST_ROW = 128


@dataclass(frozen=True)
class Scaled:
    """(x - zero) scale of an input's bytes."""

    place: int
    zero: float
    scale: float


Sides = tuple[Scaled, Scaled]


def combine_bytes(part: NativePartition) -> int:
    """Two images. Changes the partition in place; the number of instructions that are this kernel now."""
    return _combine(part, _images)


def combine_rows(part: NativePartition) -> int:
    """An image and a row. As combine_bytes."""
    return _combine(part, _image_and_row)


def _combine(part: NativePartition, sides: Callable[[Insn, Sequence[Expression]], Sides | None]) -> int:
    changed = 0
    for at, insn in enumerate(part.insns):
        made = _combined(insn, sides) if is_elementwise(insn) and len(insn.outs) == 1 else None
        if made is not None:
            part.insns[at] = made
            changed += 1
    return changed


@dataclass(frozen=True)
class _Rounded:
    """cut(op(args)) / scale + zero, saturated."""

    op: str
    args: tuple[Expression, ...]
    low: float
    high: float
    scale: float
    zero: float


def _rounded(node: Expression, dtype: int) -> _Rounded | None:
    quotient = _quantised(node, dtype) if dtype in RANGES else None
    if quotient is None:
        return None
    value, scale, zero = quotient
    value, low, high = _cut(value)
    if not isinstance(value, Apply) or value.op not in OPS or not 0 < scale < MOST_SCALE:
        return None
    return _Rounded(value.op, value.args, low, high, scale, zero)


def _combined(insn: Insn, sides: Callable[[Insn, Sequence[Expression]], Sides | None]) -> Insn | None:
    result = _rounded(insn.expressions[0], insn.outs[0].dtype)
    found = sides(insn, result.args) if result else None
    if result is None or found is None or not all(0 < side.scale < MOST_SCALE for side in found):
        return None
    a, b = found
    zeros = [int(z) for z in (a.zero, b.zero, result.zero)]
    ints = BYTE_BINARY.pack(op=OPS[result.op], a_zero=zeros[0], b_zero=zeros[1], y_zero=zeros[2])
    bounds = {"low": result.low, "high": result.high}
    floats = BYTE_BINARY_FLOATS.pack(a_scale=a.scale, b_scale=b.scale, y_scale=result.scale, **bounds)
    ins = (insn.ins[a.place], insn.ins[b.place])
    return replace(
        insn, kernel="byte_binary", ins=ins, ints=ints, floats=floats, expressions=(), unfused=None
    )


def _images(insn: Insn, args: Sequence[Expression]) -> Sides | None:
    return None if any(not _is_image(r, insn.outs[0]) for r in insn.ins) else _two(args, insn.outs[0].dtype)


def _two(args: Sequence[Expression], dtype: int) -> Sides | None:
    a, b = (_scaled(arg, dtype) for arg in args)
    return None if a is None or b is None else (a, b)


def is_of_images(node: Expression, ins: Sequence[Ref | None]) -> bool:
    """Whether an instruction of just this expression of two inputs becomes this kernel."""
    if not isinstance(node, Cast):
        return False
    result = _rounded(node, node.dtype)
    found = _two(result.args, node.dtype) if result else None
    if found is None or not all(0 < side.scale < MOST_SCALE for side in found):
        return False
    a, b = (ins[side.place] for side in found)
    return a is not None and a.dtype == node.dtype and _is_image(a, a) and _is_image(b, a)


def _image_and_row(insn: Insn, args: Sequence[Expression]) -> Sides | None:
    out = insn.outs[0]
    for image, row in (args, args[::-1]):
        scaled = _scaled(image, out.dtype)
        if scaled is None or not isinstance(row, Input) or len(insn.ins) != 2:
            continue
        if _is_image(insn.ins[scaled.place], out) and _is_row(insn.ins[place(row)], out):
            return scaled, Scaled(place(row), RANGES[out.dtype][0], 1.0)
    return None


def _is_row(ref: Ref | None, out: Ref) -> bool:
    """Whether it is a constant for each index of the last axis, none too large for a sum."""
    if ref is None or ref.weight is None or ref.base is not None or ref.dtype != FLOAT32:
        return False
    if ref.rank != 1 or ref.dims != out.dims[-1:] or ref.weight.layout != "plain" or ref.strides is not None:
        return False
    elements = ref.weight.load()
    return elements.size >= LEAST_ROW and bool((np.abs(elements) < MOST_SCALE).all())


def _is_image(ref: Ref | None, out: Ref) -> bool:
    """Whether it has as many bytes as `out`, of its type."""
    return ref is not None and ref.dtype == out.dtype and ref.dims == out.dims and ref.strides is None


def _number(node: Expression) -> float | None:
    """A constant of float32 or 8 bits, perhaps cast from one to the other."""
    if isinstance(node, Number) and isinstance(node.value, int | float):
        return float(np.float32(node.value))
    return _number(node.arg) if isinstance(node, Cast) and node.dtype in (FLOAT32, *RANGES) else None


def _with_number(node: Expression, op: str) -> tuple[Expression, float] | None:
    """The operand and the constant of an operation of both, the constant on the right."""
    if not isinstance(node, Apply) or node.op != op:
        return None
    left, right = node.args
    number = _number(right)
    return None if number is None else (left, number)


def _quantised(node: Expression, dtype: int) -> tuple[Expression, float, float] | None:
    """x, scale and zero point of saturate(round(x / scale) + zero)."""
    if not isinstance(node, Cast) or node.dtype != dtype:
        return None
    low, high = RANGES[dtype]
    cut = _with_number(node.arg, "min")
    cut = None if cut is None or cut[1] != high else _with_number(cut[0], "max")
    if cut is None or cut[1] != low:
        return None
    moved = _with_number(cut[0], "add")
    rounded, zero = (cut[0], 0.0) if moved is None else moved
    if not isinstance(rounded, Apply) or rounded.op != "round" or not low <= zero <= high:
        return None
    quotient = _with_number(rounded.args[0], "div")
    return None if quotient is None else (*quotient, zero)


def _cut(node: Expression) -> tuple[Expression, float, float]:
    """What an activation cuts, and its bounds."""
    low, high = -inf, inf
    if (above := _with_number(node, "min")) is not None:
        node, high = above
    if (below := _with_number(node, "max")) is not None:
        node, low = below
    return (node, low, high) if low <= high else (node, -inf, inf)


def _scaled(node: Expression, dtype: int) -> Scaled | None:
    product = _with_number(node, "mul")
    if product is None:
        return None
    moved = _with_number(product[0], "sub")
    source, zero = (product[0], 0.0) if moved is None else moved
    low, high = RANGES[dtype]
    if not isinstance(source, Cast) or source.dtype != FLOAT32 or not isinstance(source.arg, Input):
        return None
    return Scaled(place(source.arg), zero, product[1]) if low <= zero <= high else None
