"""max_pool exactly, average_pool within the rounding of its sums, against float64."""

from __future__ import annotations

from itertools import chain
from math import prod

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

from ascend_ep.graph.reference_windows import Sliding
from ascend_ep.graph.reference_windows import pool as reference

EPS = 2.0**-24
KERNELS = ("max_pool", "average_pool", "max_pool_last", "average_pool_last")
rng = np.random.default_rng(0)
WINDOWS = [  # dims, kernel, stride, dilation, pad
    ((7, 9), (3, 3), (1, 1), (1, 1), (0, 0)), ((8, 40), (2, 2), (2, 2), (1, 1), (0, 0)),
    ((11, 35), (3, 3), (2, 2), (1, 1), (1, 1)), ((9, 50), (3, 2), (1, 3), (2, 4), (2, 1)),
    ((7, 7), (7, 7), (1, 1), (1, 1), (0, 0)), ((64,), (5,), (1,), (1,), (2,)),
    ((33,), (33,), (1,), (1,), (0,)),
    ((5, 6, 17), (2, 3, 3), (1, 2, 2), (1, 1, 1), (0, 1, 1)),
]  # fmt: skip


def pool(kernel, x, shape, geometry, mode=0, isa=None, threads=2, indices=False):
    """`geometry`: (kernel, stride, dilation, before, after) of each axis. Arrays have channels
    first, whatever the kernel takes."""
    ints = [mode, *chain.from_iterable(geometry)]
    if kernel.endswith("_last"):
        last = (shape[0], *shape[2:], shape[1])
        x, outs = np.moveaxis(x, 1, -1).copy(), [(np.float32, last)]
        (y,) = call(kernel, [x], outs, ints, isa=isa, threads=threads)
        return [np.moveaxis(y, -1, 1)]
    outs = [(np.float32, shape), (np.int64, shape)] if indices else [(np.float32, shape)]
    return call(kernel, [x], outs, ints, isa=isa, threads=threads)


@each_isa
@pytest.mark.parametrize("sizes", [(300, 301), (11288, 8), (1, 90300)])
def test_averages_of_flat_images_keep_their_bits(isa, sizes) -> None:
    """One sum of all loses the same bits each time, 8e-4. Sums of 353 sums of 256 lose some 2e-6 each."""
    x = np.full((1, 5, *sizes), 0.7, np.float32)
    (y,) = pool("average_pool_last", x, (1, 5, 1, 1), [(s, 1, 1, 0, 0) for s in sizes], isa=isa)
    np.testing.assert_allclose(y[..., 0, 0], np.float64(x[0, 0, 0, 0]), rtol=6e-6)


@each_isa
@pytest.mark.parametrize(("dims", "kernel", "stride", "dilation", "pad"), WINDOWS)
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("channels", "layout"), [(3, ""), (3, "_last"), (83, "_last")])
def test_windows(isa, dims, kernel, stride, dilation, pad, ceil_mode, channels, layout) -> None:
    x = rng.standard_normal((2, channels, *dims)).astype(np.float32)
    x64 = x.astype(np.float64)
    geometry = list(zip(kernel, stride, dilation, pad, pad, strict=True))
    how = Sliding(kernel, stride, dilation, [*pad, *pad], "NOTSET", ceil_mode)
    expect = reference(x64, how, average=False)
    (y,) = pool(f"max_pool{layout}", x, expect.shape, geometry, isa=isa)
    np.testing.assert_array_equal(y, expect)
    for include in (False, True):
        expect = reference(x64, how, average=True, count_padding=include)
        (y,) = pool(f"average_pool{layout}", x, expect.shape, geometry, mode=int(include), isa=isa)
        assert (np.abs(y - expect) <= (prod(kernel) + 2) * EPS * np.abs(x).max()).all()


