"""Single nodes through converter and runtime, with fixed and with free dims."""

from __future__ import annotations

import numpy as np
import pytest
from single_node import run_node

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((3, 4, 5)).astype(np.float32)


@pytest.mark.parametrize("symbolic", [False, True])
def test_nodes(symbolic: bool) -> None:
    run_node("Softmax", [X], {"axis": -1}, symbolic=symbolic)
    run_node("Transpose", [X], {"perm": [2, 0, 1]}, symbolic=symbolic)
    run_node("Concat", [X, X + 1], {"axis": 1}, symbolic=symbolic)
    run_node("Reshape", [X, np.array([0, -1])], known=[1], symbolic=symbolic)
    run_node("Shape", [X], symbolic=symbolic)
    run_node("Size", [X], symbolic=symbolic)
    run_node("Gather", [X, np.array([2, 0])], {"axis": 1}, symbolic=symbolic)
    run_node("Sigmoid", [X], symbolic=symbolic)


@pytest.mark.parametrize("op", ["Sum", "Mean", "Max", "Min"])
def test_more_inputs_than_a_program_takes(op: str) -> None:
    shapes = [(4, 5), (5,), (4, 1)]
    many = [RANDOM.standard_normal(shapes[k % 3]).astype(np.float32) for k in range(47)]
    run_node(op, many, rtol=1e-4, atol=1e-5)


def test_more_parts_than_a_concat_takes() -> None:
    parts = [np.full((2, k % 3, 2), k, np.float32) for k in range(431)]
    run_node("Concat", parts, {"axis": 1})


def test_a_custom_operator() -> None:
    (y,) = run_node("Swish", [X], {"beta": 2.0}, domain="my")
    wide = X.astype(np.float64)
    np.testing.assert_allclose(y, wide / (1 + np.exp(-2 * wide)), rtol=3e-7, atol=1e-12)


def test_a_difference_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError):
        run_node("Softmax", [X * 3], {"axis": -1}, rtol=0, atol=-1)


def test_the_host_counts_as_a_failure() -> None:
    with pytest.raises(pytest.fail.Exception, match="not native"):
        run_node("NonZero", [X])


def test_whether_an_axis_is_repeated_may_be_known_at_run_time_alone() -> None:
    run_node("Expand", [X[:, :1], np.array([2, 1, 4, 1])], known=[1], symbolic=True)
    run_node("Expand", [X, np.array([3, 1, 1])], known=[1], symbolic=True)
