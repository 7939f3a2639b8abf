"""Functions on registers (RegTensor, MaskReg, __VEC_SCOPE__) against numpy, and what of them is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_launch import KernelFault, Program


@pytest.fixture(scope="module")
def registers(launched: Callable[[str], Program]) -> Program:
    return launched("registers")


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("n", [1, 64, 77, 500])
def test_steps_and_a_tail(registers: Program, n: int, dtype: Any) -> None:
    x = np.random.default_rng(n).normal(0, 3, n).astype(dtype)
    (y,) = registers([0, int(dtype == np.float16), n, 0, 1], [x], [np.zeros_like(x)])
    np.testing.assert_array_equal(y, np.maximum(x + dtype(1.5), 0))


def test_casts_reductions_and_choices(registers: Program) -> None:
    x = np.random.default_rng(5).integers(-20, 20, 128).astype(np.float16)
    y, packed = registers([1], [x], [np.zeros(192, np.float32), np.zeros(64, np.float16)])
    even, odd = x[::2].astype(np.float32), x[1::2].astype(np.float32)
    assert y[0] == x.astype(np.float64).mean()
    assert y[8] == x[:64].max()
    assert y[8:10].view(np.int32)[1] == x[:64].argmax()
    np.testing.assert_array_equal(y[64:128], np.where(even > 0, odd, even))
    np.testing.assert_array_equal(y[128:], np.full(64, y[64]))
    np.testing.assert_array_equal(packed, (even * even).astype(np.float16))


def test_what_was_not_stored_and_a_missing_wait_are_named(registers: Program) -> None:
    x = np.ones(128, np.float32)
    with pytest.raises(KernelFault, match="ErrorRead2"):
        registers([0, 0, 128, 1, 1], [x], [np.zeros_like(x)])
    with pytest.raises(KernelFault, match="ErrorSync"):
        registers([0, 0, 128, 0, 0], [x], [np.zeros_like(x)])


def test_values_that_are_too_large(registers: Program) -> None:
    (found,) = registers([2, 0], [], [np.zeros(128, np.int16)])
    whole, halves = found[:64:16], found[64::16].view(np.float16)
    np.testing.assert_array_equal(whole, [32767, 32767, 100000 - 65536 * 2, -7])
    np.testing.assert_array_equal(halves[:2], [-65504, np.inf])
    with pytest.raises(KernelFault, match="100000 is too large for the integer"):
        registers([2, 1], [], [np.zeros(128, np.int16)])
