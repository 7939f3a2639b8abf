"""Softmax, normalisations and reductions of the library against numpy's float64, each rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_launch import Program

Array = np.ndarray[Any, Any]
DTYPES = [np.float32, np.float16]
#: Rows, columns as they lie (whole blocks of either type), columns that count.
SHAPES = [(1, 16, 16), (5, 32, 27), (3, 176, 163), (8, 64, 64)]


def values(m: int, k: int, dtype: Any, seed: int = 0) -> Array:
    return np.random.default_rng(seed + m * k).normal(0, 2, (m, k)).astype(dtype)


def number(dtype: Any) -> int:
    return int(dtype == np.float16)


def blocks(m: int, dtype: Any) -> Array:
    """A tensor of maxima or sums: a block of 32 bytes for each row."""
    return np.zeros((m, 32 // np.dtype(dtype).itemsize), dtype)


def close(found: Array, expected: Array) -> None:
    """Within one unit in the last place: what rounding twice can differ by."""
    expected = expected.astype(np.float64)
    unit = np.spacing(np.abs(expected).astype(found.dtype)).astype(np.float64)
    assert (np.abs(found.astype(np.float64) - expected) <= unit).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "k", "used"), SHAPES)
def test_softmax(high_level: Program, m: int, k: int, used: int, dtype: Any) -> None:
    x = values(m, k, dtype)
    outputs = [np.full_like(x, -1), blocks(m, dtype), blocks(m, dtype)]
    y, sums, maxima = high_level([0, number(dtype), m, k, used], [x], outputs)
    row = x[:, :used].astype(np.float64)
    exponentials = np.exp(row - row.max(1, keepdims=True))
    total = exponentials.sum(1, keepdims=True)
    close(y[:, :used], exponentials / total)
    close(sums, np.broadcast_to(total, sums.shape))
    np.testing.assert_array_equal(maxima, np.broadcast_to(row.max(1, keepdims=True), maxima.shape))
    assert not y[:, used:].any()
    again, _, _ = high_level([1, number(dtype), m, k, used], [x], outputs)
    close(again[:, :used], np.log10(exponentials / total))


@pytest.mark.parametrize("dtype", DTYPES)
def test_simple_softmax_takes_sums_and_maxima(high_level: Program, dtype: Any) -> None:
    x, maxima, sums = values(4, 48, dtype), blocks(4, dtype) + 1, blocks(4, dtype) + 3
    (y,) = high_level([2, number(dtype), 4, 48, 48], [x, sums, maxima], [np.zeros_like(x)])
    close(y, np.exp(x.astype(np.float64) - 1) / 3)


def test_flash_softmax_in_two_steps_is_softmax(high_level: Program) -> None:
    m, k = 6, 40
    left, right = values(m, k, np.float32), values(m, k, np.float32, seed=1)
    outputs = [np.zeros_like(left), np.zeros_like(left), *(blocks(m, np.float32) for _ in range(3))]
    first, second, sums, _, factors = high_level([3, 0, m, k, k], [left, right], outputs)
    whole = np.concatenate([left, right], 1).astype(np.float64)
    expected = np.exp(whole - whole.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    found = np.concatenate([first * factors[:, :1], second], 1) / sums[:, :1]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_gradient(high_level: Program, dtype: Any) -> None:
    grad, y = values(5, 32, dtype), values(5, 32, dtype, seed=2)
    (found,) = high_level([4, number(dtype), 5, 32, 32], [grad, y], [np.zeros_like(y)])
    g, v = grad.astype(np.float64), y.astype(np.float64)
    close(found, (g - (g * v).sum(1, keepdims=True)) * v)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "k", "used"), SHAPES)
def test_layer_norm_and_rms_norm(high_level: Program, m: int, k: int, used: int, dtype: Any) -> None:
    x, gamma, beta = values(m, k, dtype), values(1, k, dtype, 1), values(1, k, dtype, 2)
    outputs = [np.zeros_like(x), np.zeros(m, dtype), np.zeros(m, dtype)]
    y, mean, variance = high_level([30, number(dtype), m, k, used], [x, gamma, beta], outputs)
    row, g, b = (a[:, :used].astype(np.float64) for a in (x, gamma, beta))
    epsilon = float(np.array(1e-3, np.float32).astype(dtype))
    expected = (row - row.mean(1, keepdims=True)) / np.sqrt(row.var(1, keepdims=True) + epsilon) * g + b
    np.testing.assert_allclose(y[:, :used], expected, rtol=1e-6 if dtype == np.float32 else 1e-3, atol=1e-6)
    close(mean, row.mean(1))
    close(variance, row.var(1))
    (y,) = high_level([31, number(dtype), m, k, used], [x, gamma], [np.zeros_like(x)])
    close(y[:, :used], row / np.sqrt((row**2).mean(1, keepdims=True) + epsilon) * g)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "k", "used"), SHAPES)
def test_layer_norm_gradients(high_level: Program, m: int, k: int, used: int, dtype: Any) -> None:
    dy, x, gamma = values(m, k, dtype), values(m, k, dtype, 1), values(1, k, dtype, 2)
    d, row, g = (a[:, :used].astype(np.float64) for a in (dy, x, gamma))
    mean, variance = row.mean(1).astype(dtype), row.var(1).astype(dtype)
    outputs = [np.zeros_like(x), np.zeros_like(x)]
    dx, normalised = high_level([33, number(dtype), m, k, used], [dy, x, variance, mean, gamma], outputs)
    epsilon = float(np.array(1e-3, np.float32).astype(dtype))
    rstd = 1 / np.sqrt(variance[:, None].astype(np.float64) + epsilon)
    hat = (row - mean[:, None].astype(np.float64)) * rstd
    expected = rstd * (d * g - (d * g).mean(1, keepdims=True) - hat * (d * g * hat).mean(1, keepdims=True))
    close(normalised[:, :used], hat)
    np.testing.assert_allclose(dx[:, :used], expected, rtol=1e-5 if dtype == np.float32 else 2e-3, atol=1e-5)
    outputs = [np.zeros(k, dtype), np.zeros(k, dtype)]
    dgamma, dbeta = high_level([34, number(dtype), m, k, used], [normalised, dy], outputs)
    close(dgamma, (dy.astype(np.float64) * normalised.astype(np.float64)).sum(0))
    close(dbeta, dy.astype(np.float64).sum(0))


def test_welford_steps_and_normalize(high_level: Program) -> None:
    m, k = 9, 24
    x, gamma, beta = values(m, k, np.float32), values(1, 8, np.float32, 1), values(1, 8, np.float32, 2)
    outputs = [np.zeros(k, np.float32) for _ in range(4)]
    y, mean, variance, rstd = high_level([32, 0, m, k, k], [x, gamma, beta], outputs)
    np.testing.assert_allclose(mean, x.astype(np.float64).mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, x.astype(np.float64).var(0), rtol=1e-5)
    np.testing.assert_allclose(rstd, 1 / np.sqrt(variance + 1e-3), rtol=1e-6)
    np.testing.assert_allclose(y, (x[0] - mean) * rstd * gamma[0, 0] + beta[0, 0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "k", "used"), [(1, 16, 5), (9, 32, 29), (16, 48, 48)])
def test_reductions(high_level: Program, m: int, k: int, used: int, dtype: Any) -> None:
    x = values(m, k, dtype) / dtype(2)  # so that products of rows are halves
    full, part = x.astype(np.float64), x[:, :used].astype(np.float64)
    kind = number(dtype)
    for case, expected in ((40, part.sum(1)), (41, part.mean(1))):
        (y,) = high_level([case, kind, m, k, used], [x], [np.zeros(m, dtype)])
        close(y, expected)
    padded = -(-used // (32 // np.dtype(dtype).itemsize)) * (32 // np.dtype(dtype).itemsize)
    if padded == k:
        for case, expected in ((42, part.sum(1)), (44, part.mean(1)), (43, part.max(0)), (47, part.prod(0))):
            (y,) = high_level([case, kind, m, k, used], [x], [np.zeros(len(expected), dtype)])
            close(y, expected)
    y, last = high_level([45, kind, m, k, used], [x], [np.zeros_like(x), np.zeros(k, dtype)])
    close(y, full.cumsum(1))
    y, last = high_level([46, kind, m, k, used], [x], [np.zeros_like(x), np.zeros(k, dtype)])
    close(y, full.cumsum(0))
    np.testing.assert_array_equal(last, y[-1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("b", "sh"), [(1, 16), (9, 32), (5, 176)])
def test_batch_norm(high_level: Program, b: int, sh: int, dtype: Any) -> None:
    x, gamma, beta = values(b, sh, dtype), values(1, b, dtype, 1), values(1, b, dtype, 2)
    outputs = [np.zeros_like(x), np.zeros(sh, dtype), np.zeros(sh, dtype)]
    y, mean, variance = high_level([35, number(dtype), b, sh, sh], [x, gamma, beta], outputs)
    column = x.astype(np.float64)
    close(mean, column.mean(0))
    close(variance, column.var(0))
    epsilon = float(np.array(1e-3, np.float32).astype(dtype))
    hat = (column - column.mean(0)) / np.sqrt(column.var(0) + epsilon)
    expected = hat * gamma.astype(np.float64).T + beta.astype(np.float64).T
    np.testing.assert_allclose(y, expected, rtol=1e-6 if dtype == np.float32 else 1e-3, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("n", "c", "groups", "hw"), [(1, 4, 2, 16), (3, 6, 3, 13), (2, 8, 8, 35), (2, 5, 1, 7)]
)
def test_group_norm(high_level: Program, n: int, c: int, groups: int, hw: int, dtype: Any) -> None:
    apart = -(-hw // (32 // np.dtype(dtype).itemsize)) * (32 // np.dtype(dtype).itemsize)
    x = np.zeros((n, c, apart), dtype)
    x[:, :, :hw] = values(n * c, hw, dtype).reshape(n, c, hw)
    gamma, beta = values(1, c, dtype, 1), values(1, c, dtype, 2)
    outputs = [np.full_like(x, 9), np.zeros((n, groups), dtype), np.zeros((n, groups), dtype)]
    y, mean, variance = high_level([36, number(dtype), n, apart, hw, c, groups], [x, gamma, beta], outputs)
    grouped = x[:, :, :hw].astype(np.float64).reshape(n, groups, -1)
    close(mean, grouped.mean(2))
    close(variance, grouped.var(2))
    epsilon = float(np.array(1e-3, np.float32).astype(dtype))
    hat = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + epsilon)
    expected = hat.reshape(n, c, hw) * gamma.reshape(1, c, 1) + beta.reshape(1, c, 1).astype(np.float64)
    np.testing.assert_allclose(y[:, :, :hw], expected, rtol=1e-5 if dtype == np.float32 else 2e-3, atol=1e-5)
    assert not y[:, :, hw:].any()


@pytest.mark.parametrize(("m", "k", "used"), [(1, 16, 16), (5, 32, 32), (7, 24, 5), (2, 64, 63)])
def test_welford_of_a_whole_row(high_level: Program, m: int, k: int, used: int) -> None:
    x = values(m, k, np.float32)
    counted = np.concatenate([x[:-1].ravel(), x[-1, :used]]).astype(np.float64)
    outputs = [
        np.zeros(k, np.float32),
        np.zeros(k, np.float32),
        np.zeros(1, np.float32),
        np.zeros(1, np.float32),
    ]
    _, _, mean, variance = high_level([37, 0, m, k, used], [x], outputs)
    np.testing.assert_allclose(mean, counted.mean(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, counted.var(), rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "k", "used"), SHAPES)
def test_layer_norm_that_gives_the_inverse_deviation(
    high_level: Program, m: int, k: int, used: int, dtype: Any
) -> None:
    x, gamma, beta = values(m, k, dtype), values(1, k, dtype, 1), values(1, k, dtype, 2)
    outputs = [np.zeros_like(x), np.zeros(m, np.float32), np.zeros(m, np.float32)]
    y, mean, rstd = high_level([38, number(dtype), m, k, used], [x, gamma, beta], outputs)
    row, g, b = (a[:, :used].astype(np.float64) for a in (x, gamma, beta))
    inverse = 1 / np.sqrt(row.var(1, keepdims=True) + float(np.float32(1e-3)))
    close(mean, row.mean(1))
    close(rstd, inverse[:, 0])
    expected = (row - row.mean(1, keepdims=True)) * inverse * g + b
    np.testing.assert_allclose(y[:, :used], expected, rtol=1e-6 if dtype == np.float32 else 1e-3, atol=1e-6)
