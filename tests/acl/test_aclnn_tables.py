"""Operators of two phases against their definitions: pads, sizes, windows, order, matrices, training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .operators import Device, Failed, Scalar, empty, some, views, whole

Array = np.ndarray[Any, Any]


def close(got: Array, wanted: Array) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "mode"), [("ReflectionPad2d", "reflect"), ("ReplicationPad2d", "edge")])
def test_pads_of_the_edge_and_their_gradients(device: Device, name: str, mode: Any) -> None:
    x, out = some(2, 3, 4, 5), empty(2, 3, 8, 8)
    device.call(name, whole(x), (1, 2, 3, 1), out)
    pads = ((0, 0), (0, 0), (3, 1), (1, 2))
    np.testing.assert_array_equal(out.after(), np.pad(x, pads, mode))
    places = np.pad(np.arange(x.size).reshape(x.shape), pads, mode)
    g, wanted, back = some(2, 3, 8, 8, seed=1), np.zeros(x.size, np.float32), empty(*x.shape)
    np.add.at(wanted, places.ravel(), g.ravel())
    device.call(f"{name}Backward", whole(g), whole(x), (1, 2, 3, 1), back)
    close(back.after(), wanted.reshape(x.shape))


@pytest.mark.parametrize("name", ["NearestExact2d", "Bicubic2d", "Bilinear2dAA"])
def test_sizes_and_the_transpose_on_the_way_back(device: Device, name: str) -> None:
    x, corners = np.eye(6, dtype=np.float32)[None, None], [] if "Nearest" in name else [False]
    out, back = empty(1, 1, 9, 4), empty(1, 1, 6, 6)
    device.call(f"Upsample{name}", whole(x), (9, 4), *corners, 0.0, 0.0, out)
    y = out.after()[0, 0]
    if "Nearest" in name:
        places = [np.floor((np.arange(n) + 0.5) * 6 / n).astype(int) for n in (9, 4)]
        np.testing.assert_array_equal(y, x[0, 0][np.ix_(*places)])
    elif "Bicubic" in name:
        assert y.min() < -0.01  # what a cubic has, and a line has not
    ones = np.ones((1, 1, 6, 6), np.float32)
    device.call(f"Upsample{name}", whole(ones), (9, 4), *corners, 0.0, 0.0, same := empty(1, 1, 9, 4))
    close(same.after(), np.ones((1, 1, 9, 4)))
    g = some(1, 1, 9, 4)
    backward = f"Upsample{name}Backward"
    device.call(backward, whole(g), (9, 4), (1, 1, 6, 6), *corners, 0.0, 0.0, back)
    close((back.after() * x).sum(), (g[0, 0] * y).sum())


def test_a_grid_names_places_between_elements(device: Device) -> None:
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    grid = np.array([[[[-1, -1], (0, 0), (1, 1), [0.5, -1], [5, 5]]]], np.float32)
    device.call("GridSampler2D", whole(x), whole(grid), 0, 0, True, out := empty(1, 1, 1, 5))
    close(out.after()[0, 0, 0], np.array([0, 2.5, 5, 1.5, 0]))
    dx, dgrid, g = empty(*x.shape), empty(*grid.shape), np.ones((1, 1, 1, 5), np.float32)
    mask = (True, True)
    device.call("GridSampler2DBackward", whole(g), whole(x), whole(grid), 0, 0, True, mask, dx, dgrid)
    close(dx.after().sum(), np.array(4.0))
    close(
        dgrid.after()[0, 0, 1], np.array([1, 1.5])
    )  # a step of one element is 1 of x, and 3 of 2 rows' halves


def test_windows_of_volumes(device: Device) -> None:
    x = some(1, 2, 4, 4, 4)
    blocks = x.reshape(1, 2, 2, 2, 2, 2, 2, 2)
    device.call("AvgPool3d", whole(x), (2,), (2,), (0,), False, True, 0, mean := empty(1, 2, 2, 2, 2))
    close(mean.after(), blocks.mean((3, 5, 7)))
    most, at = empty(1, 2, 2, 2, 2), empty(1, 2, 2, 2, 2, dtype=np.int64)
    device.call("AdaptiveMaxPool3d", whole(x), (2, 2, 2), most, at)
    close(most.after(), blocks.max((3, 5, 7)))
    np.testing.assert_array_equal(x.reshape(1, 2, 64)[0, 1][at.after()[0, 1]], most.after()[0, 1])
    device.call(
        "AdaptiveMaxPool3dBackward", whole(most.after()), whole(x), whole(at.after()), back := empty(*x.shape)
    )
    wanted = np.where(x == np.repeat(np.repeat(np.repeat(most.after(), 2, 2), 2, 3), 2, 4), x, 0)
    close(back.after(), wanted)


def test_the_largest_so_far(device: Device) -> None:
    x = np.array([1, 3, 3, np.nan, 5, 2], np.float32)
    device.call("Cummax", whole(x), 0, out := empty(6), at := empty(6, dtype=np.int64))
    np.testing.assert_array_equal(out.after(), [1, 3, 3, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(at.after(), [0, 1, 2, 3, 3, 3])
    for name, wanted in (("MedianDim", np.nan), ("NanMedianDim", 3)):
        device.call(name, whole(x), 0, False, value := empty(), index := empty(dtype=np.int64))
        np.testing.assert_array_equal(value.after(), wanted)
        np.testing.assert_array_equal(x[int(index.after())], wanted)


def test_several_values_for_a_place(device: Device) -> None:
    x, values, at = some(4), np.array([2, -1, 4], np.float32), whole(np.array([1, 1, 3]))
    for reduction, kept, one, three in ((5, False, 0.5, 4), (3, False, 2, 4), (1, True, x[1] + 1, x[3] + 4)):
        device.call("ScatterReduce", whole(x), 0, at, whole(values), reduction, kept, out := empty(4))
        close(out.after(), np.array([x[0], one, x[2], three]))


def test_matrices(device: Device) -> None:
    a = some(2, 3, 3)
    positive = a @ a.swapaxes(1, 2) + np.eye(3, dtype=np.float32)
    device.call("LinalgCholesky", whole(positive), False, factor := empty(2, 3, 3))
    close(factor.after(), np.linalg.cholesky(positive))
    device.call("Slogdet", whole(a), sign := empty(2), log := empty(2))
    for got, wanted in zip((sign, log), np.linalg.slogdet(a), strict=True):
        close(got.after(), wanted)
    device.call("LinalgQr", whole(a), 0, q := empty(2, 3, 3), r := empty(2, 3, 3))
    close(q.after() @ r.after(), a)
    close(np.tril(r.after(), -1), np.zeros((2, 3, 3)))
    b, x = some(2, 3, 4, seed=1), empty(2, 3, 4)
    lower = whole(factor.after())
    device.call("TriangularSolve", whole(b), lower, False, True, False, x, empty(2, 3, 3))
    close(lower.whole.swapaxes(1, 2) @ x.after(), b)


def test_training_with_a_scaled_loss(device: Device) -> None:
    for bad, wanted in ((1.0, [16, 0]), (np.inf, [4, 0])):
        gradient, found = whole(np.array([2, bad], np.float32)), whole(np.zeros(1, np.float32))
        device.call(
            "ForeachNonFiniteCheckAndUnscale", [gradient], found, whole(np.array([0.125], np.float32))
        )
        np.testing.assert_array_equal(gradient.after()[0], 0.25)
        scale, steps = whole(np.array([8], np.float32)), whole(np.array([1], np.int32))
        flag, out, tracker = whole(found.after()), empty(1), empty(1, dtype=np.int32)
        device.call("AmpUpdateScale", scale, steps, flag, 2.0, 0.5, 2, out, tracker)
        np.testing.assert_array_equal([out.after()[0], tracker.after()[0]], wanted)
    with pytest.raises(Failed, match="have one element each, not 1, 1 and 0"):
        device.call("AmpUpdateScale", scale, steps, whole(flag.whole[:0]), 2.0, 0.5, 2, out, tracker)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int64"])
def test_counts_of_a_range(device: Device, dtype: str) -> None:
    """As NumPy: the upper end belongs to the last part; equal ends mean the range of the values."""
    values = (some(7, 13) * 4).astype(np.dtype(dtype).type)
    for low, high in ((-3, 5), (-1, 1), (0, 0)):
        for bins in (1, 8):
            out = empty(bins, dtype=np.dtype(dtype).type)
            device.call("Histc", whole(values), bins, Scalar(low), Scalar(high), out)
            ends = (float(low), float(high)) if low != high else (float(values.min()), float(values.max()))
            np.testing.assert_array_equal(out.after(), np.histogram(values.astype(float), bins, ends)[0])
    equal, out = np.full(5, 3, np.dtype(dtype).type), empty(4, dtype=np.dtype(dtype).type)
    device.call("Histc", whole(equal), 4, Scalar(0), Scalar(0), out)
    np.testing.assert_array_equal(out.after(), [0, 0, 5, 0])
    if np.issubdtype(np.dtype(dtype).type, np.floating):
        values[0, 0] = np.nan
        device.call("Histc", whole(values), 4, Scalar(-99), Scalar(99), out)
        assert out.after().sum() == values.size - 1
        with pytest.raises(Failed, match="the range is nan to nan"):
            device.call("Histc", whole(values), 4, Scalar(0), Scalar(0), out)


def test_large_integers_find_their_bucket(device: Device) -> None:
    """float64 can't tell 2^53 and 2^53 + 1 apart."""
    bounds = np.array([2**53, 2**53 + 1, 2**53 + 2])
    for right in (False, True):
        device.call("Bucketize", whole(bounds), whole(bounds), False, right, out := empty(3, dtype=np.int64))
        np.testing.assert_array_equal(out.after(), [0 + right, 1 + right, 2 + right])


