"""ReverseSequence, TensorScatter and BitCast; exact."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_call import KernelError, call

rng = np.random.default_rng(41)
RUN_ERROR = 11


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("batch", [0, 1])
def test_reverse_sequence(dtype: type, batch: int) -> None:
    x = rng.integers(-99, 99, (4, 6, 3)).astype(dtype)
    x = x if batch == 0 else np.ascontiguousarray(x.swapaxes(0, 1))
    lengths = np.array([0, 6, 1, 4])
    want = x.copy()
    for row, length in enumerate(lengths):
        at = (row, slice(length)) if batch == 0 else (slice(length), row)
        want[at] = x[at][::-1]
    (y,) = call("reverse_sequence", [x, lengths], [(dtype, x.shape)], [batch, 1 - batch])
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("circular", [0, 1])
@pytest.mark.parametrize("axis", [1, 2])
def test_tensor_scatter(axis: int, circular: int) -> None:
    past, update = rng.standard_normal((3, 5, 5, 2)), rng.standard_normal((3, 5, 5, 2)).take(range(2), axis)
    places = np.array([0, 3, 4 if circular else 2])
    want = past.copy()
    for row, place in enumerate(places):
        for k in range(2):
            at = (row, *[slice(None)] * (axis - 1), (place + k) % 5)
            want[at] = update[(row, *[slice(None)] * (axis - 1), k)]
    (y,) = call("tensor_scatter", [past, update, places], [(np.float64, past.shape)], [axis, circular])
    np.testing.assert_array_equal(y, want)
    (first,) = call("tensor_scatter", [past, update], [(np.float64, past.shape)], [axis, circular])
    np.testing.assert_array_equal(first.take(range(2), axis), update)


def test_places_and_lengths_outside_are_named() -> None:
    x = np.zeros((2, 4), np.float32)
    for bad in (-1, 5, 2**62):
        with pytest.raises(KernelError, match=f"index {bad}") as error:
            call("reverse_sequence", [x, np.array([0, bad])], [(np.float32, (2, 4))], [0, 1])
        assert error.value.code == RUN_ERROR
    for bad, circular in ((-1, 0), (3, 0), (4, 1), (2**62, 1)):
        given = [x, x[:, :2].copy(), np.array([0, bad])]
        with pytest.raises(KernelError, match=f"index {bad}") as error:
            call("tensor_scatter", given, [(np.float32, (2, 4))], [1, circular])
        assert error.value.code == RUN_ERROR


def test_bitcast() -> None:
    x = rng.standard_normal((3, 5)).astype(np.float32)
    (y,) = call("bitcast", [x], [(np.uint32, (3, 5))])
    np.testing.assert_array_equal(y, x.view(np.uint32))
    (y,) = call("bitcast", [x[:0]], [(np.int32, (0, 5))])
    assert y.shape == (0, 5)


@pytest.mark.parametrize(
    ("op", "shapes", "out", "ints"),
    [
        ("reverse_sequence", [(2, 4), (3,)], (2, 4), [0, 1]),
        ("reverse_sequence", [(2, 4), (2,)], (2, 4), [1, 1]),
        ("reverse_sequence", [(2, 4), (2,)], (2, 4), [-1, 2]),
        ("reverse_sequence", [(2, 4), (2,)], (2, 5), [0, 1]),
        ("tensor_scatter", [(2, 4), (2, 5)], (2, 4), [1, 0]),
        ("tensor_scatter", [(2, 4), (1, 2)], (2, 4), [1, 0]),
        ("tensor_scatter", [(2, 4), (2, 2), (3,)], (2, 4), [1, 0]),
        ("tensor_scatter", [(2, 4), (2, 2)], (2, 4), [0, 0]),
        ("bitcast", [(2, 4)], (4, 2), []),
    ],
)
def test_what_does_not_fit_is_refused(
    op: str, shapes: list[tuple[int, ...]], out: tuple[int, ...], ints: list[int]
) -> None:
    given = [np.zeros(s, np.int64 if len(s) == 1 else np.float32) for s in shapes]
    with pytest.raises(KernelError, match=op) as error:
        call(op, given, [(np.float32, out)], ints)
    assert error.value.code == 7
