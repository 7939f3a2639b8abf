"""What a product ends with, done beside the products of the next tile: the bits are those it has when done
alone, as for few rows, whose tiles are low."""

from __future__ import annotations

from itertools import product
from math import erf

import ml_dtypes
import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import Pairs32, Panel32, call

NONE, GELU, SILU = 0, 2, 4
FEW = (slice(0, 1), slice(13, 18), slice(60, 71), slice(128, 131))
packed_each = pytest.mark.parametrize("packed", [Panel32, Pairs32])


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def matmul(a, b, bias, residual, activation, **given) -> np.ndarray:
    shape, floats = (len(a), b.shape[-1]), (1, 1, 0, 0)
    return call("matmul", [a, b, bias, residual], [(np.float32, shape)], (0, 0, activation), floats, **given)[
        0
    ]


def assert_same_bits(y: np.ndarray, other: np.ndarray) -> None:
    np.testing.assert_array_equal(y.view(np.int32), other.view(np.int32))


@each_isa
@packed_each
@pytest.mark.parametrize("k", [27, 60, 2400])
def test_rows_alone_and_threads_change_no_bit(isa: int, packed: type, k: int) -> None:
    """K too short for the end of a tile, enough, and in blocks; the last columns are no whole tile."""
    rng = np.random.default_rng(k)
    a, b, c = normal(rng, 131, k), packed(normal(rng, k, 200)), normal(rng, 200)
    r = normal(rng, 131, 300)[:, 50:250]  # rows further apart than the output's
    a[20], c[40], r[20, 40] = 0, -0.0, -0.0
    for bias, residual, activation in product((None, c), (None, r), (NONE, GELU, SILU)):
        whole = matmul(a, b, bias, residual, activation, isa=isa, threads=2)
        assert_same_bits(matmul(a, b, bias, residual, activation, isa=isa, threads=1), whole)
        for rows in FEW:
            part = None if residual is None else residual[rows]
            assert_same_bits(matmul(a[rows], b, bias, part, activation, isa=isa), whole[rows])


@each_isa
@packed_each
def test_addends_of_other_strides(isa: int, packed: type) -> None:
    rng = np.random.default_rng(1)
    a, b = normal(rng, 131, 60), packed(normal(rng, 60, 96))
    row, column, transposed = normal(rng, 96), normal(rng, 131, 1), normal(rng, 96, 131).T
    for bias, residual in ((column, row), (row, column), (transposed, transposed), (None, row)):
        whole = matmul(a, b, bias, residual, GELU, isa=isa)
        for rows in FEW:
            parts = [x[rows] if x is not None and x.ndim == 2 else x for x in (bias, residual)]
            assert_same_bits(matmul(a[rows], b, *parts, GELU, isa=isa), whole[rows])


@each_isa
@packed_each
@pytest.mark.parametrize("activation", [NONE, GELU])
def test_stored_past_the_caches(isa: int, packed: type, activation: int) -> None:
    rng = np.random.default_rng(2)
    a, b, c, r = (
        normal(rng, 1600, 60),
        packed(normal(rng, 60, 2048)),
        normal(rng, 2048),
        normal(rng, 1600, 2048),
    )
    whole = matmul(a, b, c, r, activation, isa=isa)
    for rows in (slice(0, 5), slice(801, 812), slice(1590, 1600)):
        assert_same_bits(matmul(a[rows], b, c, r[rows], activation, isa=isa), whole[rows])


@each_isa
@packed_each
def test_an_output_beyond_the_caches_in_blocks_of_k(isa: int, packed: type) -> None:
    """What the next tile begins with is fetched, and sums so far are read where they lie."""
    rng = np.random.default_rng(3)
    a, b, c, r = (
        normal(rng, 520, 2400),
        packed(normal(rng, 2400, 1032)),
        normal(rng, 1032),
        normal(rng, 520, 1032),
    )
    whole = matmul(a, b, c, r, NONE, isa=isa)
    for rows in (slice(0, 5), slice(255, 262), slice(515, 520)):
        assert_same_bits(matmul(a[rows], b, c, r[rows], NONE, isa=isa), whole[rows])


@each_isa
def test_gelu_of_sums_of_bfloat16(isa: int) -> None:
    """Of every bfloat16. It may be coarser than float32, by 3e-5: bfloat16 sums have errors of 1e-3."""
    x = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
    y = matmul(x[:, None], Pairs32(np.ones((1, 32), np.float32)), None, None, GELU, isa=isa)
    assert (y[:, :1].view(np.int32) == y.view(np.int32)).all()
    finite = np.isfinite(x)
    ref = np.array([v / 2 * (1 + erf(v / 2**0.5)) for v in x[finite].astype(np.float64)])
    assert (np.abs(y[finite, 0] - ref) <= 3e-5 + 3e-7 * np.abs(ref)).all()
    assert (y[finite & (x < -6), 0] >= -1e-6).all()
    assert y[x == np.inf, 0] == np.inf
    assert np.isnan(y[np.isnan(x), 0]).all()
