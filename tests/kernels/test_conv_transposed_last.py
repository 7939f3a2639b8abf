"""conv_transposed_last against float64, and itself; tolerance as in test_conv."""

from __future__ import annotations

from itertools import chain, product
from math import prod

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, Panel32, call
from test_conv_last import CLIP, EPS, RELU, SILU, last, normal

from ascend_ep.graph.reference_windows import Sliding, convolve_transposed


def phases(w: np.ndarray, stride, pad) -> Panel32:
    """[C, M, kernel..] as the kernel reads it: for each remainder of an output, its taps, backwards."""
    rows = []
    for remainder in product(*map(range, stride)):
        first = [(r + p) % s for r, p, s in zip(remainder, pad, stride, strict=True)]
        taps = w[(slice(None), slice(None), *(slice(f, None, s) for f, s in zip(first, stride, strict=True)))]
        taps = np.flip(taps, tuple(range(2, w.ndim))).reshape(*w.shape[:2], -1)
        rows.append(taps.transpose(2, 0, 1).reshape(-1, w.shape[1]))
    return Panel32(np.concatenate(rows)[None])


def conv(
    x, w, size, stride, pad, *, bias=None, residual=None, act=0, bounds=(0, 0), first=0, isa=None, threads=2
):
    """Arrays and the result have channels first, as in ONNX."""
    geometry = chain.from_iterable(zip(w.shape[2:], stride, [1] * len(size), pad, strict=True))
    rest = [bias, None if residual is None else last(residual)]
    ins = [x if first else last(x), phases(w, stride, pad), *rest]
    out = (len(x), *size, w.shape[1])
    ints = [1, act, first, *geometry]
    (y,) = call("conv_transposed_last", ins, [(np.float32, out)], ints, bounds, isa, threads)
    return np.moveaxis(y, -1, 1)


def check(isa, channels, outputs, dims, kernel, stride, pads, extra) -> None:
    """`pads`: before each axis, then after each."""
    x, w, bias = normal(2, channels, *dims), normal(channels, outputs, *kernel), normal(outputs)
    arguments = (1, Sliding(kernel, stride, [1] * len(dims), pads), extra, None)
    wide = [a.astype(np.float64) for a in (x, w, bias)]
    expect = convolve_transposed(*wide, *arguments)
    bound = (channels * prod(kernel) + 2) * EPS * convolve_transposed(*map(abs, wide), *arguments)
    y = conv(x, w, expect.shape[2:], stride, pads[: len(dims)], bias=bias, isa=isa)
    assert (np.abs(y - expect) <= bound).all()
    again = conv(x, w, expect.shape[2:], stride, pads[: len(dims)], bias=bias, first=1, isa=isa, threads=1)
    np.testing.assert_array_equal(again, y)


@each_isa
@pytest.mark.parametrize("channels", [(1, 2), (3, 33), (20, 5), (40, 70)])
@pytest.mark.parametrize(
    ("dims", "kernel", "stride", "pads", "extra"),
    [
        ((9,), (4,), (2,), (1, 1), (0,)),
        ((5,), (7,), (3,), (2, 1), (1,)),
        ((5, 7), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1)),
        ((5, 7), (2, 2), (2, 2), (0, 0, 0, 0), (0, 0)),
        ((6, 4), (4, 5), (2, 3), (1, 0, 2, 3), (0, 2)),
        ((4, 20), (3, 3), (1, 1), (1, 1, 1, 1), (0, 0)),
        ((1, 1), (4, 4), (3, 2), (0, 0, 0, 0), (2, 1)),
        ((3, 3), (3, 3), (3, 3), (3, 4, 4, 3), (0, 0)),
        ((2, 3, 4), (2, 2, 2), (2, 2, 2), (0,) * 6, (0, 0, 0)),
        ((3, 4, 5), (3, 3, 3), (2, 2, 2), (1,) * 6, (1, 1, 1)),
        ((3, 4, 9), (3, 4, 5), (1, 2, 4), (1, 1, 2, 0, 2, 1), (0, 1, 0)),
        ((1, 1, 1), (2, 3, 3), (2, 3, 2), (1, 2, 1, 0, 0, 1), (0, 0, 0)),
    ],
)
def test_sizes(isa, channels, dims, kernel, stride, pads, extra) -> None:
    check(isa, *channels, dims, kernel, stride, pads, extra)


