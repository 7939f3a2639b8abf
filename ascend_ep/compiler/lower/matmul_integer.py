"""Products of integers: MatMulInteger, QLinearMatMul, and onnxruntime's QGemm, MatMulIntegerToFloat and
DynamicQuantizeMatMul, as calls of native/kernels/matmul/qmatmul.c; DynamicQuantizeLinear.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.compiler.rewrites.packed_integers import ColumnSums, Int8Matrix, signed_zero
from ascend_ep.element_types import FLOAT32, INT8, INT32, UINT8
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import REQUANTISE_FLOATS

#: Results that are not rounded to 8 bits have no bounds.
NO_LIMITS = REQUANTISE_FLOATS.pack(low=0.0, high=0.0)
LIMITS = {
    UINT8: REQUANTISE_FLOATS.pack(low=0.0, high=255.0),
    INT8: REQUANTISE_FLOATS.pack(low=-128.0, high=127.0),
}


@dataclass(frozen=True)
class Tables:
    """Scales, zero points and bias of an integer product; None where it has none."""

    a_zero: Operand | None = None
    b_zero: Operand | None = None
    bias: Operand | None = None
    a_scale: Operand | None = None
    b_scale: Operand | None = None
    y_scale: Operand | None = None
    y_zero: Operand | None = None


@dataclass(frozen=True)
class Call:
    """What the kernels of integer products read behind A and B (kernels/matmul/qgemm.h), and their floats."""

    tables: list[Ref | None]
    floats: tuple[float, ...] = NO_LIMITS
    refs: dict[str, Ref] = field(default_factory=dict)


def requantisation(
    b: PlanBuilder, t: Tables, columns: Dim, y_dtype: int, sums: Ref | None, zero: Ref | None
) -> Call:
    """The shared operands; `sums` and `zero` belong to the packed right operand, or zero to any."""
    for name, each in (("a zero point", t.a_zero), ("a scale", t.a_scale), ("y scale", t.y_scale)):
        if each is not None and not _is_single(each):
            raise Unsupported(f"its {name} of shape {list(each.dims)} has more than one element")
    for each in (t.b_zero, t.b_scale):
        if each is not None and not _is_single(each) and count(each) != columns:
            raise Unsupported(f"its {each.name!r} has neither one element nor {columns}")
    rest = (t.bias, t.a_scale, t.b_scale, t.y_scale, t.y_zero)
    refs = [sums, _ref(b, t.a_zero), zero, *(_ref(b, each) for each in rest)]
    while refs and refs[-1] is None:
        refs.pop()
    return Call(refs, LIMITS.get(y_dtype, NO_LIMITS))


def count(given: Operand) -> int | None:
    """The number of elements, when known."""
    known = [static(d) for d in given.dims]
    return None if None in known else int(np.prod([d or 0 for d in known], dtype=np.int64))


def _is_single(given: Operand) -> bool:
    return count(given) == 1


def _ref(b: PlanBuilder, given: Operand | None) -> Ref | None:
    return None if given is None else b.ref(given)


def right_zero(b: PlanBuilder, dtype: int, zero: Operand | None) -> Ref | None:
    """The zero point of a right operand that is stored as int8."""
    if zero is not None and zero.const is None:
        raise Unsupported(f"the zero point {zero.name!r} of its constant weights is no constant")
    kind: np.dtype[Any] = np.dtype(np.uint8 if dtype == UINT8 else np.int8)
    made = signed_zero(None if zero is None else zero.const, kind)
    return None if made is None else b.constant(made.reshape(-1), dtype=INT8)


def emit_product(
    b: PlanBuilder,
    a: Ref,
    right: Operand,
    out: Operand,
    tables: Tables,
    transposed: tuple[bool, bool] = (False, False),
) -> None:
    """out = op(a) op(right), as `tables` scale it."""
    if any(r is not None and r.dtype not in (UINT8, INT8) for r in (a, right)):
        raise Unsupported("only products of 8 bits are native among those of integers")
    if transposed[0]:
        a = _transposed(b, a)
    columns = 1 if right.rank == 1 else right.dims[-2 if transposed[1] else -1]
    zero_is_known = tables.b_zero is None or tables.b_zero.constant is not None
    if right.constant is not None and right.rank == 2 and zero_is_known:
        matrix = Int8Matrix(right.constant, transposed[1])
        dims = right.dims[::-1] if transposed[1] else right.dims
        packed = b.packed(matrix, dims, INT8, "vnni4_32")
        sums = b.packed(ColumnSums(matrix), (columns,), INT32, "plain")
        zero = right_zero(b, right.dtype, tables.b_zero)
    else:
        packed, sums = b.ref(right), None
        packed = _transposed(b, packed) if transposed[1] else packed
        zero = _ref(b, tables.b_zero)
    call = requantisation(b, tables, columns, out.dtype, sums, zero)
    b.emit("qmatmul", [a, packed, *call.tables], [b.out(out)], (), call.floats)


def _transposed(b: PlanBuilder, ref: Ref) -> Ref:
    """A matrix seen transposed."""
    strides = b.strides(ref)
    return b.view(ref, ref.dims[::-1], 0, strides[::-1])


@lowers("matmul_integer")
def lower_matmul_integer(node: NodeView, b: PlanBuilder) -> None:
    tables = Tables(operand(node.inputs, 2), operand(node.inputs, 3))
    emit_product(b, b.ref(needed(node.inputs, 0)), needed(node.inputs, 1), needed(node.outputs, 0), tables)


@lowers("qlinear_matmul")
def lower_qlinear_matmul(node: NodeView, b: PlanBuilder) -> None:
    a, a_scale, a_zero, right, b_scale, b_zero, y_scale, y_zero = (needed(node.inputs, i) for i in range(8))
    tables = Tables(a_zero, b_zero, None, a_scale, b_scale, y_scale, y_zero)
    emit_product(b, b.ref(a), right, needed(node.outputs, 0), tables)


@lowers("matmul_integer_to_float")
def lower_matmul_integer_to_float(node: NodeView, b: PlanBuilder) -> None:
    a, right, a_scale, b_scale = (needed(node.inputs, i) for i in range(4))
    a_zero, b_zero, bias = (operand(node.inputs, i) for i in (4, 5, 6))
    tables = Tables(a_zero, b_zero, bias, a_scale, b_scale)
    emit_product(b, b.ref(a), right, needed(node.outputs, 0), tables)


@lowers("dynamic_quantize_matmul")
def lower_dynamic_quantize_matmul(node: NodeView, b: PlanBuilder) -> None:
    x, right, b_scale = (needed(node.inputs, i) for i in range(3))
    out = needed(node.outputs, 0)
    made = [b.temp(UINT8, x.dims), b.temp(FLOAT32, ()), b.temp(UINT8, ())]
    b.emit("dynamic_quantize", [b.ref(x)], made)
    scale, zero = (Operand(f"{out.name}:{what}", d, ()) for what, d in (("scale", FLOAT32), ("zero", UINT8)))
    b.bind(scale, made[1])
    b.bind(zero, made[2])
    tables = Tables(zero, operand(node.inputs, 3), operand(node.inputs, 4), scale, b_scale)
    emit_product(b, made[0], right, out, tables)


@lowers("qgemm")
def lower_qgemm(node: NodeView, b: PlanBuilder) -> None:
    a, a_scale, a_zero, right, b_scale, b_zero = (needed(node.inputs, i) for i in range(6))
    bias, y_scale, y_zero = (operand(node.inputs, i) for i in (6, 7, 8))
    out = needed(node.outputs, 0)
    alpha = np.float32(node.attr("alpha", 1.0))
    if alpha != 1:
        if a_scale.const is None:
            raise Unsupported(f"its alpha {alpha} has no native product but with a constant scale")
        scaled = np.asarray(alpha * a_scale.const)
        a_scale = replace(a_scale, name=f"{a_scale.name}*{alpha}", constant=scaled)
    if bias is not None and count(bias) != (right.dims[0] if node.attr("transB", 0) else right.dims[1]):
        raise Unsupported("its C is no row of the result")
    tables = Tables(a_zero, b_zero, bias, a_scale, b_scale, y_scale, y_zero)
    both = bool(node.attr("transA", 0)), bool(node.attr("transB", 0))
    emit_product(b, b.ref(a), right, out, tables, both)
