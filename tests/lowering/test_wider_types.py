"""Kernels on element types they have no row for: computed wider, rounded once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from single_node import run_node

RANDOM = np.random.default_rng(6)
X = RANDOM.standard_normal((3, 4, 6)).astype(np.float32)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "ReduceMean", "ReduceL2", "LpNormalization"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_rounded_once(op: str, dtype: type) -> None:
    """The result is that of float32, rounded: no step between is."""
    narrow = X.astype(dtype)
    (wanted,) = run_node(op, [narrow.astype(np.float32)], opset=18)
    (y,) = run_node(op, [narrow], opset=18, rtol=0.02, atol=0.02)
    np.testing.assert_array_equal(y, wanted.astype(dtype))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.bool_])
def test_narrow_integers(dtype: type) -> None:
    x = RANDOM.integers(0, 2, (3, 40)) if dtype is np.bool_ else RANDOM.integers(0, 100, (3, 40))
    x = x.astype(dtype)
    run_node("ReduceMax", [x, np.array([1])], known=[1], opset=20)
    if dtype in (np.int8, np.uint8):
        run_node("ArgMin", [x], {"axis": 1})


def test_sums_wrap_in_the_narrow_type() -> None:
    x = np.full((2, 300), 3, np.uint32) * np.uint32(2**30)
    (y,) = run_node("ReduceSum", [x], {"keepdims": 0})
    np.testing.assert_array_equal(y, x.sum(1, dtype=np.uint32))
