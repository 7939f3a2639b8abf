"""The cube's instructions against numpy: products through L1, L0A, L0B and L0C, and unrolled feature maps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_launch import BFLOAT16, COMPILER, CUBE, KernelFault, Program

KERNELS = Path(__file__).with_name("cube_instructions.cpp")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")


@pytest.fixture(scope="module")
def cube(launched: Callable[[str], Program]) -> Program:
    return launched("cube_instructions")


def operands(m: int, n: int, k: int, dtype: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Small integers, whose products every type holds exactly."""
    draw = np.random.default_rng(m * 10007 + n * 101 + k)
    return draw.integers(-4, 5, (m, k)).astype(dtype), draw.integers(-4, 5, (k, n)).astype(dtype)


SHAPES = [(32, 32, 32), (17, 33, 5), (1, 16, 48), (100, 64, 130), (16, 1, 1), (30, 47, 50)]


@pytest.mark.parametrize(("case", "dtype"), [(0, np.float16), (1, BFLOAT16), (2, np.float32), (3, np.int8)])
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_product(cube: Program, case: int, dtype: Any, m: int, n: int, k: int) -> None:
    a, b = operands(m, n, k, dtype)
    sums = np.int32 if dtype == np.int8 else np.float32
    (c,) = cube([case, m, n, k, 0], [a, b], [np.full((m, n), -1, sums)], kind=CUBE)
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64))


def test_second_product_adds_to_the_first(cube: Program) -> None:
    a, b = operands(20, 30, 40, np.float16)
    (c,) = cube([0, 20, 30, 40, 0, 1], [a, b], [np.zeros((20, 30), np.float32)], kind=CUBE)
    np.testing.assert_array_equal(c, 2 * (a.astype(np.float64) @ b.astype(np.float64)))


@pytest.mark.parametrize(("case", "kind"), [(11, np.float32), (12, np.float16)])
@pytest.mark.parametrize(("m", "n", "k"), [(32, 48, 64), (16, 16, 16), (80, 32, 48)])
def test_product_in_the_names_of_the_compiler(
    cube: Program, case: int, kind: Any, m: int, n: int, k: int
) -> None:
    a, b = operands(m, n, k, np.float16)
    (c,) = cube([case, m, n, k], [a, b], [np.full((m, n), -1, kind)], kind=CUBE)
    np.testing.assert_array_equal(c, 2 * (a.astype(np.float64) @ b.astype(np.float64)))


@pytest.mark.parametrize("times", [1, 3])
def test_sums_of_half(cube: Program, times: int) -> None:
    """Each product is rounded once."""
    draw = np.random.default_rng(0)
    a, b = (draw.normal(0, 3, (16, 16)).astype(np.float16) for _ in range(2))
    (c,) = cube([10, times], [a, b], [np.zeros((16, 16), np.float16)], kind=CUBE)
    product, expected = a.astype(np.float32) @ b.astype(np.float32), np.zeros((16, 16), np.float16)
    for _ in range(times):
        expected = (expected.astype(np.float32) + product).astype(np.float16)
    np.testing.assert_allclose(c.astype(np.float32), expected.astype(np.float32), rtol=2e-3, atol=2e-2)
    assert (c == expected).mean() > 0.95


@pytest.mark.parametrize(("m", "n", "k"), [(32, 32, 32), (21, 45, 19)])
def test_bias_and_relu_and_half(cube: Program, m: int, n: int, k: int) -> None:
    a, b = operands(m, n, k, np.float16)
    bias = np.zeros(-(-n // 32) * 32, np.float32)
    bias[:n] = np.arange(n) - n / 2
    (c,) = cube([4, m, n, k, 1], [a, b, bias], [np.zeros((m, n), np.float16)], kind=CUBE)
    expected = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias[:n], 0)
    np.testing.assert_array_equal(c, expected.astype(np.float16))


def test_sums_come_out_as_bfloat16(cube: Program) -> None:
    a, b = operands(19, 40, 300, np.float16)
    (c,) = cube([5, 19, 40, 300, 0], [a, b], [np.zeros((19, 40), BFLOAT16)], kind=CUBE)
    np.testing.assert_array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(BFLOAT16))


@pytest.mark.parametrize("form", [0, 2])
def test_dequantisation_scales_integer_sums(cube: Program, form: int) -> None:
    """By Fixpipe, and by DataCopy out of L0C."""
    a, b = operands(33, 37, 70, np.int8)
    bias = np.zeros(64, np.int32)
    bias[:37] = np.arange(37)
    (c,) = cube([6, 33, 37, 70, form], [a, b, bias], [np.zeros((33, 37), np.float16)], kind=CUBE)
    expected = 0.5 * (a.astype(np.int32) @ b.astype(np.int32) + bias[:37])
    np.testing.assert_array_equal(c, expected.astype(np.float16))


def test_requantisation_rounds_to_even_and_saturates(cube: Program) -> None:
    a, b = operands(40, 50, 64, np.int8)
    a[0], b[:, 0] = 100, 100
    (c,) = cube([7, 40, 50, 64, 0], [a, b], [np.zeros((40, 50), np.int8)], kind=CUBE)
    sums = a.astype(np.int32) @ b.astype(np.int32)
    np.testing.assert_array_equal(c, np.clip(np.rint(sums * 0.5), -128, 127).astype(np.int8))
    assert c.max() == 127


def test_a_missing_wait_between_loads_and_product_is_named(cube: Program) -> None:
    a, b = operands(32, 32, 32, np.float16)
    with pytest.raises(KernelFault, match=r"ErrorSync2.*Mmad.*MTE1_M") as raised:
        cube([8, 32, 32, 32, 0], [a, b], [np.zeros((32, 32), np.float32)], kind=CUBE)
    assert "Mmad(c, la, lb, p);" in KERNELS.read_text().splitlines()[raised.value.line - 1]


@pytest.mark.parametrize(
    ("h", "w", "channels", "filter_h", "filter_w", "stride", "pad", "dilation"),
    [
        (5, 7, 16, 1, 1, 1, 0, 1),
        (8, 8, 32, 3, 3, 1, 1, 1),
        (9, 6, 16, 2, 3, 2, 1, 1),
        (10, 11, 16, 3, 2, 1, 2, 2),
    ],
)
def test_feature_maps_unroll(
    cube: Program,
    h: int,
    w: int,
    channels: int,
    filter_h: int,
    filter_w: int,
    stride: int,
    pad: int,
    dilation: int,
) -> None:
    values = np.random.default_rng(h * w).integers(-9, 10, (channels // 16, h, w, 16)).astype(np.float16)
    out_h = (h + 2 * pad - (filter_h - 1) * dilation - 1) // stride + 1
    out_w = (w + 2 * pad - (filter_w - 1) * dilation - 1) // stride + 1
    m, k = out_h * out_w, channels * filter_h * filter_w
    padded = np.pad(values, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    expected = np.zeros((-(-m // 16) * 16, k), np.float32)
    for row in range(m):
        y, x = row // out_w * stride, row % out_w * stride
        window = padded[:, y : y + filter_h * dilation : dilation, x : x + filter_w * dilation : dilation]
        expected[row] = window.reshape(-1)
    numbers = [9, h, w, channels, filter_h, filter_w, stride, pad, dilation, m, k]
    (c,) = cube(numbers, [values, np.eye(16, dtype=np.float16)], [np.zeros_like(expected)], kind=CUBE)
    np.testing.assert_array_equal(c, expected)
