"""Shapes of products: MatMul, Gemm, Einsum and their integer forms."""

from __future__ import annotations

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, broadcast, broadcast_dim, infers
from ascend_ep.opdef.dims import Dim


@infers("MatMul", "MatMulInteger", "QLinearMatMul")
def infer_matmul(call: Call) -> Fact:
    """numpy.matmul's rule: ranks of 1 are vectors, leading dimensions broadcast."""
    second = 3 if call.node.op_type == "QLinearMatMul" else 1
    a, b = list(call.dims(0)), list(call.dims(second))
    if not a or not b:
        call.fail("an operand is a scalar")
    left, right = len(a) == 1, len(b) == 1
    a = [1, *a] if left else a
    b = [*b, 1] if right else b
    call.require(a[-1], b[-2], "the contracted dimension")
    batch = broadcast(call, a[:-2], b[:-2])
    return Fact(dims=[*batch, *([] if left else [a[-2]]), *([] if right else [b[-1]])])


@infers("Gemm")
def infer_gemm(call: Call) -> Fact:
    a, b = call.dims(0, 2), call.dims(1, 2)
    m, k = (a[1], a[0]) if call.attr("transA", 0) else (a[0], a[1])
    k2, n = (b[1], b[0]) if call.attr("transB", 0) else (b[0], b[1])
    call.require(k, k2, "the contracted dimension")
    if call.has(2) and call.fact(2).dims is not None:
        c = call.dims(2)
        if len(c) > 2 or any(
            isinstance(d, int) and d != 1 and isinstance(e, int) and d != e
            for d, e in zip(c[::-1], (n, m), strict=False)
        ):
            call.fail("operand C doesn't broadcast to the result")
    return Fact(dims=[m, n])


@infers("Einsum")
def infer_einsum(call: Call) -> Fact:
    equation = str(call.attr("equation", "")).replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(call.inputs):
        call.fail(f"equation {equation!r} has {len(terms)} operands")
    sizes: dict[str, Dim] = {}
    ellipsis: tuple[Dim, ...] = ()
    for index, term in enumerate(terms):
        before, dots, after = term.partition("...")
        dims = call.dims(index) if dots or call.fact(index).dims is not None else call.dims(index, len(term))
        if len(before) + len(after) > len(dims) or (not dots and len(before) != len(dims)):
            call.fail(f"{term!r} doesn't fit rank {len(dims)}")
        middle = len(dims) - len(after)
        if dots:
            ellipsis = broadcast(call, ellipsis, dims[len(before) : middle])
        for letter, dim in zip(
            before + after, (*dims[: len(before)], *(dims[middle:] if dots else ())), strict=True
        ):
            if not letter.isalpha():
                call.fail(f"equation {equation!r} is malformed")
            sizes[letter] = broadcast_dim(call, sizes.get(letter, 1), dim, letter)
    if not arrow:
        letters = left.replace(",", "").replace(".", "")
        right = ("..." if "..." in left else "") + "".join(
            sorted(c for c in set(letters) if letters.count(c) == 1)
        )
    head, dots, tail = right.partition("...")
    missing = [c for c in head + tail if c not in sizes]
    if missing:
        call.fail(f"equation {equation!r}: {missing[0]!r} is in no operand")
    return Fact(dims=[*(sizes[c] for c in head), *(ellipsis if dots else ()), *(sizes[c] for c in tail)])


@infers("Det")
def infer_det(call: Call) -> Fact:
    return Fact(dims=call.dims(0)[:-2])