def test_nan_is_searched_behind_the_others(device: Device) -> None:
    values = np.array([np.nan, np.inf, 1], np.float32)
    for right in (False, True):
        for name, *more in (("Bucketize",), ("SearchSorted", None)):
            row = whole(np.array([0, 1, 2], np.float32))
            pair = (row, whole(values)) if more else (whole(values), row)
            device.call(name, *pair, False, right, *more, out := empty(3, dtype=np.int64))
            np.testing.assert_array_equal(out.after(), [3, 3, 1 + right])


def test_sums_without_nan_and_angles(device: Device) -> None:
    x = np.array([[1, np.nan, -2], [np.nan, np.nan, np.inf]], np.float32)
    device.call("ReduceNansum", whole(x), (1,), False, 0, out := empty(2))
    np.testing.assert_array_equal(out.after(), np.nansum(x, 1))
    device.call("AngleV2", whole(x), angles := empty(2, 3))
    np.testing.assert_array_equal(angles.after(), np.angle(x).astype(np.float32))


def test_the_way_back_of_repeats(device: Device) -> None:
    g, repeats, out = some(2, 6, 3), whole(np.array([1, 0, 3, 2])), empty(2, 4, 3)
    device.call("RepeatInterleaveGrad", whole(g), repeats, 1, out)
    parts = np.split(g, [1, 1, 4], axis=1)
    close(out.after(), np.stack([part.sum(axis=1) for part in parts], axis=1))
    for once in (np.array([2]), np.array(2)):  # for all pieces
        device.call("RepeatInterleaveGrad", whole(g), whole(once), 1, made := empty(2, 3, 3))
        close(made.after(), g.reshape(2, 3, 2, 3).sum(axis=2))
    fine = 1 + np.arange(6) * 2.0**-40
    device.call(
        "RepeatInterleaveGrad", whole(fine), whole(np.array([2])), 0, made := empty(3, dtype=np.float64)
    )
    np.testing.assert_array_equal(made.after(), fine[::2] + fine[1::2])
    for repeats, why in (([1, 0, 3, 1], "fewer"), ([1, 0, 3, 2**63 - 1], "more")):
        with pytest.raises(Failed, match=f"{why} repeats than the gradient has pieces"):
            device.call("RepeatInterleaveGrad", whole(g), whole(np.array(repeats)), 1, out)


