"""Gather, scatter, one-hot and their failures; exact. The references are numpy's own indexing."""

from __future__ import annotations

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

RUN_ERROR = 11
rng = np.random.default_rng(7)


@each_isa
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_gather(isa: int, dtype: type, axis: int, index_type: type) -> None:
    data = rng.integers(-100, 100, (4, 5, 33)).astype(dtype)
    for shape in [(), (3,), (2, 0), (2, 7)]:
        indices = rng.integers(-data.shape[axis], data.shape[axis], shape).astype(index_type)
        want = np.take(data, indices, axis)
        (got,) = call("gather", [data, indices], [(dtype, want.shape)], ints=[axis], isa=isa)
        np.testing.assert_array_equal(got, want)


def test_gather_large_in_threads() -> None:
    table = rng.standard_normal((1000, 96)).astype(np.float32)
    indices = rng.integers(0, 1000, (4, 500))
    for threads in (1, 2, 3):
        (got,) = call("gather", [table, indices], [(np.float32, (4, 500, 96))], ints=[0], threads=threads)
        np.testing.assert_array_equal(got, table[indices])


@pytest.mark.parametrize("bad", [5, -6, 2**62, -(2**63)])
def test_an_index_outside_fails_and_is_named(bad: int) -> None:
    data, indices = np.zeros((5, 2), np.float32), np.array([0, bad, 1])
    ones = np.ones((3, 2), np.float32)
    calls = {
        "gather": ([data, indices], (3, 2), [0]),
        "gather_elements": ([data, indices[:, None]], (3, 1), [0]),
        "gather_nd": ([data, indices[:, None]], (3, 2), [0]),
        "scatter_elements": ([data, indices[:, None], ones[:, :1].copy()], (5, 2), [0, 0]),
        "scatter_nd": ([data, indices[:, None], ones], (5, 2), [0]),
    }
    for op, (inputs, shape, ints) in calls.items():
        with pytest.raises(KernelError, match=f"index {bad} is outside an axis of length 5") as error:
            call(op, inputs, [(np.float32, shape)], ints=ints)
        assert error.value.code == RUN_ERROR


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather_elements(axis: int) -> None:
    data = rng.standard_normal((4, 5, 6))
    indices = rng.integers(-data.shape[axis], data.shape[axis], (3, 4, 5))
    trimmed = data[tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(indices.shape))]
    (got,) = call("gather_elements", [data, indices], [(np.float64, indices.shape)], ints=[axis])
    np.testing.assert_array_equal(got, np.take_along_axis(trimmed, indices, axis))


def test_gather_nd() -> None:
    data = rng.standard_normal((2, 3, 4, 5)).astype(np.float32)
    indices = rng.integers(0, 2, (6, 2))
    (got,) = call("gather_nd", [data, indices], [(np.float32, (6, 4, 5))], ints=[0])
    np.testing.assert_array_equal(got, data[indices[:, 0], indices[:, 1]])
    indices = rng.integers(-3, 3, (2, 7, 1))
    (got,) = call("gather_nd", [data, indices], [(np.float32, (2, 7, 4, 5))], ints=[1])
    np.testing.assert_array_equal(got, np.stack([data[b, indices[b, :, 0]] for b in range(2)]))
    indices = rng.integers(-2, 2, (3, 4))
    (got,) = call("gather_nd", [data, indices], [(np.float32, (3,))], ints=[0])
    np.testing.assert_array_equal(got, data[tuple(indices.T)])


UFUNCS = [None, np.add, np.multiply, np.minimum, np.maximum]


@pytest.mark.parametrize("reduction", range(5))
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.float64])
def test_scatter_elements(reduction: int, dtype: type) -> None:
    data = rng.integers(-9, 9, (4, 5)).astype(dtype)
    indices = np.array([[0, -1, 2], [0, 3, 2]])
    updates = rng.integers(-9, 9, (2, 3)).astype(dtype)
    want = data.copy()
    for i in np.ndindex(*indices.shape):
        where = (indices[i], i[1])
        ufunc = UFUNCS[reduction]
        want[where] = updates[i] if ufunc is None else ufunc(want[where], updates[i])
    (got,) = call("scatter_elements", [data, indices, updates], [(dtype, data.shape)], ints=[0, reduction])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("reduction", range(5))
