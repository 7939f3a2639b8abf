"""Products in float64 and of integers (kernels/matmul/matmul_exact.c): MatMul, Gemm, pairs of Einsum."""

from __future__ import annotations

from ascend_ep.compiler.lower.elementwise import Program, emit_program
from ascend_ep.compiler.lower.views import permuted
from ascend_ep.compiler.lowering import Dim, Operand, PlanBuilder, Ref
from ascend_ep.opdef.dtypes import FLOAT64, INT32, INT64, UINT32, UINT64

EXACT = frozenset({FLOAT64, INT32, INT64, UINT32, UINT64})


def is_exact(*operands: Operand | None) -> bool:
    """Whether all operands have one of the types that are multiplied as they are."""
    types = {o.dtype for o in operands if o is not None}
    return len(types) == 1 and types <= EXACT


def exact_product(b: PlanBuilder, left: Ref, right: Ref, target: Operand) -> None:
    """target = left right, by numpy's rules for vectors."""
    a = b.view(b.contiguous(left), (1, *left.dims)) if left.rank == 1 else left
    c = b.view(b.contiguous(right), (*right.dims, 1)) if right.rank == 1 else right
    if left.rank > 1 and right.rank > 1:
        b.emit("matmul_exact", [a, c], [b.out(target)])
        return
    rows: tuple[Dim, ...] = a.dims[-2:-1]
    columns: tuple[Dim, ...] = c.dims[-1:]
    batch = target.dims[: target.rank - (left.rank > 1) - (right.rank > 1)]
    made = b.temp(left.dtype, (*batch, *rows, *columns))
    b.emit("matmul_exact", [a, c], [made])
    b.bind(target, b.view(made, target.dims))


def exact_gemm(
    b: PlanBuilder,
    operands: tuple[Ref, Ref],
    bias: Ref | None,
    target: Operand,
    transposed: tuple[int, int],
    scale: tuple[float, float],
) -> None:
    """target = alpha op(A) op(B) + beta bias; scale is alpha and beta."""
    left, right = (permuted(b, r, [1, 0]) if t else r for r, t in zip(operands, transposed, strict=True))
    if bias is None and scale[0] == 1:
        exact_product(b, left, right, target)
        return
    made = b.temp(target.dtype, target.dims)
    b.emit("matmul_exact", [left, right], [made])
    program = Program()
    value = program.input(made, made.dtype)
    value = value if scale[0] == 1 else value * program.const(scale[0], made.dtype)
    if bias is not None:
        addend = program.input(bias, bias.dtype)
        value = value + (addend if scale[1] == 1 else addend * program.const(scale[1], bias.dtype))
    program.output(value, target.dtype)
    emit_program(b, program, [b.out(target)])
