"""matmul with float16 weights: the very bits of the product with these weights as float32, which other tests
compare with float64."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import Halves32, KernelError, Panel32, call

from ascend_ep.runtime.layouts import LAYOUTS

SIZES = [0, 1, 2, 3, 7, 14, 15, 16, 17, 31, 32, 33, 64, 65, 100, 129]
GELU = 2


def matmul(a, b, c=None, r=None, *, ints=(0, 0, 0), floats=(1, 1, 0, 0), isa=None, threads=2):
    shape = (*a.shape[:-1], b.shape[-1]) if not ints[0] else (a.shape[1], b.shape[-1])
    (y,) = call("matmul", [a, b, c, r], [(np.float32, shape)], ints, floats, isa=isa, threads=threads)
    return y


def assert_same_bits(a, b, *rest, **given) -> None:
    y = matmul(a, Halves32(b), *rest, **given)
    np.testing.assert_array_equal(y, matmul(a, Panel32(b.astype(np.float32)), *rest, **given))


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def halves(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float16)


@each_isa
def test_every_size(isa: int) -> None:
    rng = np.random.default_rng(0)
    for m, n, k in product(SIZES, SIZES, [0, 1, 2, 5, 33, 64]):
        if (m * 7 + n * 3 + k) % 4 == 0:
            assert_same_bits(normal(rng, m, k), halves(rng, k, n), isa=isa)


@each_isa
@pytest.mark.parametrize(("m", "n", "k"), [(1, 200, 2307), (2, 70, 5001), (300, 100, 2400), (40, 515, 1300)])
def test_blocks_of_k(isa: int, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(1)
    assert_same_bits(normal(rng, m, k), halves(rng, k, n), isa=isa)


@each_isa
def test_against_float64(isa: int) -> None:
    """Sums of K float32 products: |error| <= (K + 1) eps sum_k |a_k b_k|."""
    rng = np.random.default_rng(2)
    a, b = normal(rng, 5, 300), halves(rng, 300, 77)
    left, right = a.astype(np.float64), b.astype(np.float64)
    bound = 301 * 2.0**-24 * (np.abs(left) @ np.abs(right))
    assert (np.abs(matmul(a, Halves32(b), isa=isa) - left @ right) <= bound).all()


@each_isa
def test_strides_and_batches(isa: int) -> None:
    rng = np.random.default_rng(3)
    assert_same_bits(normal(rng, 33, 21), halves(rng, 33, 40), ints=(1, 0, 0), isa=isa)
    x, stack = normal(rng, 3, 5, 19), halves(rng, 3, 19, 34)
    assert_same_bits(x, stack, isa=isa)
    assert_same_bits(x, stack[0], isa=isa)
    assert_same_bits(x[:, 0], stack[0], isa=isa)
    assert_same_bits(x[:, ::2, :], stack[:1], isa=isa)
    assert_same_bits(x, np.moveaxis(halves(rng, 34, 3, 19), 0, 2), isa=isa)


@each_isa
@pytest.mark.parametrize("m", [1, 4, 20])
def test_epilogue(isa: int, m: int) -> None:
    rng = np.random.default_rng(4)
    addends = normal(rng, 75), normal(rng, m, 75)
    given = {"ints": (0, 0, GELU), "floats": (0.5, 2, 0, 0), "isa": isa}
    assert_same_bits(normal(rng, m, 50), halves(rng, 50, 75), *addends, **given)


@each_isa
def test_a_row_alone_and_threads_change_no_bit(isa: int) -> None:
    rng = np.random.default_rng(5)
    a, b = normal(rng, 131, 1500), Halves32(halves(rng, 1500, 193))
    whole = matmul(a, b, isa=isa)
    for rows in (slice(0, 1), slice(60, 62), slice(64, 67), slice(100, 131)):
        np.testing.assert_array_equal(matmul(a[rows], b, isa=isa), whole[rows])
    for threads in (1, 3):
        np.testing.assert_array_equal(matmul(a, b, isa=isa, threads=threads), whole)


@each_isa
@pytest.mark.parametrize("m", [1, 9, 40])
def test_every_float16(isa: int, m: int) -> None:
    """Each of the 65536 bit patterns, subnormals, infinities and NaN among them, as it is."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16).reshape(1, -1)
    y = matmul(np.ones((m, 1), np.float32), Halves32(every), isa=isa)
    np.testing.assert_array_equal(y, np.broadcast_to(every.astype(np.float32), y.shape))


def test_refusals() -> None:
    a, b = np.ones((2, 3), np.float32), np.ones((3, 4), np.float16)
    with pytest.raises(KernelError, match="transposed"):
        matmul(np.ones((2, 4), np.float32), Halves32(b), ints=(0, 1, 0))
    with pytest.raises(KernelError, match="layout"):
        matmul(a, b)
    wrong = Halves32(b)
    wrong.kind = replace(wrong.kind, number=LAYOUTS["vnni2_32"].number)
    with pytest.raises(KernelError, match="layout"):
        matmul(a, wrong)
