"""Data movement is exact: every comparison here is equality of bits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

SIZES = [np.uint8, np.float16, np.float32, np.int64]


def sample(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@each_isa
@pytest.mark.parametrize("dtype", SIZES)
def test_copy_of_every_permutation(isa: int, dtype: type) -> None:
    for shape in [(3, 5, 7), (2, 17, 33), (1, 40, 1), (0, 4, 2), (16, 16, 16)]:
        for perm in itertools.permutations(range(3)):
            view = sample(shape, dtype).transpose(perm)
            (got,) = call("copy", [view], [(dtype, view.shape)], isa=isa)
            np.testing.assert_array_equal(got, view)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_copy_of_large_views(threads: int) -> None:
    x = sample((130, 257, 96), np.float32)
    swapped, reversed_ = x.transpose(0, 2, 1), x.transpose(2, 1, 0)
    for view in (x, swapped, reversed_, x[::2, 3:200, ::-1], np.broadcast_to(x[:1], x.shape)):
        (got,) = call("copy", [view], [(np.float32, view.shape)], threads=threads)
        np.testing.assert_array_equal(got, view)


def test_copy_of_scalars_and_rank_8() -> None:
    (got,) = call("copy", [np.array(3.5, np.float32)], [(np.float32, ())])
    assert got == 3.5
    view = sample((2, 1, 3, 2, 1, 2, 3, 2), np.int32).transpose(7, 0, 6, 1, 5, 2, 4, 3)
    (got,) = call("copy", [view], [(np.int32, view.shape)])
    np.testing.assert_array_equal(got, view)


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concat(dtype: type, axis: int) -> None:
    parts = []
    for n in (3, 0, 1, 130):
        shape = [4, 5, 6]
        shape[axis] = n
        parts.append(sample(tuple(shape), dtype))
    parts.append(parts[0][:, ::-1])
    want = np.concatenate(parts, axis)
    (got,) = call("concat", parts, [(dtype, want.shape)], ints=[axis])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("shapes", "out", "ints"),
    [
        ([(2, 3), (2, 4)], (2, 7), [2]),
        ([(2, 3), (2, 4)], (2, 7), [-1]),
        ([(2, 3), (2, 4)], (2, 8), [1]),
        ([(2, 3), (3, 4)], (2, 7), [1]),
        ([(2, 3), (2,)], (2, 7), [1]),
        ([(2, 3), (2, 4)], (2, 7), []),
    ],
)
def test_concat_refuses(shapes: list[tuple[int, ...]], out: tuple[int, ...], ints: list[int]) -> None:
    with pytest.raises(KernelError, match="concat"):
        call("concat", [sample(s, np.float32) for s in shapes], [(np.float32, out)], ints=ints)


PAD_MODES = ["constant", "reflect", "edge", "wrap"]


@pytest.mark.parametrize("mode", range(4))
@pytest.mark.parametrize("dtype", SIZES)
def test_pad(mode: int, dtype: type) -> None:
    x = sample((3, 4, 5), dtype) + dtype(1)
    for begin, end in [((1, 0, 2), (0, 3, 4)), ((0, 0, 0), (0, 0, 0)), ((7, 9, 11), (5, 8, 13))]:
        want = np.pad(x, list(zip(begin, end, strict=True)), PAD_MODES[mode])
        (got,) = call("pad", [x], [(dtype, want.shape)], ints=[mode, *begin, *end])
        np.testing.assert_array_equal(got, want)


def test_pad_value_and_cropping() -> None:
    x = sample((4, 6), np.float32)
    want = np.pad(x[1:, :-2], [(0, 2), (3, 0)], constant_values=7)
    (got,) = call("pad", [x, np.array(7, np.float32)], [(np.float32, want.shape)], ints=[0, -1, 3, 2, -2])
    np.testing.assert_array_equal(got, want)
    want = np.pad(x[1:, :-2], [(0, 2), (3, 0)], "reflect")
    (got,) = call("pad", [x], [(np.float32, want.shape)], ints=[1, -1, 3, 2, -2])
    np.testing.assert_array_equal(got, want)
    (got,) = call(
        "pad",
        [np.zeros((0, 2), np.float32), np.array(7, np.float32)],
        [(np.float32, (2, 2))],
        ints=[0, 1, 0, 1, 0],
    )
    np.testing.assert_array_equal(got, np.full((2, 2), 7, np.float32))


@pytest.mark.parametrize(
    ("shape", "out", "ints"),
    [
        ((3,), (5,), [0, 1, 2]),
        ((3,), (4,), [4, 1, 0]),
        ((3,), (4,), [0, 1]),
        ((3,), (0,), [0, -4, 1]),
        ((3,), (0,), [0, -2, -2]),
        ((0,), (2,), [1, 1, 1]),
        ((3,), (3,), [0, 2**63 - 1, 2**63 - 1]),
        ((3,), (3,), [0, -(2**63), 0]),
    ],
)
def test_pad_refuses(shape: tuple[int, ...], out: tuple[int, ...], ints: list[int]) -> None:
    with pytest.raises(KernelError, match="pad"):
        call("pad", [np.zeros(shape, np.float32)], [(np.float32, out)], ints=ints)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_running_sums_and_products(dtype: type, axis: int, exclusive: int, reverse: int) -> None:
    # small whole numbers, so float sums are exact too
    x = np.random.default_rng(0).integers(-50, 50, (3, 5, 70)).astype(dtype)
    source = np.flip(x, axis) if reverse else x
    want = np.cumsum(source, axis, dtype=dtype) - (source if exclusive else 0)
    want = np.flip(want, axis) if reverse else want
    for threads in (1, 2):
        (got,) = call("cumsum", [x], [(dtype, x.shape)], ints=[axis, exclusive, reverse], threads=threads)
        np.testing.assert_array_equal(got, want)
    powers = np.where(x % 3, 1, np.where(x % 2, -2, 2)).astype(dtype)  # so products are exact
    source = np.flip(powers, axis) if reverse else powers
    want = np.cumprod(source, axis, dtype=dtype)
    want = want / source if exclusive else want
    want = np.flip(want, axis) if reverse else want
    (got,) = call("cumprod", [powers], [(dtype, x.shape)], ints=[axis, exclusive, reverse])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("k", [0, 1, -2, 9, -9, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("upper", [0, 1])
def test_trilu(k: int, upper: int) -> None:
    for shape in [(4, 6), (2, 6, 4), (1, 1), (3, 0)]:
        x = sample(shape, np.float32) + 1
        near = max(-20, min(20, k))
        want = np.triu(x, near) if upper else np.tril(x, near)
        (got,) = call("trilu", [x], [(np.float32, shape)], ints=[upper, k])
        np.testing.assert_array_equal(got, want)


@each_isa
def test_slice_of_the_run(isa: int) -> None:
    """Against Python's own slices, whatever the bounds; large bounds in both directions among them. Backwards
    from before the first element, ONNX takes the first, and Python none; INT64_MAX ends at the axis."""
    random, x = np.random.default_rng(1), sample((7, 12, 9), np.int16)
    bounds = [-(2**63), -13, -12, -5, -1, 0, 1, 6, 11, 12, 13, 2**63 - 1]
    for _ in range(60):
        starts, ends = random.choice(bounds, (2, 2))
        steps = random.choice([-(2**63), -13, -3, -1, 1, 2, 5, 2**63 - 1], 2)
        firsts = [max(s, -n) if t < 0 else s for s, t, n in zip(starts, steps, (9, 7), strict=True)]
        lasts = [
            None if t < 0 and (e < -n or e == 2**63 - 1) else int(e)
            for e, t, n in zip(ends, steps, (9, 7), strict=True)
        ]
        cuts = [slice(int(s), e, int(t)) for s, e, t in zip(firsts, lasts, steps, strict=True)]
        want = x[cuts[1], :, cuts[0]]
        (got,) = call("slice", [x, starts, ends, np.array([2, 0]), steps], [(x.dtype, want.shape)], isa=isa)
        np.testing.assert_array_equal(got, want)


def test_slice_refuses() -> None:
    x, one = sample((4, 4), np.int32), np.array([1])
    for given in (
        [one, np.array([1, 2])],
        [one, one, np.array([0, 1])],
        [np.zeros(3, int), np.zeros(3, int)],
    ):
        with pytest.raises(KernelError):
            call("slice", [x, *given], [(x.dtype, (0, 4))])