def test_values_are_put_at_places_in_order(device: Device) -> None:
    at, values = np.array([5, -1, 5]), np.array([1, 2, 3], np.float32)
    for add in (False, True):
        device.call("InplacePut", x := whole(np.ones((2, 3), np.float32)), whole(at), whole(values), add)
        np.testing.assert_array_equal(x.after()[0], [1, 1, 1])
        assert x.after()[1, 2] == (7 if add else 3)


def test_functions_of_numbers(device: Device) -> None:
    x = np.array([-0.9, -0.1, 0, 0.5, 0.99], np.float32)
    device.call("Erfinv", whole(x), out := empty(5))
    close(out.after(), np.array([-1.16308715, -0.08885599, 0, 0.47693628, 1.82138637]))
    device.call("RoundDecimals", whole(x * 12.34), 1, out)
    close(out.after(), np.round(x * 12.34, 1))
    device.call("Logit", whole(np.array([0.0, 0.25], np.float32)), 0.1, two := empty(2))
    close(two.after(), np.log([0.1 / 0.9, 1 / 3]))
    device.call("LogSpace", Scalar(0.0), Scalar(3.0), 4, 2.0, powers := empty(4))
    close(powers.after(), np.array([1, 2, 4, 8]))


def test_nothing_is_named_and_numbers_have_one_place(device: Device) -> None:
    x, nowhere = some(4, 3), np.zeros(0, np.int64)
    device.call("IndexPutImpl", target := whole(x), [whole(nowhere)], whole(some(3, seed=1)), False, False)
    np.testing.assert_array_equal(target.after(), x)
    first, number = whole(np.zeros(1, np.int64)), np.float32(3).reshape(())
    device.call("IndexAdd", whole(number), 0, first, whole(number), Scalar(2.0), out := empty())
    assert out.after() == 9
    device.call("IndexFill", whole(number), 0, first, Scalar(5.0), out)
    assert out.after() == 5


