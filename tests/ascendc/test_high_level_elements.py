"""Activations, powers, moves, TopK and quantisation of the library against numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_launch import Program

Array = np.ndarray[Any, Any]
DTYPES = [np.float32, np.float16]


def values(n: int, dtype: Any, seed: int = 0) -> Array:
    return np.random.default_rng(seed + n).normal(0, 3, n).astype(dtype)


def close(found: Array, expected: Array) -> None:
    expected = expected.astype(np.float64)
    unit = np.spacing(np.abs(expected).astype(found.dtype)).astype(np.float64)
    assert (np.abs(found.astype(np.float64) - expected) <= unit).all()


def swish(x: Array, beta: float = 1.0) -> Array:
    result: Array = x / (1 + np.exp(-beta * x))
    return result


def gelu(x: Array) -> Array:
    result: Array = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return result


def fast_gelu_v2(x: Array) -> Array:
    near = np.minimum(np.abs(0.70710678118 * x), 1.769) - 1.769
    result: Array = x * (np.where(x < 0, -1, 1) * (0.5 - 0.1444 * near**2) + 0.5)
    return result


ONE: list[tuple[int, int, Callable[[Array], Array]]] = [
    (10, 0, gelu),
    (11, 0, lambda x: swish(x, 1.702)),
    (12, 0, fast_gelu_v2),
    (13, 0, swish),
    (13, 1, lambda x: swish(x, 0.75)),
    (21, 0, np.exp2),
    (22, 0, np.exp),
    (23, 0, lambda x: np.minimum(x, 1)),
    (24, 0, lambda x: np.maximum(x, 1)),
]
TWO: list[tuple[int, Callable[[Array, Array], Array]]] = [
    (14, lambda x, y: x * swish(y, 0.75)),
    (15, lambda x, y: x * gelu(y)),
    (16, lambda x, y: x * np.maximum(y, 0)),
    (17, np.hypot),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [16, 61, 1000])
@pytest.mark.parametrize(("case", "form", "function"), ONE)
def test_functions_of_one(
    high_level: Program, case: int, form: int, function: Callable[[Array], Array], n: int, dtype: Any
) -> None:
    x = values(n, dtype)
    (y,) = high_level([case, int(dtype == np.float16), n, form], [x], [np.zeros_like(x)])
    # 1 + tanh cancels in the reference where x is far below 0, and an expression of exp does not.
    far = (x.astype(np.float64) < -2) & (case == 10)
    close(y[~far], function(x.astype(np.float64))[~far])
    np.testing.assert_allclose(y[far], function(x.astype(np.float64))[far], rtol=2e-3, atol=6e-8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("case", "function"), TWO)
def test_functions_of_two(
    high_level: Program, case: int, function: Callable[[Array, Array], Array], dtype: Any
) -> None:
    x, y = values(77, dtype), np.abs(values(77, dtype, seed=1))
    (found,) = high_level([case, int(dtype == np.float16), 77], [x, y], [np.zeros_like(x)])
    close(found, function(x.astype(np.float64), y.astype(np.float64)))


def test_power_of_a_number(high_level: Program) -> None:
    x = np.abs(values(50, np.float32))
    (y,) = high_level([20, 0, 50], [x], [np.zeros_like(x)])
    close(y, x.astype(np.float64) ** 1.5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_broadcast_pad_and_unpad(high_level: Program, dtype: Any) -> None:
    kind, x = int(dtype == np.float16), values(7 * 32, dtype).reshape(7, 32)
    (y,) = high_level([50, kind, 7, 32, 32], [x[:, :1]], [np.zeros_like(x)])
    np.testing.assert_array_equal(y, np.broadcast_to(x[:, :1], x.shape))
    (y,) = high_level([51, kind, 7, 32, 32], [x[:1]], [np.zeros_like(x)])
    np.testing.assert_array_equal(y, np.broadcast_to(x[:1], x.shape))
    (y,) = high_level([54, kind, 7, 32, 27], [x], [np.zeros((7, 32), dtype)])
    np.testing.assert_array_equal(y, np.pad(x[:, :27], ((0, 0), (2, 3)), constant_values=7))
    (y,) = high_level([55, kind, 7, 32, 32], [x], [np.zeros((7, 29), dtype)])
    np.testing.assert_array_equal(y, x[:, :29])


@pytest.mark.parametrize("by_bits", [False, True])
def test_dropout(high_level: Program, by_bits: bool) -> None:
    x, keep = values(4 * 64, np.float32).reshape(4, 64), np.arange(256).reshape(4, 64) % 3 != 0
    mask = np.packbits(keep, axis=1, bitorder="little") if by_bits else keep.astype(np.uint8)
    (y,) = high_level([52, 0, 4, 64, mask.shape[1]], [x, mask], [np.zeros_like(x)])
    np.testing.assert_array_equal(y, np.where(keep, x * 2, 0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [False, True])
def test_topk(high_level: Program, largest: bool, dtype: Any) -> None:
    rows, inner, n, k = 3, 64, 57, 8
    x = np.round(values(rows * inner, dtype)).reshape(rows, inner)
    index = np.arange(inner, dtype=np.int32) + 100
    lanes = 16 if dtype == np.float16 else 8
    outputs = [np.zeros((rows, lanes), dtype), np.zeros((rows, k), np.int32)]
    numbers = [53, int(dtype == np.float16), rows, inner, n, k, int(largest)]
    y, places = high_level(numbers, [x, index], outputs)
    order = np.argsort(-x[:, :n] if largest else x[:, :n], axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(y[:, :k], np.take_along_axis(x, order, 1))
    np.testing.assert_array_equal(places, index[order])


def test_quantisation(high_level: Program) -> None:
    x = values(96, np.float16, seed=4) * np.float16(40)
    (y,) = high_level([56, 1, 3, 32, 32], [x], [np.zeros(96, np.int8)])
    np.testing.assert_array_equal(
        y, np.clip(np.rint(x.astype(np.float32) * 0.5 + 3), -128, 127).astype(np.int8)
    )
    sums = np.arange(-80, 80, dtype=np.int32).reshape(5, 32)
    factors = np.exp2(np.arange(32) % 4 - 3).astype(np.float32)
    (found,) = high_level([60, 0, 5, 32], [sums, factors], [np.zeros((5, 32), np.float16)])
    np.testing.assert_array_equal(found, (sums * factors).astype(np.float16))


def test_exclusive_or(high_level: Program) -> None:
    x, y = np.random.default_rng(3).integers(-(2**15), 2**15, (2, 77)).astype(np.int16)
    (found,) = high_level([61, 0, 77], [x, y], [np.zeros_like(x)])
    np.testing.assert_array_equal(found, x ^ y)


def fractal(x: Array) -> Array:
    """NZ of the last two axes: strips of 16 columns, rows rounded up to 16."""
    *batch, rows, columns = x.shape
    tall, wide = -(-rows // 16) * 16, -(-columns // 16) * 16
    padded = np.zeros((*batch, tall, wide), x.dtype)
    padded[..., :rows, :columns] = x
    strips = padded.reshape(*batch, tall, wide // 16, 16)
    return np.ascontiguousarray(np.moveaxis(strips, -2, -3)).reshape(*batch, tall * wide)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axes", [(1, 2, 16, 16), (2, 3, 32, 16), (2, 16, 16, 32), (1, 5, 7, 16)])
def test_confusion_transpose(high_level: Program, axes: tuple[int, ...], dtype: Any) -> None:
    b, n, s, d = axes
    x = values(b * n * s * d, dtype).reshape(axes)
    by_s = x.transpose(0, 2, 1, 3)
    joined = np.ascontiguousarray(by_s).reshape(b, s, n * d)
    cases = {
        1: (fractal(x), by_s),
        2: (fractal(x), fractal(by_s)),
        3: (fractal(joined), fractal(x)),
        4: (fractal(joined), x),
        5: (fractal(x), joined),
        6: (fractal(x), fractal(joined)),
        7: (x.reshape(b * n, s * d), x.reshape(b * n, s * d).T),
    }
    for kind, (source, expected) in cases.items():
        numbers = [57, int(dtype == np.float16), *(axes if kind != 7 else (b * n, s * d, 1, 1)), kind]
        expected = np.ascontiguousarray(expected)
        (y,) = high_level(numbers, [source], [np.full_like(expected, 3)])
        np.testing.assert_array_equal(y, expected, err_msg=str(kind))


@pytest.mark.parametrize("n", [8, 77])
def test_tests_logic_and_bits(high_level: Program, n: int) -> None:
    x, y = values(n, np.float32), np.round(values(n, np.float32, seed=1) / 3)
    x[:5] = np.nan, np.inf, -np.inf, 0, -0.0
    x[5], y[5] = 1e-12, 4097  # y * y lies between two floats
    outputs = [np.zeros(n, bool) for _ in range(7)] + [np.zeros(n, np.float32) for _ in range(4)]
    outputs += [np.zeros(n, np.int32), np.zeros(1, np.int32)]
    found = high_level([62, 0, n], [x, y], outputs)
    tests = [
        np.isnan(x),
        np.isinf(x),
        np.isfinite(x),
        y == 0,
        (x != 0) & (y != 0),
        y != 0,
        (x != 0) != (y != 0),
    ]
    for got, expected in zip(found, tests, strict=False):
        np.testing.assert_array_equal(got, expected)
    where, fma, sine, cosine, bits, total = found[7:]
    np.testing.assert_array_equal(where, np.where(np.isfinite(x), y, np.float32(-1)))
    wide = y.astype(np.float64)
    finite = np.isfinite(x)
    close(fma[finite], (wide * wide + x)[finite])
    assert fma[5] == 4097**2 + 1
    close(sine, np.sin(wide))
    close(cosine, np.cos(wide))
    exclusive = x.view(np.int32) ^ y.view(np.int32)
    np.testing.assert_array_equal(bits, exclusive)
    assert total[0] == exclusive.sum(dtype=np.int32)
