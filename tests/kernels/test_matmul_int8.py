"""matmul with int8 weights, against float64 of the dequantised weights.

Each weight is (q - zero point) * scale rounded to float32, as DequantizeLinear gives it, so the error is
that of K float32 products and additions: |error| <= (K + 1) eps sum_k |a_k w_k|. Numpy dequantises to the
same bits, and so the result has the very bits of the float32 product.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import Bytes32, KernelError, Nibbles32, Panel32, call

EPS = 2.0**-24
SIZES = [0, 1, 2, 3, 4, 5, 15, 16, 31, 32, 33, 64, 65, 100, 129]
GELU, RELU = 2, 1


class Weights:
    """Random int8 weights with a scale, and on demand a zero point, for each `block` rows of a column."""

    def __init__(
        self, k: int, n: int, block: int = 0, zero: bool = False, seed: int = 0, bits: int = 8
    ) -> None:
        rng = np.random.default_rng(seed)
        self.block = block or max(k, 1)
        rows = -(-k // self.block)
        half = 1 << bits >> 1
        self.q = rng.integers(-half, half, (k, n), dtype=np.int8)
        self.layout = Bytes32 if bits == 8 else Nibbles32
        self.scale = rng.uniform(0.001, 0.02, (rows, n)).astype(np.float32)
        self.zero = rng.integers(-128, 256, (rows, n)).astype(np.float32) if zero else None

    @property
    def floats(self) -> np.ndarray:
        """What DequantizeLinear makes of them."""
        row = np.arange(len(self.q)) // self.block
        centred = self.q.astype(np.float32) - (0 if self.zero is None else self.zero[row])
        return centred * self.scale[row]


def matmul(a, w, c=None, r=None, *, ints=(0, 0, 0), floats=(1, 1, 0, 0), isa=None, threads=2):
    zero = None if w.zero is None else Panel32(w.zero)
    operands = [a, w.layout(w.q), c, r, Panel32(w.scale), zero]
    shape = (*a.shape[:-1], w.q.shape[1]) if not ints[0] else (a.shape[1], w.q.shape[1])
    (y,) = call("matmul", operands, [(np.float32, shape)], (*ints, w.block), floats, isa=isa, threads=threads)
    return y


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def assert_close(y: np.ndarray, a: np.ndarray, w: Weights) -> None:
    left, right = a.astype(np.float64), w.floats.astype(np.float64)
    bound = (left.shape[-1] + 1) * EPS * (np.abs(left) @ np.abs(right))
    assert (np.abs(y - left @ right) <= bound).all()


@each_isa
def test_every_size_against_float64(isa: int) -> None:
    rng = np.random.default_rng(0)
    for m, n, k in product(SIZES, SIZES, [0, 1, 2, 5, 33, 64]):
        if (m * 7 + n * 3 + k) % 4:
            continue
        a, w = normal(rng, m, k), Weights(k, n, seed=n)
        assert_close(matmul(a, w, isa=isa), a, w)


@each_isa
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize(
    ("bits", "block"), [(8, 0), (8, 1), (8, 16), (8, 24), (8, 100), (4, 0), (4, 2), (4, 16), (4, 24), (4, 99)]
)
def test_the_bits_of_the_float_product(isa: int, bits: int, block: int, zero: bool) -> None:
    rng = np.random.default_rng(1)
    for m, k, n in product([1, 2, 3, 4, 5, 40], [77, 96], [40, 290]):
        a, w = normal(rng, m, k), Weights(k, n, block, zero, bits=bits)
        y = matmul(a, w, isa=isa)
        assert_close(y, a, w)
        (plain,) = call("matmul", [a, w.floats], [(np.float32, (m, n))], (0, 0, 0), (1, 1, 0, 0), isa=isa)
        np.testing.assert_array_equal(y, plain)


@each_isa
@pytest.mark.parametrize(("m", "n", "k"), [(1, 200, 2307), (5, 70, 5001), (300, 100, 2400)])
def test_blocks_of_k(isa: int, m: int, n: int, k: int) -> None:
    for bits in (8, 4):
        a, w = normal(np.random.default_rng(2), m, k), Weights(k, n, 64, zero=True, bits=bits)
        assert_close(matmul(a, w, isa=isa), a, w)


@each_isa
def test_strides_and_batches(isa: int) -> None:
    rng = np.random.default_rng(3)
    w = Weights(33, 70, 16)
    a = normal(rng, 33, 3)
    assert_close(matmul(a, w, ints=(1, 0, 0), isa=isa), a.T, w)
    x = normal(rng, 2, 3, 66)[:, :, 33:]
    assert_close(matmul(x, w, isa=isa), x, w)
    transposed = np.moveaxis(normal(rng, 5, 2, 33), 0, 1)
    assert_close(matmul(transposed, w, isa=isa), transposed, w)
    assert_close(matmul(x[0, 0], w, isa=isa), x[0, 0], w)


@each_isa
@pytest.mark.parametrize("m", [1, 4, 20])
def test_epilogue(isa: int, m: int) -> None:
    rng = np.random.default_rng(4)
    a, w, c, r = normal(rng, m, 50), Weights(50, 75), normal(rng, 75), normal(rng, m, 75)
    y = matmul(a, w, c, r, ints=(0, 0, RELU), floats=(0.5, 2, 0, 0), isa=isa)
    wanted = np.maximum(0.5 * (a.astype(np.float64) @ w.floats) + 2 * c + r, 0)
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)  # sums of 50 products below 10: 50 eps 10


@each_isa
def test_a_row_alone_and_threads_change_no_bit(isa: int) -> None:
    rng = np.random.default_rng(5)
    a, w, c = normal(rng, 131, 1500), Weights(1500, 193, 32, zero=True), normal(rng, 193)
    whole = matmul(a, w, c, ints=(0, 0, GELU), isa=isa)
    for rows in (slice(0, 1), slice(60, 62), slice(64, 67), slice(100, 131)):
        np.testing.assert_array_equal(matmul(a[rows], w, c, ints=(0, 0, GELU), isa=isa), whole[rows])
    for threads in (1, 3):
        np.testing.assert_array_equal(matmul(a, w, c, ints=(0, 0, GELU), isa=isa, threads=threads), whole)


@each_isa
@pytest.mark.parametrize("m", [3, 9])
def test_special_values(isa: int, m: int) -> None:
    a, w = np.ones((m, 40), np.float32), Weights(40, 33)
    w.q[w.q == 0] = 1
    a[0, 7], a[1, 8], w.scale[0, 5] = np.nan, np.inf, np.inf
    y = matmul(a, w, isa=isa)
    assert np.isnan(y[0]).all()
    np.testing.assert_array_equal(np.isinf(y[1, :5]), True)
    np.testing.assert_array_equal(np.sign(y[1, :5]), np.sign(w.q[8, :5]))
    assert not np.isfinite(y[2, 5])
    assert np.isfinite(y[2, 6:]).all()


def refused(operands, ints, match: str) -> None:
    shape = (operands[0].shape[0], operands[1].shape[1])
    with pytest.raises(KernelError, match=match):
        call("matmul", operands, [(np.float32, shape)], ints, (1, 1, 0, 0))


def test_refusals() -> None:
    a, w = np.ones((2, 6), np.float32), Weights(6, 40, 3)
    weights, scale = Bytes32(w.q), Panel32(w.scale)
    refused([a, weights, None, None, scale], (0, 0, 0), "4 with int8")
    refused([a, weights, None, None, scale], (0, 0, 0, 0), "at least one row")
    refused([a, weights, None, None, scale], (0, 0, 0, -3), "at least one row")
    refused([a, weights, None, None, scale], (0, 0, 0, 2), "blocks of K")
    refused([a, weights, None, None, w.scale], (0, 0, 0, 3), "blocks of K")
    refused([a, weights, None, None, scale, Panel32(w.scale[:1])], (0, 0, 0, 3), "blocks of K")
    refused([a, w.q, None, None, scale], (0, 0, 0, 3), "in panels")
    refused(
        [np.ones((2, 40), np.float32), weights, None, None, scale], (0, 1, 0, 3), "not B's rows|in panels"
    )
    refused([a, weights], (0, 0, 0, 3), "no kernel")
    refused([a, Nibbles32(w.q), None, None, scale], (0, 0, 0, 3), "even")