def test_the_gradients_of_a_norm_of_nothing_are_zero(device: Device) -> None:
    x, one, mask = whole(np.zeros((0, 2), np.float32)), whole(np.ones(2, np.float32)), (True, True, True)
    row, made, sums = (
        whole(np.zeros((0, 1), np.float32)),
        whole(np.zeros((0, 2), np.float32)),
        (empty(2), empty(2)),
    )
    device.call("LayerNormBackward", x, x, (2,), row, row, one, one, mask, made, *sums)
    for got in sums:
        np.testing.assert_array_equal(got.after(), [0, 0])


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        (
            "UpsampleNearestExact2d",
            (empty(1, 1, 4, 4), (4, 4), 1e-30, 1e-30, empty(1, 1, 4, 4)),
            "leaves nothing",
        ),
        (
            "UpsampleBilinear2dAA",
            (empty(1, 1, 4, 4), (4, 4), False, 0.01, 0.01, empty(1, 1, 4, 4)),
            "leaves nothing",
        ),
        (
            "AvgPool3d",
            (empty(1, 1, 4, 4, 4), (2, 2), (2, 2), (0, 0), False, True, 0, empty(1, 1, 2, 2, 2)),
            "2 numbers for three axes",
        ),
        ("LinalgQr", (empty(3, 3), 0, empty(3, 3), empty(3)), "R has 1 axes, not 2"),
    ],
)
def test_what_has_no_place_in_memory_is_refused(
    device: Device, name: str, arguments: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(Failed, match=said):
        device.call(name, *arguments)


def test_the_least_number_has_a_divisor_and_a_matrix_without_columns_has_a_q(device: Device) -> None:
    least = np.array([-(2**63), -(2**63), 6], np.int64)
    device.call("Gcd", whole(least), whole(np.array([0, 6, -4], np.int64)), out := empty(3, dtype=np.int64))
    np.testing.assert_array_equal(out.after(), [-(2**63), 2, 2])
    device.call("LinalgQr", empty(3, 0), 1, q := empty(3, 3), empty(3, 0))
    np.testing.assert_array_equal(q.after(), np.eye(3))


def test_rows_by_index_and_slices(device: Device) -> None:
    x, at = some(3, 5, 7), np.array([[2, -1, 0], [4, 4, 1]])
    for given in views(x):
        device.call("GatherV2", given, 1, whole(at), out := empty(3, 2, 3, 7))
        np.testing.assert_array_equal(out.after(), np.take(x, at, 1))
        for start, end, step in ((0, 7, 1), (1, 6, 2), (-5, -1, 3), (5, 2, 1), (-99, 99, 4)):
            wanted = x[..., start:end:step]
            device.call("Slice", given, -1, start, end, step, out := empty(*wanted.shape))
            np.testing.assert_array_equal(out.after(), wanted)
    with pytest.raises(Failed, match="steps forward"):
        device.call("Slice", whole(x), 0, 0, 3, 0, empty(3, 5, 7))


def test_sums_of_tensors_and_outer_products(device: Device) -> None:
    parts = [some(3, 5, seed=i) for i in range(3)] + [some(1, 5, seed=4)]
    device.call("Sum", [whole(p) for p in parts], out := empty(3, 5))
    wanted: Array = np.stack([np.broadcast_to(p, (3, 5)) for p in parts]).astype(np.float64)
    close(out.after(), wanted.sum(0))
    a, b = some(3), some(5, seed=1)
    a[1] = np.nan
    device.call("Ger", whole(a), whole(b), out := empty(3, 5))
    close(out.after(), np.outer(a.astype(np.float64), b))


@pytest.mark.parametrize("shape", [(4, 9), (2, 5, 3, 2)])
def test_classes_have_chances(device: Device, shape: tuple[int, ...]) -> None:
    x, labels = 30 * some(*shape), np.abs(some(*shape, seed=1))
    labels.reshape(-1)[::3] = 0
    loss, back = empty(shape[0], *shape[2:]), empty(*shape)
    wide = x.astype(np.float64)
    sums = np.log(np.exp(wide - wide.max(1, keepdims=True)).sum(1, keepdims=True)) + wide.max(
        1, keepdims=True
    )
    for one, two in zip(views(x), views(labels), strict=True):
        device.call("SoftmaxCrossEntropyWithLogits", one, two, loss, back)
        np.testing.assert_allclose(loss.after(), (labels * (sums - wide)).sum(1), rtol=1e-5)
        close(back.after(), np.exp(wide - sums) - labels)


def test_the_largest_of_windows(device: Device) -> None:
    x = some(2, 3, 7, 8)
    x[0, 0, 3, 3] = np.nan
    for kernel, stride, pad, dilation in (((3, 2), (2, 1), 1, (1, 1)), ((2, 2), (1, 2), 0, (2, 3))):
        span = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
        wide = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=-np.inf)
        blocks = np.lib.stride_tricks.sliding_window_view(wide, span, (2, 3))
        wanted = blocks[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]].max((4, 5))
        pads = (pad, pad, pad, pad)
        device.call("MaxPool", whole(x), kernel, stride, 0, pads, dilation, 0, out := empty(*wanted.shape))
        np.testing.assert_array_equal(out.after(), wanted)
    with pytest.raises(Failed, match="autoPad 1"):
        device.call("MaxPool", whole(x), (2, 2), (2, 2), 1, (0, 0, 0, 0), (1, 1), 0, empty(2, 3, 3, 4))
