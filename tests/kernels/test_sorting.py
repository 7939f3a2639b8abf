"""Top-k, argmax and argmin: exact, against a stable sort by numpy. NaN counts as the largest."""

from __future__ import annotations

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

rng = np.random.default_rng(1)


def topk_reference(x: np.ndarray, axis: int, k: int, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    """A stable sort keeps the lower index of equal elements first."""
    if x.dtype in (np.float32, np.float64):
        keys = x.astype(np.float64)
        keys = np.where(np.isnan(keys), np.inf, np.where(np.isinf(keys), np.sign(keys) * 1e300, keys))
        order = np.argsort(-keys if largest else keys, axis, kind="stable")
    else:
        order = np.argsort(~x if largest else x, axis, kind="stable")
    indices = np.take(order, range(k), axis)
    return np.take_along_axis(x, indices, axis), indices


def check_topk(
    x: np.ndarray, axis: int, k: int, largest: bool, isa: int | None = None, threads: int = 2
) -> None:
    want, where = topk_reference(x, axis, k, largest)
    got, indices = call(
        "topk",
        [x],
        [(x.dtype, want.shape), (np.int64, want.shape)],
        [axis, k, int(largest)],
        (),
        isa,
        threads,
    )
    np.testing.assert_array_equal(indices, where)
    np.testing.assert_array_equal(got, want)


@each_isa
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("n", [1, 7, 100, 640, 1300, 5000])
def test_topk_sizes(isa: int, largest: bool, n: int) -> None:
    for k in {0, 1, min(n, 10), n // 3, n}:
        check_topk(rng.standard_normal((3, n)).astype(np.float32), 1, k, largest, isa)
        check_topk(rng.standard_normal((3, n)), 1, k, largest, isa)
        check_topk(rng.integers(-50, 50, (3, n)).astype(np.int32), 1, k, largest, isa)
        check_topk(rng.integers(-(2**62), 2**62, (2, n)), 1, k, largest, isa)


@pytest.mark.parametrize("largest", [True, False])
def test_topk_orders_and_ties(largest: bool) -> None:
    n = 4000
    ramp = np.arange(n, dtype=np.float32)
    rows = [ramp, ramp[::-1], np.zeros(n), ramp % 7, np.where(ramp % 2, 0.0, -0.0), np.repeat(ramp[::8], 8)]
    x = np.stack(rows).astype(np.float32)
    for k in (1, 5, 31, 125, 1000, n):
        check_topk(x, 1, k, largest)
        x[0, 7], x[1, 3], x[2, 5] = np.nan, np.inf, -np.inf
        check_topk(x.astype(np.float64), 1, k, largest)


@each_isa
@pytest.mark.parametrize("largest", [True, False])
def test_topk_ranks_a_few_candidates(isa: int, largest: bool) -> None:
    """Ties among the best, between lanes, vectors, groups and with the end of the line; -0 and 0; and lines
    whose best are all in one lane, where too many reach the first bound."""
    x = np.round(rng.standard_normal((6, 5003)) * 8).astype(np.float32) / 8
    x[1, 5000:] = 9 if largest else -9
    x[2] = np.where(rng.random(5003) < 0.002, -0.0, -1 if largest else 1)
    x[2, ::701] = 0.0
    x[3, ::16] = np.sort(np.abs(x[3, ::16])) + 10
    x[4, ::16] = -x[3, ::16]
    for k in (1, 3, 4, 8, 10, 16):
        check_topk(x, 1, k, largest, isa)


@each_isa
@pytest.mark.parametrize("largest", [True, False])
def test_topk_of_nan_and_infinities(isa: int, largest: bool) -> None:
    x = rng.standard_normal((8, 2100)).astype(np.float32)
    x[0] = np.nan
    x[1, ::3] = np.nan
    x[2, 5] = -np.nan
    x[3, 7], x[3, 1500] = np.inf, -np.inf
    x[4] = np.inf
    x[5] = -np.inf
    x[6, 2099] = np.nan
    x[7, :2095] = np.nan
    for k in (1, 4, 20, 1000):
        check_topk(x, 1, k, largest, isa)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_topk_of_any_axis_and_threads(axis: int) -> None:
    x = rng.integers(0, 20, (30, 40, 35)).astype(np.float32)
    for threads in (1, 2, 3):
        check_topk(x, axis, 6, True, threads=threads)


def test_topk_refuses() -> None:
    x = np.zeros((2, 5), np.float32)
    with pytest.raises(KernelError, match="topk: k is 6, the axis has 5 elements"):
        call("topk", [x], [(np.float32, (2, 6)), (np.int64, (2, 6))], [1, 6, 1])
    for shape, ints in [((2, 3), [1, 4, 1]), ((3, 2), [1, 3, 1]), ((2, 3), [2, 3, 1]), ((2, 3), [1, 3])]:
        with pytest.raises(KernelError, match="topk"):
            call("topk", [x], [(np.float32, shape), (np.int64, shape)], ints)
    with pytest.raises(KernelError, match="k is -1"):
        call("topk", [x], [(np.float32, (2, 0)), (np.int64, (2, 0))], [1, -1, 1])


@each_isa
@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_arg_reductions(isa: int, op: str, dtype: type) -> None:
    for shape in [(1,), (5, 40), (3, 100, 33), (4, 1, 3), (2, 515)]:
        x = rng.integers(-9, 9, shape).astype(dtype)
        for axis in range(len(shape)):
            for last in (0, 1):
                source = np.flip(x, axis) if last else x
                want = getattr(np, op)(source, axis, keepdims=True)
                want = x.shape[axis] - 1 - want if last else want
                for out in (want, want.squeeze(axis)):
                    (got,) = call(op, [x], [(np.int64, out.shape)], [axis, last], isa=isa)
                    np.testing.assert_array_equal(got, out)


@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_arg_reductions_of_nan_and_infinities(op: str) -> None:
    x = rng.standard_normal((6, 70)).astype(np.float32)
    x[0, [3, 60]] = np.nan
    x[1] = np.inf
    x[2] = -np.inf
    x[3, 69] = np.nan
    x[4, 20] = np.inf if op == "argmax" else -np.inf
    x[5] = np.where(np.arange(70) % 2, 0.0, -0.0)
    for last in (0, 1):
        want = 69 - getattr(np, op)(x[:, ::-1], 1) if last else getattr(np, op)(x, 1)
        for data, axis in ((x, 1), (x.T.copy(), 0)):
            (got,) = call(op, [data], [(np.int64, (6,))], [axis, last])
            np.testing.assert_array_equal(got, want)


def test_arg_reductions_refuse_an_empty_axis() -> None:
    with pytest.raises(KernelError, match="the axis is empty"):
        call("argmax", [np.zeros((3, 0), np.float32)], [(np.int64, (3,))], [1, 0])
    (got,) = call("argmax", [np.zeros((0, 3), np.float32)], [(np.int64, (0,))], [1, 0])
    assert got.shape == (0,)
