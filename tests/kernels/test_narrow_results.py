"""Kernels whose result may be bfloat16 for products to read: it is their float32 result rounded to nearest,
on every ISA level; and products of it have the bits of products of the float32 one."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from isa_levels import each_isa, isa_levels
from kernel_call import Halves32, KernelError, Operand, Packed, Pairs32, Panel32, call

BF16 = np.dtype(ml_dtypes.bfloat16)
F32 = np.dtype(np.float32)
rng = np.random.default_rng(11)


def normal(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def flushed(x: np.ndarray) -> np.ndarray:
    """Subnormal bfloat16 may count as zero."""
    wide = x.astype(np.float32)
    return np.where(np.abs(wide) < 2.0**-126, np.float32(0), wide)


def check_rounded(
    op: str,
    ins: Sequence[Operand],
    shape: Sequence[int],
    ints: Sequence[int],
    floats: Sequence[float] = (),
    *,
    others: Sequence[Sequence[int]] = (),
    isa: int,
    threads: int = 2,
) -> None:
    more = [(F32, s) for s in others]
    wide, *rest = call(op, ins, [(F32, shape), *more], ints, floats, isa=isa, threads=threads)
    narrow, *same = call(op, ins, [(BF16, shape), *more], ints, floats, isa=isa, threads=threads)
    np.testing.assert_array_equal(flushed(narrow), flushed(wide.astype(BF16)))
    for a, b in zip(rest, same, strict=True):
        np.testing.assert_array_equal(a, b)


@each_isa
def test_norms(isa: int) -> None:
    for rows, n in [(1, 1), (3, 7), (2, 16), (5, 33), (64, 100), (2, 1037), (300, 64), (0, 8)]:
        x, scale, bias, residual = normal(rows, n), normal(n), normal(n), normal(rows, n)
        if x.size > 20:
            x[0, 0], x[-1, -1] = np.inf, np.nan
        shape = x.shape
        check_rounded("rms_norm", [x, scale], shape, [1], [1e-5], isa=isa)
        check_rounded("rms_norm", [x, None], shape, [1], [1e-5], isa=isa)
        check_rounded("rms_norm", [x, scale, residual], shape, [1], [1e-5], isa=isa)
        check_rounded("rms_norm", [x, scale, residual], shape, [1], [1e-5], others=[shape], isa=isa)
        for epilogue in (0, 1, 2):
            check_rounded("layer_norm", [x, scale, bias], shape, [1, epilogue], [1e-5], isa=isa)
        check_rounded("layer_norm", [x, scale], shape, [1, 0], [1e-5], others=[(rows, 1), (rows, 1)], isa=isa)


def test_norms_that_leave_the_caches() -> None:
    """Results of this size are streamed in float32."""
    x, scale, bias = normal(2100, 2048), normal(2048), normal(2048)
    isa = isa_levels()[-1]
    check_rounded("rms_norm", [x, scale, x], x.shape, [1], [1e-5], others=[x.shape], isa=isa)
    check_rounded("layer_norm", [x, scale, bias], x.shape, [1, 0], [1e-5], isa=isa)
    check_rounded("swiglu", [x, x], x.shape, [0, 0], isa=isa)


@each_isa
def test_swiglu(isa: int) -> None:
    for shape in [(1, 1), (3, 15), (2, 16), (5, 65), (3, 4097), (2, 70, 40)]:
        gate, up = normal(*shape), normal(*shape)
        check_rounded("swiglu", [gate, up], shape, [0, 0], isa=isa)
        check_rounded("swiglu", [gate[..., :-1], up[..., 1:]], (*shape[:-1], shape[-1] - 1), [0, 0], isa=isa)
        both = normal(*shape[:-1], 2 * shape[-1])
        check_rounded("swiglu", [both], shape, [1, 0], isa=isa)
        check_rounded("swiglu", [both], shape, [0, 1], isa=isa)


#: batch, heads, kv_heads, queries, keys, depth, width
ATTENTION = [
    (1, 4, 2, 1, 77, 64, 64),
    (2, 6, 3, 3, 33, 19, 13),
    (1, 2, 2, 4, 0, 8, 8),
    (1, 4, 2, 40, 70, 16, 24),
    (2, 2, 1, 33, 130, 20, 35),
    (1, 3, 3, 65, 65, 64, 64),
]


@each_isa
@pytest.mark.parametrize("shape", ATTENTION, ids=str)
def test_attention(isa: int, shape: tuple[int, ...]) -> None:
    batch, heads, kv_heads, queries, keys, depth, width = shape
    q, k = normal(batch, heads, queries, depth), normal(batch, kv_heads, keys, depth)
    v, mask = normal(batch, kv_heads, keys, width), normal(1, 1, queries, keys)
    mask[:, :, queries // 2] = -np.inf  # a row without weights: NaN, or 0
    for last in (0, 1):
        dims = (batch, queries, heads, width) if last else (batch, heads, queries, width)
        for nan_to_zero in (0, 1):
            ints = [last, nan_to_zero, 0, 0, 1]
            check_rounded("attention", [q, k, v, mask], dims, ints, [0.3], isa=isa, threads=1 + last)


@each_isa
@pytest.mark.parametrize("queries", [1, 3, 9])
def test_attention_append(isa: int, queries: int) -> None:
    q, k, v = normal(2, 4, queries, 24), normal(2, 2, queries, 24), normal(2, 2, queries, 13)
    past_k, past_v, keys = normal(2, 2, 30, 24), normal(2, 2, 30, 13), 30 + queries
    presents = [(2, 2, keys, 24), (2, 2, keys, 13)]
    for last in (0, 1):
        dims = (2, queries, 4, 13) if last else (2, 4, queries, 13)
        ins = [q, k, v, None, past_k, past_v]
        check_rounded("attention_append", ins, dims, [last, 0, 1, 30, 1], [0.2], others=presents, isa=isa)


def multiply(a: np.ndarray, b: Pairs32, c: np.ndarray | None, isa: int, threads: int = 2) -> np.ndarray:
    shape = (*a.shape[:-1], b.shape[-1])
    return call("matmul", [a, b, c], [(F32, shape)], (0, 0, 2), (1, 1, 0, 0), isa=isa, threads=threads)[0]


@each_isa
def test_products_of_rounded_rows(isa: int) -> None:
    for m, n, k in [
        (1, 200, 64),
        (1, 33, 2),
        (2, 300, 2402),
        (7, 64, 130),
        (150, 100, 2400),
        (70, 20, 32),
        (3, 5, 0),
    ]:
        a, b, c = normal(m, k), Pairs32(normal(k, n)), normal(n)
        if k:
            a[0, 0], a[-1, -1] = np.inf, np.nan
        for threads in (1, 2):
            wanted, got = (multiply(x, b, c, isa, threads) for x in (a, a.astype(BF16)))
            np.testing.assert_array_equal(got, wanted)


@each_isa
def test_batches_of_rounded_rows(isa: int) -> None:
    a, b = normal(3, 5, 18), normal(3, 18, 34)
    for right in (Pairs32(b), Pairs32(b[0])):
        np.testing.assert_array_equal(
            multiply(a.astype(BF16), right, None, isa), multiply(a, right, None, isa)
        )
    wide = normal(4, 40)
    half = wide.astype(BF16)
    some = Pairs32(normal(18, 40))
    np.testing.assert_array_equal(
        multiply(half[:, 2:20], some, None, isa), multiply(wide[:, 2:20], some, None, isa)
    )
    row = wide[0, :18]
    np.testing.assert_array_equal(multiply(row.astype(BF16), some, None, isa), multiply(row, some, None, isa))


def test_what_has_no_rows_of_pairs_is_refused() -> None:
    even, odd = (Pairs32(normal(k, 8)) for k in (4, 5))
    half = normal(3, 10).astype(BF16)
    for a, b in [(half[:, :5], odd), (half[:, ::2][:, :4], even), (normal(3, 5).astype(BF16)[:, :4], even)]:
        with pytest.raises(KernelError, match="rows of pairs"):
            multiply(a, b, None, -1)


GATED, GROUP = 12, 4


def by_turns(v: np.ndarray, w: np.ndarray) -> np.ndarray:
    k, n = v.shape
    return np.stack([m.reshape(k, n // GROUP, GROUP) for m in (v, w)], axis=2).reshape(k, 2 * n)


def gated(a: np.ndarray, b: Packed, kind: np.dtype, isa: int, threads: int = 2) -> np.ndarray:
    shape = (*a.shape[:-1], b.shape[-1] // 2)
    return call("matmul", [a, b], [(kind, shape)], (0, 0, GATED), (1, 1, 0, 0), isa=isa, threads=threads)[0]


@each_isa
@pytest.mark.parametrize("layout", [Panel32, Pairs32, Halves32])
def test_gated_products(isa: int, layout: type[Packed]) -> None:
    """The bits of swiglu on two products."""
    kind = np.float16 if layout is Halves32 else np.float32
    for m, n, k in [
        (1, 100, 64),
        (2, 76, 33),
        (1, 4, 7),
        (5, 8, 20),
        (40, 20, 32),
        (150, 68, 1300),
        (3, 12, 0),
    ]:
        a, v, w = normal(m, k), normal(k, n).astype(kind), normal(k, n).astype(kind)
        if k:
            a[0, 0], a[-1, -1] = np.inf, np.nan
        sides = [
            call("matmul", [a, layout(b)], [(F32, (m, n))], (0, 0, 0), (1, 1, 0, 0), isa=isa)[0]
            for b in (v, w)
        ]
        (wanted,) = call("swiglu", sides, [(F32, (m, n))], [0, 0], isa=isa)
        both = layout(by_turns(v, w))
        for threads in (1, 3):
            np.testing.assert_array_equal(gated(a, both, F32, isa, threads), wanted)
        if layout is Pairs32:
            half = gated(a, both, BF16, isa)
            np.testing.assert_array_equal(flushed(half), flushed(wanted.astype(BF16)))


def test_what_no_gate_can_take_is_refused() -> None:
    a, b, c = normal(3, 8), Panel32(normal(8, 16)), normal(8)
    for ins, y in [
        ([a, Panel32(normal(8, 12))], (3, 6)),
        ([a, normal(8, 16)], (3, 8)),
        ([a, b, c], (3, 8)),
        ([a, b, None, c], (3, 8)),
    ]:
        with pytest.raises(KernelError, match="gated"):
            call("matmul", ins, [(F32, y)], (0, 0, GATED), (1, 1, 0, 0))
    with pytest.raises(KernelError, match="columns"):
        call("matmul", [a, b], [(F32, (3, 16))], (0, 0, GATED), (1, 1, 0, 0))
    pairs = Pairs32(normal(8, 16))
    with pytest.raises(KernelError, match="bfloat16"):
        call("matmul", [a, pairs], [(BF16, (3, 16))], (0, 0, 0), (1, 1, 0, 0))
