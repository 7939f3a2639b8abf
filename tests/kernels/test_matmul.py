"""matmul against float64, and the promise that a row's bits depend on that row and B alone.

Tolerance: each element is one chain of K roundings, so |error| <= K eps sum_k |a_k b_k| (Higham, Accuracy
and Stability, 3.1); the epilogue adds a few ulp of its own.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import NUMPY, Halves32, KernelError, Packed, Pairs32, Panel32, call

from ascend_ep.runtime._rt import ffi, lib
from ascend_ep.runtime.layouts import LAYOUTS

EPS = 2.0**-24
SIZES = [0, 1, 2, 3, 7, 8, 13, 14, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100]
NONE, RELU, GELU, GELU_TANH, SILU, SIGMOID, TANH, CLIP, HARD_SWISH, LEAKY_RELU = range(10)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def matmul(a, b, c=None, r=None, *, shape=None, ints=(0, 0, 0), floats=(1, 1, 0, 0), isa=None, threads=2):
    if shape is None:
        shape = np.matmul(np.zeros(a.shape), np.zeros(b.shape)).shape
    return call("matmul", [a, b, c, r], [(np.float32, shape)], ints, floats, isa=isa, threads=threads)[0]


def assert_close(y: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    a, b = a.astype(np.float64), b.astype(np.float64)
    bound = (a.shape[-1] + 2) * EPS * (np.abs(a) @ np.abs(b))
    assert y.shape == (a @ b).shape
    assert (np.abs(y - a @ b) <= bound).all()


@each_isa
def test_every_size_against_float64(isa: int) -> None:
    rng = np.random.default_rng(0)
    for m, n, k in product(SIZES, SIZES, [0, 1, 2, 5, 33, 64]):
        if (m * 7 + n * 3 + k) % 3:  # a third of the grid, all values of each axis
            continue
        a, b = normal(rng, m, k), normal(rng, k, n)
        plain = matmul(a, b, isa=isa)
        assert_close(plain, a, b)
        np.testing.assert_array_equal(plain, matmul(a, Panel32(b), isa=isa))


@each_isa
@pytest.mark.parametrize(("m", "n", "k"), [(1, 200, 1153), (5, 70, 2500), (30, 40, 4000), (300, 100, 1200)])
def test_blocks_of_k(isa: int, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(1)
    a, b = normal(rng, m, k), normal(rng, k, n)
    assert_close(matmul(a, b, isa=isa), a, b)
    assert_close(matmul(a, Panel32(b), isa=isa), a, b)


@each_isa
@pytest.mark.parametrize("panels", [False, True])
def test_a_row_alone_has_the_bits_it_has_in_a_batch(isa: int, panels: bool) -> None:
    rng = np.random.default_rng(2)
    a, b = normal(rng, 131, 1500), normal(rng, 1500, 193)
    right = Panel32(b) if panels else b
    whole = matmul(a, right, isa=isa)
    for rows in (slice(0, 1), slice(60, 62), slice(7, 10), slice(100, 131)):
        np.testing.assert_array_equal(matmul(a[rows], right, isa=isa), whole[rows])
    np.testing.assert_array_equal(matmul(a[17], right, isa=isa), whole[17])


@each_isa
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("activation", range(10))
def test_a_row_alone_has_the_epilogue_it_has_in_a_batch(
    isa: int, bias: bool, residual: bool, activation: int
) -> None:
    """One row, two and many take tiles of different widths; a last one has columns of its own."""
    rng = np.random.default_rng(13)
    a, b, c, r = normal(rng, 20, 30), Panel32(normal(rng, 30, 103)), normal(rng, 103), normal(rng, 20, 103)

    def some(rows: slice) -> np.ndarray:
        addends = c if bias else None, r[rows] if residual else None
        floats = 0.7, 1.3, -0.25, 0.75  # whose products are rounded
        return matmul(
            a[rows], b, *addends, shape=(len(a[rows]), 103), ints=(0, 0, activation), floats=floats, isa=isa
        )

    whole = some(slice(0, 20))
    for rows in (slice(0, 1), slice(5, 7), slice(9, 12)):
        np.testing.assert_array_equal(some(rows), whole[rows])


@each_isa
@pytest.mark.parametrize(("m", "n", "k"), [(1, 4096, 300), (129, 300, 700), (700, 40, 300), (3000, 17, 60)])
def test_threads_change_no_bit(isa: int, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(3)
    a, b, c = normal(rng, m, k), normal(rng, k, n), normal(rng, n)
    for right in (b, Panel32(b)):
        one, *more = (
            matmul(a, right, c, ints=(0, 0, GELU), isa=isa, threads=threads) for threads in (1, 2, 3)
        )
        for other in more:
            np.testing.assert_array_equal(one, other)


@each_isa
@pytest.mark.parametrize("n", [2048, 2053])
def test_a_large_result_has_the_bits_of_its_parts(isa: int, n: int) -> None:
    """What is too large for the caches is stored past them, with the same epilogue before."""
    rng = np.random.default_rng(11)
    a, b, r = normal(rng, 1600, 9), normal(rng, 9, n), normal(rng, 1600, n)
    whole = matmul(a, Panel32(b), None, r, ints=(0, 0, SILU), isa=isa)
    for rows in (slice(0, 40), slice(801, 830), slice(1571, 1600)):
        part = matmul(a[rows], Panel32(b), None, r[rows], ints=(0, 0, SILU), isa=isa)
        np.testing.assert_array_equal(whole[rows], part)


@each_isa
def test_strides_do_not_matter(isa: int) -> None:
    rng = np.random.default_rng(4)
    wide_a, wide_b = normal(rng, 50, 80), normal(rng, 80, 120)
    a, b = wide_a[::2, 3:70:3], wide_b[3:70:3, 5:105]
    expect = matmul(a.copy(), b.copy(), isa=isa)
    assert_close(expect, a, b)
    np.testing.assert_array_equal(matmul(a, b, isa=isa), expect)
    np.testing.assert_array_equal(matmul(np.asfortranarray(a), np.asfortranarray(b), isa=isa), expect)
    np.testing.assert_array_equal(matmul(a[::-1], b, isa=isa), expect[::-1])
    np.testing.assert_array_equal(matmul(a, b[:, ::-2], isa=isa), expect[:, ::-2])


@each_isa
def test_transposed_operands(isa: int) -> None:
    rng = np.random.default_rng(5)
    a, b = normal(rng, 3, 37, 21), normal(rng, 3, 45, 37)
    y = matmul(a, b, shape=(3, 21, 45), ints=(1, 1, 0), isa=isa)
    assert_close(y, a.swapaxes(1, 2), b.swapaxes(1, 2))


@each_isa
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3, 5, 7), (2, 3, 7, 4)), ((2, 3, 5, 7), (7, 40)), ((2, 1, 5, 7), (3, 7, 4)), ((5, 7), (4, 7, 3)),
        ((6, 1, 7), (7, 40)), ((4, 6, 1, 7), (6, 7, 2)), ((7,), (7,)), ((7,), (3, 7, 5)), ((3, 2, 7), (7,)),
        ((0, 5, 7), (7, 3)), ((3, 1, 2, 7), (4, 7, 33)),
    ],
)  # fmt: skip
def test_batches_broadcast_as_in_numpy(isa: int, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(6)
    a, b = normal(rng, *left), normal(rng, *right)
    y = matmul(a, b, isa=isa)
    assert_close(y, a, b)
    if len(right) > 1:
        np.testing.assert_array_equal(matmul(a, Panel32(b), isa=isa), y)


def test_attention_reads_heads_in_place() -> None:
    rng = np.random.default_rng(7)
    qkv = normal(rng, 2, 40, 3, 4, 16)
    q, k, v = (qkv[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    scores = matmul(q, k.swapaxes(2, 3))
    assert_close(scores, q, k.swapaxes(2, 3))
    assert_close(matmul(scores, v), scores, v)


def erf(x: np.ndarray) -> np.ndarray:
    from math import erf as scalar

    return np.vectorize(scalar)(x)


ACTIVATIONS = {
    NONE: lambda x: x,
    RELU: lambda x: np.maximum(x, 0),
    GELU: lambda x: x / 2 * (1 + erf(x / np.sqrt(2))),
    GELU_TANH: lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    SILU: lambda x: x / (1 + np.exp(-x)),
    SIGMOID: lambda x: 1 / (1 + np.exp(-x)),
    TANH: np.tanh,
    CLIP: lambda x: np.clip(x, -0.25, 0.75),
    HARD_SWISH: lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    LEAKY_RELU: lambda x: np.where(x < 0, -0.25 * x, x),
}


@each_isa
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_activations_on_the_sums(isa: int, activation: int) -> None:
    rng = np.random.default_rng(8)
    a, b, c, r = normal(rng, 9, 20), normal(rng, 20, 45), normal(rng, 45), normal(rng, 9, 45)
    y = matmul(a, b, c, r, ints=(0, 0, activation), floats=(0.5, 2, -0.25, 0.75), isa=isa)
    x = 0.5 * (a.astype(np.float64) @ b) + 2 * c.astype(np.float64) + r
    # every activation here has a slope of at most 1.5; the sums lie within 25 roundings of size <= 30 eps
    assert (np.abs(y - ACTIVATIONS[activation](x)) <= 25 * 30 * EPS).all()


@each_isa
@pytest.mark.parametrize(
    "addend", [(), (1,), (45,), (9, 1), (9, 45), (1, 45), (2, 1, 1), (2, 9, 45), (1, 9, 45)]
)
def test_addends_broadcast(isa: int, addend: tuple[int, ...]) -> None:
    rng = np.random.default_rng(9)
    a, b, c = normal(rng, 2, 9, 20), normal(rng, 20, 45), normal(rng, *addend)
    bare = matmul(a, b, isa=isa)
    np.testing.assert_array_equal(matmul(a, b, c, isa=isa), bare + c)
    np.testing.assert_array_equal(matmul(a, b, None, c, isa=isa), bare + c)
    np.testing.assert_array_equal(matmul(a, b, None, np.broadcast_to(c, bare.shape), isa=isa), bare + c)


@each_isa
def test_no_products_still_have_an_epilogue(isa: int) -> None:
    c = np.arange(5, dtype=np.float32) - 2
    y = matmul(np.empty((3, 0), np.float32), np.empty((0, 5), np.float32), c, ints=(0, 0, RELU), isa=isa)
    np.testing.assert_array_equal(y, np.broadcast_to(np.maximum(c, 0), (3, 5)))


@each_isa
def test_nan_and_infinity_stay_in_their_row_and_column(isa: int) -> None:
    rng = np.random.default_rng(10)
    a, b = normal(rng, 20, 33), normal(rng, 33, 50)
    a[3, 4], a[5, 6], b[7, 49] = np.nan, np.inf, -np.inf
    y = matmul(a, Panel32(b), ints=(0, 0, RELU), isa=isa)
    assert np.isnan(y[3]).all()
    assert np.isposinf(y[5, :49][b[6, :49] > 0]).all()
    clean = np.ones(20, bool)
    clean[[3, 5]] = False
    assert np.isfinite(y[clean, :49]).all()
    assert (np.isposinf(y[clean, 49]) | (y[clean, 49] == 0)).all()


@pytest.mark.parametrize(
    ("left", "right", "shape", "ints", "words"),
    [
        ((2, 3), (4, 5), (2, 5), (0, 0, 0), "A's columns"),
        ((2, 3), (3, 5), (2, 6), (0, 0, 0), "output's columns"),
        ((2, 3), (3, 5), (1, 5), (0, 0, 0), "output's rows"),
        ((2, 3), (3, 5), (5,), (0, 0, 0), "too few axes"),
        ((2, 3), (3, 5), (2, 5), (0, 0, 99), "activation"),
        ((2, 3), (3, 5), (2, 5), (0, 2, 0), "transA"),
        ((3,), (3, 5), (5,), (1, 0, 0), "transA"),
        ((2, 3), (3, 5), (2, 5), (0, 0), "3 ints"),
        ((4, 2, 3), (5, 3, 5), (4, 2, 5), (0, 0, 0), "batch"),
        ((), (3, 5), (5,), (0, 0, 0), "axis"),
    ],
)
def test_what_does_not_fit_is_refused(left, right, shape, ints, words) -> None:
    with pytest.raises(KernelError, match=words):
        matmul(np.zeros(left, np.float32), np.zeros(right, np.float32), shape=shape, ints=ints)


def test_an_addend_must_broadcast() -> None:
    a, b = np.zeros((2, 3), np.float32), np.zeros((3, 5), np.float32)
    for c in (np.zeros(4, np.float32), np.zeros((3, 5), np.float32), np.zeros((2, 2, 5), np.float32)):
        with pytest.raises(KernelError, match=r"addend|batch"):
            matmul(a, b, c)


def test_sizes_that_overflow_are_refused() -> None:
    """Dims that no memory backs: prepare must stop before anything is read."""
    tensors = ffi.new("asc_tensor[3]")
    huge = 2**31
    for tensor, dims in zip(tensors, [(1, huge), (huge, 2**32), (1, 2**32)], strict=True):
        tensor.dtype, tensor.rank = lib.ASC_FLOAT32, 2
        tensor.dims[0:2] = dims
        tensor.strides[0:2] = [dims[1], 1]
    ints, floats = ffi.new("int64_t[3]"), ffi.new("double[4]", [1, 1, 0, 0])
    status = ffi.new("asc_status *")
    code = lib.asc_kernel_call(-1, b"matmul", tensors, 2, tensors + 2, 1, ints, 3, floats, 4, 2, status)
    assert code == lib.ASC_E_SHAPE
    assert b"too large" in ffi.string(status.text)


@each_isa
@pytest.mark.parametrize("kind", [Panel32, Pairs32, Halves32])
def test_rows_that_are_kept_for_several_chunks(isa: int, kind: type[Packed]) -> None:
    """Few rows, many panels, several blocks of K: each worker packs its rows once; alone, once a block."""
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((40, 4900)).astype(np.float32), rng.standard_normal((4900, 600))
    weights = kind(b.astype(NUMPY[LAYOUTS[kind.layout].source]))
    given = [(np.float32, (40, 600))], (0, 0, 0), (1, 1, 0, 0), isa
    (alone,) = call("matmul", [a, weights], *given, threads=1)
    for threads in (2, 3):
        (y,) = call("matmul", [a, weights], *given, threads=threads)
        np.testing.assert_array_equal(y, alone)
    # of sums whose deviation is sqrt(K): bfloat16 rounds both factors by up to 2^-8
    assert np.abs(alone - a @ b).max() <= (0.05 if kind is Pairs32 else 0.002) * 4900**0.5
