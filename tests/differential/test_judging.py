"""The comparisons that the other tests rest on find what they should."""

from __future__ import annotations

import interpreted
import numpy as np
import pytest
from agreement import Results, Tally, allowed, check_tally, compare, judge, ulps_between
from programs import Array, Operator, drawn

from ascend_ep.opbuild.proof.arithmetic import FLOAT32
from ascend_ep.opbuild.proof.execution import SAME_ULPS
from ascend_ep.opdef import dtypes


@pytest.fixture(scope="module")
def example() -> tuple[Operator, list[Array]]:
    """An operator of which the first output is float32 and has a narrow bound everywhere."""
    for operator in drawn(100):
        inputs = operator.inputs(0)
        if operator.opdef.outputs[0].types == (dtypes.FLOAT32,) and set(operator.types) == {dtypes.FLOAT32}:
            right = allowed(operator, inputs, FLOAT32)
            width, size = right.high[0] - right.low[0], np.abs(right.low[0])
            if width.size > 50 and np.all(size > 1e-2) and np.all(width < 1e-3 * size):
                return operator, interpreted.run(operator, inputs)
    raise AssertionError("none is like this")


def failures(example: tuple[Operator, list[Array]], wrong: Array) -> tuple[list[str], list[str]]:
    """What is said of the first output when it is `wrong`: against the bound, and against the right one."""
    operator, right = example
    bounds, apart = Tally(), Tally()
    results = [wrong, *right[1:]]
    judge("planted", operator, results, allowed(operator, operator.inputs(0), FLOAT32), bounds)
    compare("planted", operator, right, results, SAME_ULPS, apart)
    return bounds.failures, apart.failures


def test_what_is_right_passes(example: tuple[Operator, list[Array]]) -> None:
    assert failures(example, example[1][0]) == ([], [])


def test_one_wrong_element_is_found(example: tuple[Operator, list[Array]]) -> None:
    for value in (np.nan, np.inf, 1.01 * example[1][0].flat[17]):
        wrong = example[1][0].copy()
        wrong.flat[17] = value
        bounds, apart = failures(example, wrong)
        assert len(bounds) == len(apart) == 1, value
        assert "1 of " in apart[0]


def test_three_units_are_too_many(example: tuple[Operator, list[Array]]) -> None:
    wrong = example[1][0].copy()
    wrong.flat[3] += 3 * np.spacing(wrong.flat[3])
    assert failures(example, wrong)[1]


def test_another_shape_is_found(example: tuple[Operator, list[Array]]) -> None:
    bounds, apart = failures(example, example[1][0].reshape(-1, 1))
    assert bounds
    assert apart


def test_units_in_the_last_place() -> None:
    a = np.array([1.0, np.nan, np.inf, 0.0, 1e-45, 1.0, np.inf], np.float32)
    b = np.array([1.0 + 2.0**-22, np.nan, np.inf, -0.0, 0.0, np.nan, 3e38], np.float32)
    np.testing.assert_array_equal(ulps_between(a, b, dtypes.FLOAT32), [2, 0, 0, 0, 1, np.inf, np.inf])
    assert ulps_between(np.array([3]), np.array([4]), dtypes.INT64)[0] > 1e6


@pytest.mark.parametrize(
    ("unbounded", "vague", "finite"), [(0.1, 0, 1), (0, 0.25, 1), (0, 0, 0.7), (0.04, 0.1, 0.9)]
)
def test_bounds_that_say_too_little_are_found(unbounded: float, vague: float, finite: float) -> None:
    """Whether a share is too large doesn't depend on which operator of a random set has the most results."""
    tally = Tally()
    for i in range(200):
        n = 400 + i % 7
        tally.of[f"Random{i}"] = Results(n, round(n * unbounded), round(n * vague), round(n * finite))
    tally.of["Large"] = Results(20_000, 20_000, 0, 0)
    if unbounded == 0.04:
        check_tally(tally)
    else:
        with pytest.raises(AssertionError):
            check_tally(tally)
