"""MatMul, Gemm and LinearAddGelu as calls of the matmul kernel (native/kernels/matmul/matmul.c).

y = activation(alpha op(A) op(B) + beta C + R). A constant right operand becomes a weight in panels: of
float32, or of the float16 or bfloat16 that it was before it was widened.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from ascend_ep.compiler.half_types import Widened, narrow_source
from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.matmul_exact import exact_gemm, exact_product, is_exact
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.compiler.plan import elements
from ascend_ep.opdef.dtypes import BFLOAT16, FLOAT16, FLOAT64

FLOAT = 1


class Activation(IntEnum):
    """Epilogue codes: native/kernels/matmul/epilogue.h."""

    NONE = 0
    RELU = 1
    GELU = 2
    GELU_TANH = 3
    SILU = 4
    SIGMOID = 5
    TANH = 6
    CLIP = 7


def require_float(*operands: Operand | None) -> None:
    for each in operands:
        if each is not None and each.dtype != FLOAT:
            raise Unsupported("only float32 has a native product")


def right_operand(b: PlanBuilder, right: Operand, transposed: bool = False) -> tuple[Ref, int]:
    """The right operand of a product, and the transB flag to go with it."""
    if right.constant is None or right.rank < 2:
        return b.ref(right), int(transposed)
    narrow = narrow_source(right.constant)
    array = elements(right.constant if narrow is None else narrow)
    array = array.swapaxes(-1, -2) if transposed else array
    if narrow is None:
        return b.constant(array, "panel32"), 0
    if array.dtype == np.float16:
        return b.constant(array, "halves32", FLOAT16), 0
    return b.packed(Widened(array), array.shape, BFLOAT16, "pairs32"), 0  # beside a bfloat16 left operand


def emit_matmul(
    b: PlanBuilder,
    operands: tuple[Ref, Ref],
    out: Ref,
    bias: Ref | None = None,
    residual: Ref | None = None,
    transposed: tuple[int, int] = (0, 0),
    scale: tuple[float, float] = (1.0, 1.0),
    activation: Activation = Activation.NONE,
) -> None:
    """out = activation(alpha op(A) op(B) + beta bias + residual), `scale` being alpha and beta."""
    b.emit("matmul", [*operands, bias, residual], [out], [*transposed, int(activation)], [*scale, 0.0, 0.0])


@lowers("matmul")
def lower_matmul(node: NodeView, b: PlanBuilder) -> None:
    left, right = needed(node.inputs, 0), needed(node.inputs, 1)
    if is_exact(left, right):
        exact_product(b, b.ref(left), b.ref(right), needed(node.outputs, 0))
        return
    require_float(left, right)
    panels, _ = right_operand(b, right)
    emit_matmul(b, (b.ref(left), panels), b.out(needed(node.outputs, 0)))


@lowers("gemm")
def lower_gemm(node: NodeView, b: PlanBuilder) -> None:
    left, right, bias = needed(node.inputs, 0), needed(node.inputs, 1), operand(node.inputs, 2)
    alpha, beta = float(node.attr("alpha", 1.0)), float(node.attr("beta", 1.0))
    if is_exact(left, right, bias) and (left.dtype == FLOAT64 or (alpha.is_integer() and beta.is_integer())):
        turned = int(bool(node.attr("transA", 0))), int(bool(node.attr("transB", 0)))
        addend = b.ref(bias) if bias is not None and beta != 0 else None
        product = b.ref(left), b.ref(right)
        exact_gemm(b, product, addend, needed(node.outputs, 0), turned, (alpha, beta))
        return
    require_float(left, right, bias)
    panels, trans_b = right_operand(b, right, bool(node.attr("transB", 0)))
    emit_matmul(
        b,
        (b.ref(left), panels),
        b.out(needed(node.outputs, 0)),
        bias=b.ref(bias) if bias is not None and beta != 0 else None,
        transposed=(int(bool(node.attr("transA", 0))), trans_b),
        scale=(alpha, beta),
    )


@lowers("linear_add_gelu")
def lower_linear_add_gelu(node: NodeView, b: PlanBuilder) -> None:
    """gelu(x @ w + bias + residual); attribute approximate is "none" (erf) or "tanh"."""
    x, w, bias, residual = (
        needed(node.inputs, 0),
        needed(node.inputs, 1),
        operand(node.inputs, 2),
        operand(node.inputs, 3),
    )
    require_float(x, w, bias, residual)
    kinds = {"none": Activation.GELU, "tanh": Activation.GELU_TANH}
    approximate = node.attr("approximate", "none")
    if approximate not in kinds:
        raise Unsupported(f'approximate is {approximate!r}; it is "none" or "tanh"')
    panels, _ = right_operand(b, w)
    emit_matmul(
        b,
        (b.ref(x), panels),
        b.out(needed(node.outputs, 0)),
        bias=None if bias is None else b.ref(bias),
        residual=None if residual is None else b.ref(residual),
        activation=kinds[approximate],
    )