@each_isa
def test_strips_and_parts(isa) -> None:
    """Large enough for several strips of a plane, and for weights that are split among chunks."""
    check(isa, 70, 40, (30, 50), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1))
    check(isa, 300, 200, (4, 5), (4, 4), (2, 2), (1, 1, 1, 1), (0, 0))


@each_isa
def test_threads_batch_and_epilogue(isa) -> None:
    x, w, size = normal(3, 20, 9, 11), normal(20, 70, 3, 3), (18, 22)
    given = {"bias": normal(70), "residual": normal(3, 70, *size), "isa": isa}
    whole = conv(x, w, size, (2, 2), (1, 1), **given, threads=1)
    for threads in (2, 3):
        np.testing.assert_array_equal(conv(x, w, size, (2, 2), (1, 1), **given, threads=threads), whole)
    bare = conv(x, w, size, (2, 2), (1, 1), bias=given["bias"], isa=isa)
    np.testing.assert_array_equal(bare + given["residual"], whole)
    given["residual"] = given["residual"][1:2]
    alone = conv(x[1:2], w, size, (2, 2), (1, 1), **given)
    np.testing.assert_array_equal(alone, whole[1:2])
    y = conv(x[1:2], w, size, (2, 2), (1, 1), act=RELU, **given)
    np.testing.assert_array_equal(y, np.maximum(alone, 0))
    y = conv(x[1:2], w, size, (2, 2), (1, 1), act=CLIP, bounds=(-1, 2), **given)
    np.testing.assert_array_equal(y, np.clip(alone, -1, 2))
    y, wide = conv(x[1:2], w, size, (2, 2), (1, 1), act=SILU, **given), alone.astype(np.float64)
    np.testing.assert_allclose(y, wide / (1 + np.exp(-wide)), rtol=2e-6, atol=1e-7)


@each_isa
def test_nan_and_infinity_reach_what_reads_them_only(isa) -> None:
    x, w = normal(1, 4, 6, 30), normal(4, 8, 3, 3)
    x[0, 0, 2, 20], x[0, 0, 0, 0] = np.nan, np.inf
    y = conv(x, w, (13, 61), (2, 2), (0, 0), isa=isa)
    expect = np.zeros((8, 13, 61), bool)
    expect[:, 4:7, 40:43] = True
    np.testing.assert_array_equal(np.isnan(y[0]), expect)
    assert np.isinf(y[0, :, :3, :3]).all()
    assert not np.isinf(y[0, :, 3:]).any()


@pytest.mark.parametrize(
    ("change", "value"), [(0, 2), (2, 2), (5, 2), (4, 4)], ids=["group", "first", "dilation", "stride"]
)
def test_what_does_not_fit_is_refused(change: int, value: int) -> None:
    ints = [1, 0, 0, 3, 2, 1, 1, 3, 2, 1, 1]
    ints[change] = value
    ins = [normal(1, 5, 5, 4), phases(normal(4, 6, 3, 3), (2, 2), (1, 1)), None, None]
    with pytest.raises(KernelError, match="conv"):
        call("conv_transposed_last", ins, [(np.float32, (1, 9, 9, 6))], ints, [0, 0])


@each_isa
def test_pieces_of_long_lines(isa) -> None:
    check(isa, 20, 36, (701,), (16,), (8,), (4, 4), (0,))
    check(isa, 20, 36, (1000,), (3,), (2,), (1, 1), (1,))