def test_scatter_nd(reduction: int) -> None:
    data = rng.standard_normal((4, 5, 6)).astype(np.float32)
    data[3, 4, :2] = np.nan
    indices = np.array([[0, 1], [-1, 4], [0, 1]])
    updates = rng.standard_normal((3, 6)).astype(np.float32)
    want = data.copy()
    for i in range(3):
        where = tuple(indices[i])
        ufunc = UFUNCS[reduction]
        want[where] = updates[i] if ufunc is None else ufunc(want[where], updates[i])
    (got,) = call("scatter_nd", [data, indices, updates], [(np.float32, data.shape)], ints=[reduction])
    np.testing.assert_array_equal(got, want)


def test_scatter_of_any_type_but_halves_only_without_reduction() -> None:
    data, indices, updates = np.zeros(4, np.float16), np.array([1, 3]), np.ones(2, np.float16)
    (got,) = call("scatter_elements", [data, indices, updates], [(np.float16, (4,))], ints=[0, 0])
    np.testing.assert_array_equal(got, [0, 1, 0, 1])
    with pytest.raises(KernelError, match="no reduction"):
        call("scatter_elements", [data, indices, updates], [(np.float16, (4,))], ints=[0, 1])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_one_hot(axis: int) -> None:
    indices = np.array([[0, 4, -1], [-5, 5, -6]])
    values = np.array([-1.5, 2.5], np.float32)
    hot = np.where(np.arange(5) == (indices % 5)[..., None], values[1], values[0])
    hot[(indices < -5) | (indices > 4)] = values[0]
    want = np.moveaxis(hot, -1, axis)
    (got,) = call("one_hot", [indices, values], [(np.float32, want.shape)], ints=[axis])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("op", "shapes", "out", "ints"),
    [
        ("gather", [(3, 4), (2,)], (2, 4), [2]),
        ("gather", [(3, 4), (2,)], (2, 4), [-1]),
        ("gather", [(3, 4), (2,)], (3, 4), [0]),
        ("gather", [(3, 4), (2,)], (2, 5), [0]),
        ("gather", [(3, 4), (2,)], (2, 4), []),
        ("gather_elements", [(3, 4), (2, 5)], (2, 5), [0]),
        ("gather_elements", [(3, 4), (2, 4)], (2, 4), [2]),
        ("gather_nd", [(3, 4), (2, 3)], (2,), [0]),
        ("gather_nd", [(3, 4), (2, 1)], (2, 3), [0]),
        ("gather_nd", [(3, 4), (2, 1)], (2, 4), [2]),
        ("gather_nd", [(3, 4), (2, 0)], (2, 3, 4), [0]),
        ("scatter_elements", [(3, 4), (2, 4), (2, 4)], (3, 4), [0, 5]),
        ("scatter_elements", [(3, 4), (2, 4), (2, 3)], (3, 4), [0, 0]),
        ("scatter_nd", [(3, 4), (2, 1), (2, 3)], (3, 4), [0]),
        ("scatter_nd", [(3, 4), (2, 1), (2, 4)], (3, 3), [0]),
        ("one_hot", [(3,), (3,)], (3, 5), [1]),
        ("one_hot", [(3,), (2,)], (4, 5), [1]),
        ("one_hot", [(3,), (2,)], (3, 5), [2]),
    ],
)
def test_misfit_is_refused(
    op: str, shapes: list[tuple[int, ...]], out: tuple[int, ...], ints: list[int]
) -> None:
    index_at = 0 if op == "one_hot" else 1
    inputs = [np.zeros(s, np.int64 if i == index_at else np.float32) for i, s in enumerate(shapes)]
    with pytest.raises(KernelError, match=op.split("_")[0]) as error:
        call(op, inputs, [(np.float32, out)], ints=ints)
    assert error.value.code == 7
