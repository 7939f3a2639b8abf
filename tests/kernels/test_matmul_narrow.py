"""matmul of few columns with many rows: the bits of products of a few of those rows, which go another way."""

from __future__ import annotations

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import Halves32, Packed, Pairs32, Panel32
from test_matmul import SILU, matmul, normal

FEW = 5  # rows, that gemm_block multiplies


def assert_same_bits(whole: np.ndarray, a: np.ndarray, b: object, isa: int, **given: object) -> None:
    for at in (0, 30, 126, a.shape[0] - FEW):
        rows = slice(at, at + FEW)
        np.testing.assert_array_equal(matmul(a[rows], b, isa=isa, **given), whole[rows])


@each_isa
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, Panel32, Pairs32, Halves32])
def test_few_columns(isa: int, kind: type[Packed]) -> None:
    rng = np.random.default_rng(21)
    for n, k in ((1, 1), (1, 700), (2, 65), (3, 129), (4, 64), (7, 33), (15, 31), (16, 200), (31, 1300)):
        right = normal(rng, k, n)
        a, b = normal(rng, 300, k), kind(right.astype(np.float16) if kind is Halves32 else right)
        whole = matmul(a, b, isa=isa, threads=3)
        assert_same_bits(whole, a, b, isa)
        np.testing.assert_array_equal(matmul(np.asfortranarray(a), b, isa=isa, threads=1), whole)
        np.testing.assert_array_equal(matmul(a[::-1], b, isa=isa), whole[::-1])


@each_isa
@pytest.mark.parametrize("n", [1, 3, 14, 31])
@pytest.mark.parametrize("m", [32, 33, 127, 128, 129, 257])
def test_no_row_is_left_out(isa: int, m: int, n: int) -> None:
    rng = np.random.default_rng(m)
    a, b, column, row = normal(rng, m, 40), normal(rng, 40, n), normal(rng, m, 1), normal(rng, n)
    full = normal(rng, m, n)
    for c, r in ((row, full), (row, None), (column, row), (full, column), (None, full)):
        whole = matmul(a, Panel32(b), c, r, ints=(0, 0, SILU), isa=isa)
        for rows in (slice(0, 31), slice(m - 31, m)):
            some = [x[rows] if x is not None and len(x) == m and x.ndim == 2 else x for x in (c, r)]
            part = matmul(a[rows], Panel32(b), *some, ints=(0, 0, SILU), isa=isa)
            np.testing.assert_array_equal(part, whole[rows])


@each_isa
def test_nan_stays_in_its_row(isa: int) -> None:
    rng = np.random.default_rng(3)
    a, b = normal(rng, 64, 50), normal(rng, 50, 2)
    a[20, 7], a[40, 0] = np.nan, np.inf
    y = matmul(a, Panel32(b), isa=isa)
    assert np.isnan(y[20]).all()
    assert np.isinf(y[40]).all()
    rest = [i for i in range(64) if i not in (20, 40)]
    assert np.isfinite(y[rest]).all()


@each_isa
def test_batches(isa: int) -> None:
    rng = np.random.default_rng(4)
    a, b = normal(rng, 3, 50, 20), normal(rng, 3, 20, 4)
    for i, y in enumerate(matmul(a, b, isa=isa)):
        np.testing.assert_array_equal(y, matmul(a[i], b[i], isa=isa))
    assert matmul(a[:, :, :0], b[:, :0], isa=isa).any() == np.False_
