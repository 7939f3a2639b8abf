"""matmul_exact: bits are numpy's for integers, and float64's sums in the order of K at every ISA level."""

from __future__ import annotations

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

rng = np.random.default_rng(8)


@each_isa
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64, np.float64])
def test_against_numpy(isa: int, dtype: type) -> None:
    """float64 within 1e-15 of the sum of magnitudes, times the number of terms."""
    for left, right in [((1, 1), (1, 1)), ((5, 9), (9, 33)), ((3, 1, 6, 40), (2, 40, 70)), ((2, 0), (0, 3))]:
        a, b = ((rng.standard_normal(s) * 2**20).astype(dtype) for s in (left, right))
        want = a @ b
        for threads in (1, 3):
            (got,) = call("matmul_exact", [a, b], [(dtype, want.shape)], isa=isa, threads=threads)
            if dtype is np.float64:
                bound = left[-1] * 1e-15 * (np.abs(a) @ np.abs(b))
                assert (np.abs(got - want) <= bound).all()
            else:
                np.testing.assert_array_equal(got, want)


def test_nan_and_infinity_reach_their_row_alone() -> None:
    a, b = np.ones((6, 3)), np.ones((3, 40))
    a[1, 0], a[4, 2] = np.nan, np.inf
    (y,) = call("matmul_exact", [a, b], [(np.float64, (6, 40))])
    assert np.isnan(y[1]).all()
    assert np.isinf(y[4]).all()
    assert (y[[0, 2, 3, 5]] == 3).all()


@pytest.mark.parametrize(
    "shapes", [((2, 3), (4, 5), (2, 5)), ((3,), (3, 5), (1, 5)), ((3, 2, 3), (2, 3, 5), (3, 2, 5))]
)
def test_refuses_shapes_that_do_not_fit(shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b, y = shapes
    with pytest.raises(KernelError):
        call("matmul_exact", [np.zeros(a), np.zeros(b)], [(np.float64, y)])
