"""Distinct rows, singular values, updates of places, samplers' filters, masked softmaxes, norms of groups."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from .operators import DTYPES, Device, Failed, Scalar, View, empty, some, views, whole

Array = np.ndarray[Any, Any]
TYPES = ("float32", "float16", "bfloat16")


def sized(view: View, *shape: int) -> Array:
    """The first elements of an output whose size the data decide."""
    return view.result.reshape(-1)[: int(np.prod(shape))].reshape(shape)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int64", "bool", "uint8"])
def test_neighbours_that_are_equal(device: Device, dtype: str) -> None:
    x = np.random.default_rng(1).integers(0, 2, (4, 6)).astype(dtype)
    changes = np.flatnonzero(np.append(True, x.reshape(-1)[1:] != x.reshape(-1)[:-1]))
    for given in views(x):
        values, inverse, counts = (
            empty(24, dtype=dtype),
            empty(4, 6, dtype=np.int64),
            empty(24, dtype=np.int64),
        )
        device.call("UniqueConsecutive", given, True, True, 1000, values, inverse, counts)
        np.testing.assert_array_equal(sized(values, len(changes)), x.reshape(-1)[changes])
        np.testing.assert_array_equal(sized(counts, len(changes)), np.diff(np.append(changes, 24)))
        np.testing.assert_array_equal(
            inverse.after().reshape(-1), np.searchsorted(changes, np.arange(24), "right") - 1
        )
    rows = np.repeat(np.random.default_rng(2).integers(0, 2, (3, 4, 2)), 2, 1).astype(dtype)
    for axis in (0, 1, -1):
        along = np.moveaxis(rows, axis, 0)
        kept = [0, *(i for i in range(1, len(along)) if (along[i] != along[i - 1]).any())]
        values, inverse = empty(rows.size, dtype=dtype), empty(len(along), dtype=np.int64)
        device.call(
            "UniqueConsecutive", whole(rows), True, True, axis, values, inverse, empty(9, dtype=np.int64)
        )
        wanted = np.take(rows, kept, axis)
        np.testing.assert_array_equal(sized(values, *wanted.shape), wanted)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_distinct_slices(device: Device, axis: int) -> None:
    x = np.random.default_rng(3).integers(-1, 2, (5, 6, 2)).astype(np.float32)
    values, where, often = np.unique(x, return_inverse=True, return_counts=True, axis=axis)
    made, inverse, counts = empty(x.size), empty(x.shape[axis], dtype=np.int64), empty(9, dtype=np.int64)
    device.call("UniqueDim", whole(x), True, True, axis, made, inverse, counts)
    np.testing.assert_array_equal(sized(made, *values.shape), values)
    np.testing.assert_array_equal(inverse.after(), where.reshape(-1))
    np.testing.assert_array_equal(sized(counts, len(often)), often)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 6, 3), (1, 7), (7, 1), (2, 2, 3, 3)])
@pytest.mark.parametrize("full", [True, False])
def test_singular_values(device: Device, full: bool, shape: tuple[int, ...]) -> None:
    *batch, m, n = shape
    x, k = some(*shape), min(m, n)
    if k > 2:
        x[..., 1] = 2 * x[..., 0]  # of a lower rank
    for given in views(x):
        u, v = empty(*batch, m, m if full else k), empty(*batch, n, n if full else k)
        device.call("Svd", given, full, True, sigma := empty(*batch, k), u, v)
        np.testing.assert_allclose(sigma.after(), np.linalg.svd(x, compute_uv=False), rtol=1e-5, atol=1e-5)
        left, right = u.after()[..., :k], v.after()[..., :k]
        np.testing.assert_allclose(left * sigma.after()[..., None, :] @ right.swapaxes(-1, -2), x, atol=2e-5)
        for side in (u.after(), v.after()):
            eye = np.broadcast_to(np.eye(side.shape[-1]), (*batch, side.shape[-1], side.shape[-1]))
            np.testing.assert_allclose(side.swapaxes(-1, -2) @ side, eye, atol=2e-5)
    device.call("Svd", whole(x), False, False, sigma, None, None)
    device.call("Svd", whole(np.zeros_like(x)), full, True, sigma, u, v)
    assert not sigma.after().any()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "bool"])
def test_updates_of_places(device: Device, dtype: str) -> None:
    x, new = (
        some(4, 5, 3, seed=s) > 0 if dtype == "bool" else (some(4, 5, 3, seed=s) * 9).astype(DTYPES[dtype])
        for s in (1, 2)
    )
    index, wanted = np.array([[3, -1], [0, 2]]), x.copy()
    wanted[3, -1], wanted[0, 2] = new[0, :2]
    for given in views(x):
        device.call("ScatterNd", given, whole(index), whole(new[0, :2]), out := whole(np.zeros_like(x)))
        np.testing.assert_array_equal(out.after(), wanted)
        device.call("ScatterNdUpdate", given, whole(index.astype(np.int32)), whole(new[0, :2]))
        np.testing.assert_array_equal(given.after(), wanted)
    with pytest.raises(Failed, match="index 4 is out of an axis of 4 elements"):
        device.call("ScatterNdUpdate", whole(x), whole(np.array([[4]])), whole(new[:1]))
    for given in views(x):
        wanted = x.copy()
        wanted[1:4:2, :, -2:] = new[:2, :, :2]
        device.call("StridedSliceAssignV2", given, whole(new[:2, :, :2]), (1, -2), (9, 3), (2, 1), (0, 2))
        np.testing.assert_array_equal(given.after(), wanted)
    with pytest.raises(Failed, match="a slice takes steps forward"):
        device.call("StridedSliceAssignV2", whole(x), whole(new), (0,), (4,), (-1,), None)


@pytest.mark.parametrize("axis", [1, -1])
def test_updates_behind_the_place_of_each_item(device: Device, axis: int) -> None:
    x, new, wide = some(4, 6, 7), some(3, 6, 7, seed=1), 2
    new = np.ascontiguousarray(np.take(new, range(wide), axis))
    for places in (np.array([0, 3, 4]), np.array([[2, 1], [0, 0], [3, 4]], np.int32)):
        wanted = x.copy()
        for i, place in enumerate(places):
            item, start = (i, place) if places.ndim == 1 else place
            np.moveaxis(wanted, axis, 1)[item, start : start + wide] = np.moveaxis(new, axis, 1)[i]
        for given in views(x):
            device.call("InplaceScatterUpdate", given, whole(places), whole(new), axis)
            np.testing.assert_array_equal(given.after(), wanted)
    with pytest.raises(Failed, match="item 2 of 4, places 9 to 11 of"):
        device.call("InplaceScatterUpdate", whole(x), whole(np.array([0, 0, 9])), whole(new), axis)


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(3, 5), (9, 3), (4, 4), (3, 3, 3)])
def test_filled_diagonals(device: Device, shape: tuple[int, ...], wrap: bool) -> None:
    x = some(*shape)
    for given in views(x):
        wanted = x.copy()
        np.fill_diagonal(wanted, 7.5, wrap=wrap)
        device.call("InplaceFillDiagonal", given, Scalar(7.5), wrap)
        np.testing.assert_array_equal(given.after(), wanted)


def test_what_a_sampler_may_choose(device: Device) -> None:
    x, p, k = some(4, 9) * 2, np.array([0.5, 0.9, 1, 0.01], np.float32), np.array([9, 3, 5, 9], np.int32)
    x[1, 2] = x[1, 5]
    for with_p, with_k in ((True, True), (True, False), (False, True)):
        wanted = x.astype(np.float64)
        for row, most, least in zip(wanted, p, k, strict=True):
            if with_k:
                row[row < np.sort(row)[-least]] = -np.inf
            if with_p:
                order = np.argsort(row, kind="stable")
                e = np.exp(row[order] - row.max())
                gone = np.cumsum(e / e.sum()) <= 1 - most
                gone[-1] = False
                row[order[gone]] = -np.inf
        given = [whole(p) if with_p else None, whole(k) if with_k else None]
        device.call("ApplyTopKTopP", whole(x), *given, out := empty(4, 9))
        np.testing.assert_allclose(out.after(), wanted, rtol=1e-6)
    with pytest.raises(Failed, match="the 10 largest of 9"):
        device.call("ApplyTopKTopP", whole(x), None, whole(k + 1), out)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("triangle", [False, True])
def test_masked_softmaxes_and_their_gradients(device: Device, triangle: bool, dtype: str) -> None:
    x, mask, grad = (
        some(2, 3, 5, 5, dtype=dtype),
        some(2, 1, 5, 5, seed=1) > 0.5,
        some(2, 3, 5, 5, dtype=dtype, seed=2),
    )
    mask[..., 0] = False
    hidden = np.triu(np.ones((5, 5), bool), 1) if triangle else mask
    scores = np.where(hidden, -1e4, x.astype(np.float64) * 0.5)
    y = np.exp(scores - scores.max(-1, keepdims=True))
    y /= y.sum(-1, keepdims=True)
    bound = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    for given in views(x):
        device.call(
            "ScaledMaskedSoftmax",
            given,
            whole(mask),
            0.5,
            triangle,
            out := empty(*x.shape, dtype=DTYPES[dtype]),
        )
        np.testing.assert_allclose(out.after().astype(np.float64), y, rtol=bound, atol=bound)
    g = grad.astype(np.float64)
    wanted = np.where(hidden, 0, 0.5 * y * (g - (g * y).sum(-1, keepdims=True)))
    given = [whole(grad), whole(y.astype(DTYPES[dtype])), whole(mask)]
    device.call("ScaledMaskedSoftmaxBackward", *given, 0.5, triangle, out)
    np.testing.assert_allclose(out.after().astype(np.float64), wanted, rtol=4 * bound, atol=4 * bound)


def test_group_norms_that_are_activated(device: Device) -> None:
    x, gamma, beta = some(2, 6, 3, 4), some(6, seed=1), some(6, seed=2)
    parts = x.astype(np.float64).reshape(2, 3, -1)
    mean, var = parts.mean(-1, keepdims=True), parts.var(-1, keepdims=True)
    y = ((parts - mean) / np.sqrt(var + 1e-3)).reshape(x.shape) * gamma[:, None, None] + beta[:, None, None]
    out, means, rstds = empty(*x.shape), empty(2, 3), empty(2, 3)
    given = [whole(x), whole(gamma), whole(beta), 3]
    cases: list[tuple[str, list[Any], Array]] = [
        ("GroupNormSilu", [1e-3], y / (1 + np.exp(-y))),
        ("GroupNormSiluV2", [1e-3, False], y),
        ("GroupNormSwish", [None, 1e-3, True, 0.7], y / (1 + np.exp(-0.7 * y))),
    ]
    for name, settings, wanted in cases:
        device.call(name, *given, *settings, out, means, rstds)
        np.testing.assert_allclose(out.after(), wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(means.after(), mean[..., 0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(rstds.after(), 1 / np.sqrt(var[..., 0] + 1e-3), rtol=1e-4)
    with pytest.raises(Failed, match="6 channels are not in 4 groups"):
        device.call("GroupNormSilu", *given[:3], 4, 1e-3, out, means, rstds)


def test_formulas_of_this_page(device: Device) -> None:
    x, g = some(4, 5), some(4, 5, seed=1)
    x[0, 0] = 0
    device.call("Heaviside", whole(x), whole(g), out := empty(4, 5))
    np.testing.assert_array_equal(out.after(), np.heaviside(x, g))
    device.call("SqrtBackward", whole(np.abs(x) + 1), whole(g), out)
    np.testing.assert_allclose(out.after(), g / 2 / (np.abs(x) + 1), rtol=1e-6)
    device.call("MaskedScale", whole(x), whole(g > 0), ctypes.c_float(2), out)
    np.testing.assert_array_equal(out.after(), x * (g > 0) * 2)
    device.call("SeluBackward", whole(g), whole(x), out)
    np.testing.assert_allclose(
        out.after(), g * np.where(x > 0, 1.0507009873554805, x + 1.7580993408473766), rtol=1e-5
    )


@pytest.mark.parametrize("of_vectors", [np.int32, np.float16, np.bool_])
def test_sums_with_outer_products_keep_the_type_of_the_sum(device: Device, of_vectors: Any) -> None:
    """Vectors of integers, a matrix of floats: what the matrix has behind the point counts."""
    a, u, v = some(3, 4), (some(3) * 5).astype(of_vectors), (some(4, seed=2) * 5).astype(of_vectors)
    device.call("Addr", whole(a), whole(u), whole(v), Scalar(1), Scalar(2), out := empty(3, 4))
    np.testing.assert_allclose(out.after(), a + 2 * np.outer(u.astype(np.float64), v), rtol=1e-5)


@pytest.mark.parametrize("size", [(2, 3, 4, 5), (1, 2, 3, 1, 4)])
@pytest.mark.parametrize("corners", [True, False])
def test_grids_of_affine_maps(device: Device, corners: bool, size: tuple[int, ...]) -> None:
    n = len(size) - 2
    theta, out = some(size[0], n, n + 1), empty(size[0], *size[2:], n)
    device.call("AffineGrid", whole(theta), size, corners, out)
    axes = [
        (np.linspace(-1, 1, s) if s > 1 else np.zeros(1)) if corners else (2 * np.arange(s) + 1) / s - 1
        for s in size[2:]
    ]
    at = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(size[2:])], -1)
    np.testing.assert_allclose(out.after(), np.einsum("...k,bnk->b...n", at, theta), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pairs", [True, False])
def test_gates_that_are_clipped(device: Device, pairs: bool) -> None:
    x, lengths = some(6, 2, 8) * 3, np.array([2, 3])
    a, b = (x[..., ::2], x[..., 1::2]) if pairs else (x[..., :4], x[..., 4:])
    a, b = np.minimum(a, 2).astype(np.float64), np.clip(b, -2, 2)
    wanted = a / (1 + np.exp(-1.7 * a)) * (b + 0.5)
    for given in views(x):
        device.call("ClippedSwiglu", given, None, -1, 1.7, 2.0, 0.5, pairs, out := empty(6, 2, 4))
        np.testing.assert_allclose(out.after(), wanted, rtol=1e-5, atol=1e-5)
    x2 = np.ascontiguousarray(x[:, 0])
    device.call("ClippedSwiglu", whole(x2), whole(lengths), 1, 1.7, 2.0, 0.5, pairs, out := empty(6, 4))
    wanted[5:] = 0
    np.testing.assert_allclose(out.after(), wanted[:, 0], rtol=1e-5, atol=1e-5)


def test_what_is_among_others_and_repeated_places(device: Device) -> None:
    for value, invert in ((3, False), (3, True), (9, False)):
        out = empty(dtype=np.bool_)
        device.call("IsInScalarTensor", Scalar(value), whole(np.arange(6).reshape(2, 3)), False, invert, out)
        assert bool(out.after()) == ((value < 6) != invert)
    repeats = np.array([2, 0, 3], np.int32)
    device.call("RepeatInterleaveTensor", whole(repeats), 5, out := empty(5, dtype=np.int64))
    np.testing.assert_array_equal(out.after(), [0, 0, 2, 2, 2])
    with pytest.raises(Failed, match="5 repeats don't fill 6 places"):
        device.call("RepeatInterleaveTensor", whole(repeats), 6, empty(6, dtype=np.int64))


@pytest.mark.parametrize("parts", [1, 2])
def test_products_of_batches_that_lie_inside(device: Device, parts: int) -> None:
    x, w = some(5, 4, 3), some(4, 3, 6, seed=1)
    y = np.einsum("mbk,bkn->mbn", x.astype(np.float64), w)
    if parts > 1:
        y = y.reshape(5, parts, -1).swapaxes(0, 1)
    operands = [whole(x), whole(w), None, None, (1, 0, 2), (0, 1, 2), (1, 0, 2), 0, parts]
    device.call("TransposeBatchMatMul", *operands, out := empty(*y.shape))
    np.testing.assert_allclose(out.after(), y, rtol=1e-5, atol=1e-5)
    with pytest.raises(Failed, match="24 columns are not 7 parts"):
        device.call("TransposeBatchMatMul", *operands[:-1], 7, out)
