"""group_norm_last against a float64 reference.

Tolerances: a mean is subtracted, so errors are relative to the largest element: 2e-6 of it, as of the other
normalisations; results of bfloat16 are rounded to it (2**-8) besides.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

BF16 = np.dtype(ml_dtypes.bfloat16)
#: Shapes with channels last, and groups: tails, one block and several, channels apart, one group.
CASES = [
    ((2, 5, 7, 6), 3), ((1, 3, 1), 1), ((3, 4, 5, 17), 17), ((2, 9, 9, 64), 1), ((1, 40, 41, 70), 7),
    ((2, 3, 4, 5, 33), 11), ((1, 2, 9000), 3), ((1, 700, 96), 32),
]  # fmt: skip


def reference(x: np.ndarray, groups: int, scale: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    parts = x.astype(np.float64).reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    mean, variance = parts.mean((1, 3), keepdims=True), parts.var((1, 3), keepdims=True)
    return ((parts - mean) / np.sqrt(variance + epsilon)).reshape(x.shape) * scale + bias


@each_isa
@pytest.mark.parametrize(("shape", "groups"), CASES)
def test_against_float64(isa: int, shape: tuple[int, ...], groups: int) -> None:
    rng = np.random.default_rng(5)
    x = (rng.standard_normal(shape) * 3 + 1).astype(np.float32)
    scale, bias = (rng.standard_normal(shape[-1]).astype(np.float32) for _ in range(2))
    for source in (np.dtype(np.float32), BF16):
        given = x.astype(source)
        want = reference(given, groups, scale, bias, 1e-5)
        most = max(1.0, float(np.abs(want).max()))
        for target in (np.dtype(np.float32), BF16):
            (got,) = call(
                "group_norm_last",
                [given, scale, bias],
                [(target, shape)],
                ints=[groups],
                floats=[1e-5],
                isa=isa,
            )
            rounding = 0 if target == np.float32 else 2.0**-8
            np.testing.assert_allclose(got.astype(np.float64), want, rtol=2e-6 + rounding, atol=2e-6 * most)


def test_bits_do_not_depend_on_threads() -> None:
    rng = np.random.default_rng(6)
    x, row = rng.standard_normal((2, 60, 61, 48)).astype(np.float32), np.ones(48, np.float32)
    results = [
        call("group_norm_last", [x, row, row], [(np.float32, x.shape)], ints=[4], floats=[1e-5], threads=n)[0]
        for n in (1, 2, 3)
    ]
    assert all((r.view(np.int32) == results[0].view(np.int32)).all() for r in results)


def test_nan_stays_in_its_group_and_nothing_is_written_of_nothing() -> None:
    x = np.ones((2, 4, 4, 6), np.float32)
    x[1, 2, 3, 4] = np.nan
    row = np.ones(6, np.float32)
    (y,) = call("group_norm_last", [x, row, row], [(np.float32, x.shape)], ints=[3], floats=[1e-5])
    assert np.isnan(y[1, ..., 4:]).all()
    np.testing.assert_array_equal(y[0], 1)
    np.testing.assert_array_equal(y[1, ..., :4], 1)
    empty = np.ones((2, 0, 6), np.float32)
    (y,) = call("group_norm_last", [empty, row, row], [(np.float32, empty.shape)], ints=[3], floats=[1e-5])
    assert y.shape == (2, 0, 6)
    with pytest.raises(KernelError, match="no multiple of the groups"):
        call("group_norm_last", [x, row, row], [(np.float32, x.shape)], ints=[4], floats=[1e-5])
