"""matmul with a right operand in bfloat16 pairs, against float64 of the rounded operands.

Both operands are rounded to bfloat16 exactly as numpy's ml_dtypes rounds; the products of two bfloat16 are
exact in float32, so the error is that of K float32 additions: |error| <= K eps sum_k |a_k b_k|. That is of
normal numbers: avx512bf16, amx and bf16i8mm take subnormal operands and sums for zero.
"""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from isa_levels import each_isa, isa_levels, isa_name
from kernel_call import KernelError, Pairs32, call

EPS = 2.0**-24
SIZES = [0, 1, 2, 3, 7, 14, 15, 16, 17, 31, 32, 33, 64, 65, 100]
GELU = 2


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def rounded(x: np.ndarray) -> np.ndarray:
    return x.astype(ml_dtypes.bfloat16).astype(np.float64)


def matmul(a, b, c=None, *, ints=(0, 0, 0), isa=None, threads=2):
    shape = (*a.shape[:-1], b.shape[-1]) if not ints[0] else (a.shape[-1], b.shape[-1])
    right = b if isinstance(b, Pairs32) else Pairs32(b)
    return call("matmul", [a, right, c], [(np.float32, shape)], ints, (1, 1, 0, 0), isa=isa, threads=threads)[
        0
    ]


def assert_close(y: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    a, b = rounded(a), rounded(b)
    bound = (a.shape[-1] + 2) * EPS * (np.abs(a) @ np.abs(b))
    assert (np.abs(y - a @ b) <= bound).all()


@each_isa
def test_every_size_against_float64(isa: int) -> None:
    rng = np.random.default_rng(0)
    for m, n, k in product(SIZES, SIZES, [0, 1, 2, 5, 33, 64]):
        if (m * 7 + n * 3 + k) % 3:
            continue
        a, b = normal(rng, m, k), normal(rng, k, n)
        assert_close(matmul(a, b, isa=isa), a, b)


@each_isa
@pytest.mark.parametrize(("m", "n", "k"), [(1, 200, 2307), (5, 70, 5001), (300, 100, 2400)])
def test_blocks_of_k(isa: int, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(1)
    a, b = normal(rng, m, k), normal(rng, k, n)
    assert_close(matmul(a, b, isa=isa), a, b)


@each_isa
def test_strides_and_batches(isa: int) -> None:
    rng = np.random.default_rng(2)
    a, b = normal(rng, 33, 21), normal(rng, 33, 40)
    assert_close(matmul(a, b, ints=(1, 0, 0), isa=isa), a.T, b)
    x, stack = normal(rng, 3, 5, 19), normal(rng, 3, 19, 34)
    assert_close(matmul(x, stack, isa=isa), x, stack)
    assert_close(matmul(x, stack[0], isa=isa), x, stack[0])


@each_isa
def test_subnormal_numbers_are_computed_or_count_as_zero(isa: int) -> None:
    flushes = isa_name(isa) in ("avx512bf16", "amx", "bf16i8mm")
    for a, b in ((2.0**-130, 2.0**2), (2.0**-70, 2.0**-62)):  # an operand, sums
        y = matmul(np.full((3, 4), a, np.float32), np.full((4, 5), b, np.float32), isa=isa)
        np.testing.assert_array_equal(y, np.full((3, 5), 0 if flushes else 4 * a * b, np.float32))


@each_isa
def test_a_row_alone_and_threads_change_no_bit(isa: int) -> None:
    rng = np.random.default_rng(3)
    a, b, c = normal(rng, 131, 1500), Pairs32(normal(rng, 1500, 193)), normal(rng, 193)
    whole = matmul(a, b, c, ints=(0, 0, GELU), isa=isa)
    for rows in (slice(0, 1), slice(60, 62), slice(100, 131)):
        np.testing.assert_array_equal(matmul(a[rows], b, c, ints=(0, 0, GELU), isa=isa), whole[rows])
    for threads in (1, 3):
        np.testing.assert_array_equal(matmul(a, b, c, ints=(0, 0, GELU), isa=isa, threads=threads), whole)


@each_isa
@pytest.mark.parametrize(("m", "n", "k"), [(83, 20, 40), (49, 70, 2401), (147, 33, 4800)])
def test_rows_alone_have_the_bits_of_all(isa: int, m: int, n: int, k: int) -> None:
    """Heights that tiles cut into overlapping blocks, columns of other kernels, several blocks of K."""
    rng = np.random.default_rng(4)
    a, b = normal(rng, m, k), Pairs32(normal(rng, k, n))
    whole = matmul(a, b, isa=isa)
    for rows in (slice(0, 1), slice(15, 18), slice(m - 20, m), slice(7, 7 + 40)):
        np.testing.assert_array_equal(matmul(a[rows], b, isa=isa), whole[rows])


@each_isa
def test_special_values(isa: int) -> None:
    a, b = np.ones((3, 40), np.float32), np.ones((40, 33), np.float32)
    a[0, 7], a[1, 8], b[9, 5] = np.nan, np.inf, -np.inf
    y = matmul(a, b, isa=isa)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(y, a @ b)


def test_largest_values_round_to_infinity() -> None:
    a, b = np.full((2, 2), np.finfo(np.float32).max), np.eye(2, dtype=np.float32)
    for isa in isa_levels():
        assert np.isinf(matmul(a, b, isa=isa)[:, 0]).any() or np.isnan(matmul(a, b, isa=isa)).any()


def test_refusals() -> None:
    a, b = np.ones((2, 3), np.float32), Pairs32(np.ones((3, 4), np.float32))
    with pytest.raises(KernelError, match="transposed"):
        call("matmul", [np.ones((2, 4), np.float32), b], [(np.float32, (2, 3))], (0, 1, 0), (1, 1, 0, 0))
    plain = np.ones((3, 4), ml_dtypes.bfloat16)
    with pytest.raises(KernelError, match="layout"):
        call("matmul", [a, plain], [(np.float32, (2, 4))], (0, 0, 0), (1, 1, 0, 0))