@each_isa
@pytest.mark.parametrize(("dims", "kernel", "stride", "dilation", "pad"), WINDOWS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_bytes(isa, dims, kernel, stride, dilation, pad, dtype) -> None:
    least = np.iinfo(dtype).min
    x = rng.integers(least, least + 256, (2, 3, *dims)).astype(dtype)
    geometry = list(zip(kernel, stride, dilation, pad, pad, strict=True))
    how = Sliding(kernel, stride, dilation, [*pad, *pad])
    expect = reference(x.astype(np.float64), how, average=False)
    ints = [0, *chain.from_iterable(geometry)]
    expect = np.maximum(expect, least)
    (y,) = call("max_pool_bytes", [x], [(dtype, expect.shape)], ints, isa=isa)
    np.testing.assert_array_equal(y, expect)
    last = np.ascontiguousarray(np.moveaxis(x, 1, -1)), np.moveaxis(expect, 1, -1)
    (y,) = call("max_pool_bytes_last", [last[0]], [(dtype, last[1].shape)], ints, isa=isa)
    np.testing.assert_array_equal(y, last[1])


@each_isa
@pytest.mark.parametrize(("dims", "kernel", "stride", "dilation", "pad"), WINDOWS)
def test_indices_point_at_the_first_maximum(isa, dims, kernel, stride, dilation, pad) -> None:
    x = rng.integers(0, 4, (2, 3, *dims)).astype(np.float32)
    geometry = list(zip(kernel, stride, dilation, pad, pad, strict=True))
    shape = (2, 3, *(
        (n + 2 * p - (k - 1) * d - 1) // s + 1
        for n, k, s, d, p in zip(dims, kernel, stride, dilation, pad, strict=True)
    ))  # fmt: skip
    (plain,) = pool("max_pool", x, shape, geometry, isa=isa)
    y, at = pool("max_pool", x, shape, geometry, isa=isa, indices=True)
    np.testing.assert_array_equal(y, plain)
    np.testing.assert_array_equal(x.reshape(-1)[at], y)
    assert (at // prod(dims) == np.arange(6).reshape(2, 3, *[1] * len(dims))).all()
    if len(dims) == 2:
        _, columns = pool("max_pool", x, shape, geometry, mode=1, isa=isa, indices=True)
        row, column = at % prod(dims) // dims[1], at % dims[1]
        np.testing.assert_array_equal(columns % prod(dims), column * dims[0] + row)


@each_isa
def test_nan_is_the_maximum(isa) -> None:
    x = rng.standard_normal((1, 1, 8, 40)).astype(np.float32)
    x[0, 0, 3, 21] = np.nan
    for stride in (1, 2):
        shape = (1, 1, (8 - 2) // stride + 1, (40 - 2) // stride + 1)
        geometry = [(2, stride, 1, 0, 0)] * 2
        (y,) = pool("max_pool", x, shape, geometry, isa=isa)
        z, at = pool("max_pool", x, shape, geometry, isa=isa, indices=True)
        np.testing.assert_array_equal(y, z)
        np.testing.assert_array_equal(pool("max_pool_last", x, shape, geometry, isa=isa)[0], y)
        assert np.isnan(y).sum() == (4 if stride == 1 else 1)
        assert (at[np.isnan(y)] == 3 * 40 + 21).all()


@each_isa
def test_neither_batch_nor_threads_change_a_bit(isa) -> None:
    x = rng.standard_normal((20, 30, 20, 20)).astype(np.float32)
    for kernel in KERNELS:
        for geometry, shape in [([(3, 1, 1, 1, 1)] * 2, (20, 20)), ([(20, 1, 1, 0, 0)] * 2, (1, 1))]:
            (whole,) = pool(kernel, x, (20, 30, *shape), geometry, isa=isa, threads=1)
            (again,) = pool(kernel, x, (20, 30, *shape), geometry, isa=isa, threads=3)
            (alone,) = pool(kernel, x[7:8].copy(), (1, 30, *shape), geometry, isa=isa)
            np.testing.assert_array_equal(again, whole)
            np.testing.assert_array_equal(alone, whole[7:8])


@pytest.mark.parametrize(
    ("shape", "geometry", "mode", "words"),
    [
        ((1, 2, 3, 3), [(0, 1, 1, 0, 0)] * 2, 0, "at least 1"),
        ((1, 2, 3, 3), [(2, 1, 1, -1, 0)] * 2, 0, "pads"),
        ((1, 2, 3, 3), [(2, 1, 1, 2**60, 0)] * 2, 0, "pads"),
        ((1, 2, 0, 0), [(9, 7, 1, 0, 0)] * 2, 0, "larger than the padded"),
        ((1, 2, 3, 3), [(2, 1, 1, 0, 0)], 0, "arguments"),
        ((1, 3, 3, 3), [(2, 1, 1, 0, 0)] * 2, 0, "channels"),
        ((1, 2, 3, 3), [(2, 1, 1, 0, 0)] * 2, 7, "mode"),
    ],
)
def test_what_does_not_fit_is_refused(shape, geometry, mode, words) -> None:
    for kernel in KERNELS:
        with pytest.raises(KernelError, match=words):
            pool(kernel, np.zeros((1, 2, 4, 4), np.float32), shape, geometry, mode)


@pytest.mark.parametrize("kernel", ["max_pool", "max_pool_last", "max_pool_bytes", "max_pool_bytes_last"])
def test_maxima_of_padding_are_refused(kernel) -> None:
    """Of four taps two apart the one element in the middle is none."""
    x = np.zeros((1, 1, 1, 1), np.uint8 if "bytes" in kernel else np.float32)
    ints = [0, *(1, 1, 1, 0, 0), *(4, 1, 2, 3, 3)]
    with pytest.raises(KernelError, match="sees padding alone"):
        call(kernel, [x], [(x.dtype, (1, 1, 1, 1))], ints)


@each_isa
@pytest.mark.parametrize("layout", ["", "_last"])
def test_a_window_that_hangs_over_is_cut(isa, layout) -> None:
    x = rng.standard_normal((1, 3, 2, 2)).astype(np.float32)
    geometry = [(5, 4, 1, 1, 1)] * 2
    (y,) = pool(f"max_pool{layout}", x, (1, 3, 1, 1), geometry, isa=isa)
    np.testing.assert_array_equal(y[..., 0, 0], x.max((2, 3)))
    for include, count in ((0, 4), (1, 16)):
        (y,) = pool(f"average_pool{layout}", x, (1, 3, 1, 1), geometry, mode=include, isa=isa)
        np.testing.assert_allclose(y[..., 0, 0], x.sum((2, 3)) / count, rtol=1e-6)


def test_windows_past_the_end_are_empty() -> None:
    x = np.ones((1, 1, 4, 4), np.float32)
    geometry = [(2, 3, 1, 0, 0)] * 2
    for layout in ("", "_last"):
        (y,) = pool(f"max_pool{layout}", x, (1, 1, 5, 5), geometry)
        assert np.isneginf(y[0, 0, 2:]).all()
        (y,) = pool(f"average_pool{layout}", x, (1, 1, 5, 5), geometry)
        assert (y[0, 0, 2:] == 0).all()


FAR = 2**31 - 1


@pytest.mark.parametrize(
    ("geometry", "equal"),
    [
        ((FAR, 2, 1, 0, 0), (4, 2, 1, 0, 0)),
        ((FAR, 2, 1, 3, FAR), (7, 2, 1, 3, 3)),
        ((FAR, 2, 1, FAR - 5, 2), (10, 2, 1, 6, 2)),
        ((FAR, 1, 3, 4, 0), (3, 1, 3, 4, 0)),
        ((FAR, 1, FAR, 0, 0), (1, 1, 9, 0, 0)),
    ],
)
def test_windows_of_any_size_take_no_longer_than_their_image(geometry, equal) -> None:
    """A file says how large they are; its digest is right, and it would run for minutes."""
    x, shape = rng.standard_normal((1, 2, 4, 4)).astype(np.float32), (1, 2, 2, 2)
    for kernel in KERNELS:
        (far,) = pool(kernel, x, shape, [geometry] * 2)
        (near,) = pool(kernel, x, shape, [equal] * 2)
        np.testing.assert_array_equal(far, near)
        if kernel.startswith("average"):
            assert np.isfinite(pool(kernel, x, shape, [geometry] * 2, mode=1)).all()
    for kernel in ("max_pool_bytes", "max_pool_bytes_last"):
        whole = rng.integers(-99, 99, (1, 4, 4, 4)).astype(np.int8)
        outs = [(np.int8, (1, 4, 2, 2) if kernel == "max_pool_bytes" else (1, 2, 2, 4))]
        (far,) = call(kernel, [whole], outs, [0, *geometry, *geometry])
        (near,) = call(kernel, [whole], outs, [0, *equal, *equal])
        np.testing.assert_array_equal(far, near)
