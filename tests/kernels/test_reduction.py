"""Reductions over any axes against float64, or exact for integers.

Tolerance: blocks of 1024 in lanes, then the blocks: 2e-6 of the sum of magnitudes, which bounds the error
of any order of at most 40 roundings in a row.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

rng = np.random.default_rng(2)
OPS = ["sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square", "log_sum"]


def reference(op: str, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """float64 for float32; the type's own arithmetic for integers."""
    if x.dtype == np.float32:
        x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        match op:
            case "sum":
                return x.sum(axes, keepdims=True, dtype=x.dtype)
            case "mean":
                count = np.prod([x.shape[a] for a in axes], dtype=int)
                total = x.sum(axes, keepdims=True, dtype=x.dtype)
                return total / count if x.dtype == np.float64 else np.trunc(total / count).astype(x.dtype)
            case "max" | "min":
                limits = np.finfo(np.float32) if x.dtype == np.float64 else np.iinfo(x.dtype)
                worst = limits.min if op == "max" else limits.max
                if x.dtype == np.float64:
                    worst = np.inf * np.sign(worst)
                return getattr(x, op)(axes, keepdims=True, initial=worst)
            case "prod":
                return x.prod(axes, keepdims=True, dtype=x.dtype)
            case "l1":
                return np.abs(x).sum(axes, keepdims=True, dtype=x.dtype)
            case "l2":
                return np.sqrt((x * x).sum(axes, keepdims=True))
            case "sum_square":
                return (x * x).sum(axes, keepdims=True, dtype=x.dtype)
            case _:
                return np.log(x.sum(axes, keepdims=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_axes_as_an_operand(dtype: type) -> None:
    """The bits are those of the same axes as arguments."""
    x = (rng.standard_normal((4, 3, 5, 37)) * 9).astype(dtype)
    for axes in subsets(4):
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        (want,) = call("reduce", [x], [(dtype, shape)], ints=[0, *axes])
        given = np.array([a - 4 * (a % 2) for a in reversed(axes)], np.int64)
        (got,) = call("reduce", [x, given], [(dtype, shape)], ints=[0, 1])
        np.testing.assert_array_equal(got, want)


def subsets(rank: int) -> list[tuple[int, ...]]:
    return [c for n in range(rank + 1) for c in combinations(range(rank), n)]


@each_isa
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    "shape", [(5000,), (3, 40), (4, 3, 5, 37), (2, 1, 33, 2), (1500, 3), (1100, 300), (2, 3, 0)]
)
def test_float_reductions_of_all_axes(isa: int, op: str, shape: tuple[int, ...]) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    x = np.abs(x) if op == "log_sum" else 1 + x * np.float32(0.01) if op == "prod" else x
    for axes in subsets(len(shape)):
        want = reference(op, x, axes)
        tolerance = 2e-6 * np.abs(x).astype(np.float64).sum(axes, keepdims=True)
        if op in ("mean", "l2", "log_sum"):
            tolerance = 3e-6 * np.maximum(1, np.abs(want))
        elif op in ("prod", "sum_square"):
            tolerance = 1e-4 * np.abs(want) if op == "prod" else 2e-6 * want
        for out in (want, want.squeeze(axes)):
            (got,) = call("reduce", [x], [(np.float32, out.shape)], [OPS.index(op), *axes], isa=isa)
            with np.errstate(invalid="ignore"):
                off = np.abs(got.reshape(want.shape) - want)
            assert ((off <= tolerance) | (got.reshape(want.shape) == want) | np.isnan(want)).all()
            np.testing.assert_array_equal(np.isnan(got), np.isnan(out))


@each_isa
@pytest.mark.parametrize("op", ["sum", "mean", "l1", "l2", "sum_square"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((3, 4000), (1,)),
        ((4000, 3), (0,)),
        ((2, 999, 40), (1,)),
        ((700, 129), (0,)),
        ((40, 3, 90, 2), (0, 2)),
    ],
)
def test_sums_of_equal_elements(isa: int, op: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Each rounding goes the same way: the error is a sum's depth, which random elements hide. A model that
    takes E[x^2] - E[x]^2 of a constant row sees it all. Allowed: 32 roundings in a part, 32 parts, blocks."""
    elements = [1 if a in axes else n for a, n in enumerate(shape)]
    x = np.broadcast_to(rng.uniform(0.5, 2, elements).astype(np.float32), shape).copy()
    want = reference(op, x, axes)
    (got,) = call("reduce", [x], [(np.float32, want.shape)], [OPS.index(op), *axes], isa=isa)
    depth = 32 + 32 + 8 + (shape[0] if len(axes) > 1 else 4)
    assert (np.abs(got - want) <= depth * 2.0**-24 * want).all()


@each_isa
@pytest.mark.parametrize("op", ["sum", "mean", "max", "min", "prod", "l1", "sum_square"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integer_reductions(isa: int, op: str, dtype: type) -> None:
    for shape in [(3000,), (3, 40), (4, 3, 5, 17)]:
        x = rng.integers(-1000, 1000, shape).astype(dtype)
        for axes in subsets(len(shape)):
            want = reference(op, x, axes)
            (got,) = call("reduce", [x], [(dtype, want.shape)], [OPS.index(op), *axes], isa=isa)
            np.testing.assert_array_equal(got, want)


@each_isa
@pytest.mark.parametrize("op", OPS)
def test_float64_reductions(isa: int, op: str) -> None:
    for shape in [(3000,), (3, 40), (4, 3, 5, 17), (70, 3)]:
        x = (
            np.abs(rng.standard_normal(shape)) * 1e200
            if op in ("max", "min")
            else rng.uniform(0.9, 1.1, shape)
        )
        for axes in subsets(len(shape)):
            want = reference(op, x, axes)
            (got,) = call("reduce", [x], [(np.float64, want.shape)], [OPS.index(op), *axes], isa=isa)
            np.testing.assert_allclose(got, want, rtol=1e-12)  # 3000 additions of 2^-53, in blocks


@each_isa
@pytest.mark.parametrize("op", ["max", "min", "sum"])
def test_nan_and_infinities(isa: int, op: str) -> None:
    x = rng.standard_normal((6, 70)).astype(np.float32)
    x[0, 3], x[1, 69], x[2, 5], x[3, 6] = np.nan, np.nan, np.inf, -np.inf
    x[4, [1, 2]] = np.inf, -np.inf
    for data, axis in ((x, 1), (x.T.copy(), 0)):
        (got,) = call("reduce", [data], [(np.float32, (6,))], [OPS.index(op), axis], isa=isa)
        with np.errstate(invalid="ignore"):
            want = getattr(x, op)(1)
        np.testing.assert_allclose(got, want, rtol=1e-5)


@each_isa
def test_bits_depend_on_neither_batch_nor_threads(isa: int) -> None:
    x = rng.standard_normal((40, 3000, 5)).astype(np.float32)
    for axes in [(1,), (1, 2), (2,)]:
        out = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        runs = [
            call("reduce", [x], [(np.float32, out)], [0, *axes], isa=isa, threads=t)[0] for t in (1, 2, 3)
        ]
        np.testing.assert_array_equal(runs[0], runs[1])
        np.testing.assert_array_equal(runs[0], runs[2])
        (alone,) = call("reduce", [x[7:8]], [(np.float32, (1, *out[1:]))], [0, *axes], isa=isa)
        np.testing.assert_array_equal(alone[0], runs[0][7])


@each_isa
@pytest.mark.parametrize("n", [1, 3, 8, 31, 32, 33])
def test_short_rows_are_independent_of_their_neighbours(isa: int, n: int) -> None:
    x = rng.standard_normal((37, n)).astype(np.float32)
    x[3], x[5, 0], x[36, -1] = -0.0, np.nan, np.inf
    for op in ("sum", "max", "prod", "sum_square"):
        runs = [
            call("reduce", [x], [(np.float32, (37,))], [OPS.index(op), 1], isa=isa, threads=t)[0]
            for t in (1, 3)
        ]
        alone = [call("reduce", [r], [(np.float32, ())], [OPS.index(op), 0], isa=isa)[0] for r in x]
        np.testing.assert_array_equal(runs[0], runs[1])
        np.testing.assert_array_equal(runs[0], np.stack(alone))
        assert np.isnan(runs[0][5])
        np.testing.assert_allclose(runs[0], reference(op, x, (1,)).reshape(37), rtol=1e-4, atol=1e-5)


@each_isa
def test_logsumexp(isa: int) -> None:
    x = 30 * rng.standard_normal((5, 40, 33)).astype(np.float32)
    x[0, :, 0] = -np.inf
    x[1, 3, 0], x[2, 4, 0], x[3, 5:7, 0] = np.inf, np.nan, (np.inf, np.nan)
    for axis in range(3):
        for count in range(1, 4 - axis):
            axes = tuple(range(axis, axis + count))
            wide = x.astype(np.float64)
            with np.errstate(all="ignore"):
                shift = wide.max(axes, keepdims=True)
                shift = np.where(np.isinf(shift), 0, shift)
                want = shift + np.log(np.exp(wide - shift).sum(axes, keepdims=True))
            (got,) = call("logsumexp", [x], [(np.float32, want.shape)], [axis, count], isa=isa)
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
    (got,) = call("logsumexp", [x[:, :0]], [(np.float32, (5, 33))], [1, 1], isa=isa)
    assert (got == -np.inf).all()


@pytest.mark.parametrize(
    ("ints", "out"),
    [
        ([0, 2], (3,)),
        ([0, -1], (3,)),
        ([0, 1, 0], ()),
        ([0, 1, 1], (3,)),
        ([9, 1], (3,)),
        ([], (3, 1)),
        ([0, 1], (4,)),
    ],
)
def test_misfit_is_refused(ints: list[int], out: tuple[int, ...]) -> None:
    with pytest.raises(KernelError, match="reduce") as error:
        call("reduce", [np.zeros((3, 4), np.float32)], [(np.float32, out)], ints)
    assert error.value.code == 7


def test_integers_have_no_mean_of_nothing() -> None:
    with pytest.raises(KernelError, match="mean of no integers"):
        call("reduce", [np.zeros((3, 0), np.int32)], [(np.int32, (3,))], [1, 1])
