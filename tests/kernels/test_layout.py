"""Data movement is exact: every comparison here is equality of bits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernel_call import KernelError, call, isa_levels

SIZES = [np.uint8, np.float16, np.float32, np.int64]


def sample(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("isa", isa_levels())
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
    for view in (x, x.transpose(0, 2, 1), x.transpose(2, 1, 0), x[::2, 3:200, ::-1], np.broadcast_to(x[:1], x.shape)):
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
