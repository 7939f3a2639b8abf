"""MatMul, Gemm and LinearAddGelu as calls of the matmul kernel (native/kernels/matmul/matmul.c); Det.

y = activation(alpha op(A) op(B) + beta C + R). A constant right operand becomes a weight in panels: of
float32, or of the float16 or bfloat16 that it was before it was widened.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.half_types import Widened, narrow_source
from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.matmul_exact import exact_gemm, exact_product, is_exact
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef.dims import static
from ascend_ep.opdef.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from ascend_ep.plan.kernel_params import MATMUL, MATMUL_FLOATS
from ascend_ep.plan.plan import TensorSource
from ascend_ep.runtime._rt import lib

#: How weights of products lie, by the type that they are kept in.
LAYOUTS = {FLOAT32: "panel32", FLOAT16: "fp16_32", BFLOAT16: "vnni2_32"}


class Activation(IntEnum):
    """What a product does to its sums."""

    NONE = lib.ASC_ACTIVATION_NONE
    RELU = lib.ASC_ACTIVATION_RELU
    GELU = lib.ASC_ACTIVATION_GELU
    GELU_TANH = lib.ASC_ACTIVATION_GELU_TANH
    SILU = lib.ASC_ACTIVATION_SILU
    SIGMOID = lib.ASC_ACTIVATION_SIGMOID
    TANH = lib.ASC_ACTIVATION_TANH
    CLIP = lib.ASC_ACTIVATION_CLIP
    HARD_SWISH = lib.ASC_ACTIVATION_HARD_SWISH
    LEAKY_RELU = lib.ASC_ACTIVATION_LEAKY_RELU


def require_float(*operands: Operand | None) -> None:
    for each in operands:
        if each is not None and each.dtype != FLOAT32:
            raise Unsupported("only float32 has a native product")


def right_operand(b: PlanBuilder, right: Operand, transposed: bool = False) -> tuple[Ref, int]:
    """The right operand of a product, and the transB flag to go with it."""
    if right.constant is None or right.rank < 2:
        return b.ref(right), int(transposed)
    source, dtype = narrow_source(right.constant)
    dims = right.dims
    if transposed:
        source, dims = _transposed(source), (*dims[:-2], dims[-1], dims[-2])
    if dtype == BFLOAT16:  # beside a bfloat16 left operand
        source = Widened(source, dtype)
    return b.packed(source, dims, dtype, LAYOUTS[dtype]), 0


@dataclass(frozen=True, eq=False)
class Transposed:
    """A constant with its last two axes swapped."""

    source: TensorSource

    def numpy(self) -> NDArray[np.generic]:
        return self.source.numpy().swapaxes(-1, -2)


def _transposed(source: NDArray[np.generic] | TensorSource) -> NDArray[np.generic] | TensorSource:
    return source.swapaxes(-1, -2) if isinstance(source, np.ndarray) else Transposed(source)


#: Rows from which a matrix is multiplied as fast as many of them as one; columns that make a copy of A cheap.
MANY_ROWS, MANY_COLUMNS = 32, 32


def _running_on(b: PlanBuilder, left: Ref, right: Ref) -> Ref:
    """`left`, or a copy of it where it is many matrices of few rows that all meet one matrix: as one, they
    read that matrix once."""
    if left.strides is None or left.rank < 3 or right.rank != 2:
        return left
    rows, columns = static(left.dims[-2]), static(right.dims[-1])
    steps = list(zip(left.strides[:-2], left.dims[1:-1], left.strides[1:-1], strict=True))
    if all(outer == size * inner for outer, size, inner in steps) or static(left.strides[-1]) != 1:
        return left
    few = (rows is None or rows < MANY_ROWS) and (columns is None or columns >= MANY_COLUMNS)
    return b.contiguous(left) if few else left


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
    operands = (operands[0] if transposed[0] else _running_on(b, *operands), operands[1])
    trans_a, trans_b = transposed
    ints = MATMUL.pack(trans_a=trans_a, trans_b=trans_b, activation=int(activation))
    floats = MATMUL_FLOATS.pack(alpha=scale[0], beta=scale[1], low=0.0, high=0.0)
    b.emit("matmul", [*operands, bias, residual], [out], ints, floats)


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
        transposed = int(bool(node.attr("transA", 0))), int(bool(node.attr("transB", 0)))
        addend = b.ref(bias) if bias is not None and beta != 0 else None
        product = b.ref(left), b.ref(right)
        exact_gemm(b, product, addend, needed(node.outputs, 0), transposed, (alpha, beta))
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


@lowers("det")
def lower_det(node: NodeView, b: PlanBuilder) -> None:
    b.emit("det", [b.ref(needed(node.inputs, 0))], [b.out(needed(node.outputs, 0))])
