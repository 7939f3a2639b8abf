"""Mixtures of experts: the choice, tokens by expert and back; caches of keys: against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .operators import DTYPES, Device, Failed, View, some, views, whole

Array = np.ndarray[Any, Any]
TYPES = ("float32", "float16", "bfloat16")
BOUND = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}


def chosen(*shape: int, most: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, most, shape).astype(np.int32)


def out(*shape: int, dtype: Any = np.float32) -> View:
    return whole(np.full(shape, 77, DTYPES.get(dtype, dtype) if isinstance(dtype, str) else dtype))


def close(made: View, wanted: Array, dtype: str = "float32") -> None:
    bound = BOUND[dtype]
    np.testing.assert_allclose(made.after().astype(np.float64), wanted, rtol=bound, atol=bound)


def softmax(x: Array) -> Array:
    e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(-1, keepdims=True))
    made: Array = e / e.sum(-1, keepdims=True)
    return made


def largest(x: Array, k: int) -> Array:
    return np.argsort(-x, -1, kind="stable")[..., :k]


@pytest.mark.parametrize("dtype", TYPES)
def test_experts_with_the_largest_softmax(device: Device, dtype: str) -> None:
    x, finished = some(7, 11, dtype=dtype), np.arange(7) % 3 == 0
    p = softmax(x).astype(np.float32)
    at = largest(p, 4)
    for given, done in ((view, None) for view in views(x)):
        y, experts, rows = out(7, 4, dtype=dtype), out(7, 4, dtype=np.int32), out(7, 4, dtype=np.int32)
        device.call("MoeGatingTopKSoftmax", given, done, 4, y, experts, rows)
        close(y, np.take_along_axis(p, at, 1), dtype)
        np.testing.assert_array_equal(experts.after(), at)
        np.testing.assert_array_equal(rows.after(), np.arange(28).reshape(4, 7).T)
    for renorm in (0, 1):
        y, experts, whole_p = out(1, 7, 4, dtype=dtype), out(1, 7, 4, dtype=np.int32), out(1, 7, 11)
        name, x3 = "MoeGatingTopKSoftmaxV2", whole(x[None])
        device.call(name, x3, whole(finished[None]), 4, renorm, True, y, experts, whole_p)
        at = largest(x.astype(np.float32) if renorm else p, 4)
        of_some = softmax(np.take_along_axis(x, at, 1)) if renorm else np.take_along_axis(p, at, 1)
        close(y, of_some[None], dtype)
        np.testing.assert_array_equal(experts.after()[0], np.where(finished[:, None], 11, at))
        close(whole_p, np.full((1, 7, 11), 77) if renorm else p[None])
    with pytest.raises(Failed, match="the 12 largest of 11"):
        device.call("MoeGatingTopKSoftmax", whole(x), None, 12, out(7, 12), out(7, 12), out(7, 12))


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("groups", [(1, 1, 0), (2, 4, 0), (2, 4, 1), (3, 6, 1)])
def test_experts_of_groups(device: Device, groups: tuple[int, int, int], kind: int) -> None:
    x, bias = some(9, 12), some(12, seed=1)
    kept, count, mode = groups
    p = 1 / (1 + np.exp(-x.astype(np.float64))) if kind else softmax(x)
    worth = (p + bias).reshape(9, count, -1)
    ordered = np.sort(worth, -1)
    best = largest(ordered[..., -1] if mode == 0 else ordered[..., -2:].sum(-1), kept)
    keep = np.zeros((9, count), bool)
    np.put_along_axis(keep, best, True, 1)
    at = largest(np.where(keep[..., None], worth, -np.inf).reshape(9, 12), 3)
    y = np.take_along_axis(p, at, 1)
    y = (y / (y.sum(-1, keepdims=True) + 1e-3) if kind else y) * 2.5
    made, experts, norm = out(9, 3), out(9, 3, dtype=np.int32), out(9, 12)
    numbers = [3, kept, count, mode, 0, kind, True, 2.5, 1e-3]
    device.call("MoeGatingTopK", whole(x), whole(bias), *numbers, made, experts, norm)
    np.testing.assert_array_equal(experts.after(), at)
    close(made, y)
    close(norm, p)


def routed(experts: Array, first: int = 0, end: int = 99) -> tuple[Array, int]:
    """Pairs in the order of their experts, those of no interest last; how many are of interest."""
    flat = experts.reshape(-1).astype(np.int64)
    key = np.where(flat < first, 2**31 - 1, flat)
    return np.argsort(key, kind="stable"), int(((flat >= first) & (flat < end)).sum())


@pytest.mark.parametrize("dtype", TYPES)
def test_tokens_by_expert_and_back(device: Device, dtype: str) -> None:
    n, k, width, experts = 7, 3, 5, 6
    x, expert = some(n, width, dtype=dtype), chosen(n, k, most=experts, seed=1)
    order, _ = routed(expert)
    places = np.empty(n * k, np.int32)
    places[order] = np.arange(n * k)
    for given in views(x):
        expanded, went, counts = (
            out(n * k, width, dtype=dtype),
            out(n * k, dtype=np.int32),
            out(experts, dtype=np.int32),
        )
        operands = [given, whole(expert), 0, 0, experts, 0]
        device.call("MoeInitRoutingV2", *operands, 2, False, expanded, went, counts, None)
        np.testing.assert_array_equal(expanded.after(), x[order // k])
        np.testing.assert_array_equal(went.after(), places)
        np.testing.assert_array_equal(counts.after(), np.bincount(expert.reshape(-1), minlength=experts))
    rows = np.arange(n * k, dtype=np.int32).reshape(k, n).T
    expanded, went, kept = (
        out(n * k, width, dtype=dtype),
        out(n * k, dtype=np.int32),
        out(n * k, dtype=np.int32),
    )
    device.call("MoeInitRouting", whole(x), whole(rows), whole(expert), n, expanded, went, kept)
    source = rows.reshape(-1)[order]
    np.testing.assert_array_equal(expanded.after(), x[source % n])
    np.testing.assert_array_equal(went.after()[source], np.arange(n * k))
    np.testing.assert_array_equal(kept.after(), expert.reshape(-1)[order])
    ends = out(experts, dtype=np.int32)
    device.call("MoeComputeExpertTokens", whole(kept.after()), experts, ends)
    np.testing.assert_array_equal(ends.after(), np.bincount(expert.reshape(-1), minlength=experts).cumsum())

    scales, bias, skips = (
        some(n, k, dtype=dtype, seed=2),
        some(experts, width, dtype=dtype, seed=3),
        some(2, n, width, dtype=dtype, seed=4),
    )
    rows_of = expanded.after()
    exact = skips.astype(np.float64).sum(0)
    for i in range(n):
        for j in range(k):
            row = rows_of[went.after()[j * n + i]].astype(np.float64)
            exact[i] += float(scales[i, j]) * (row + bias[expert[i, j]].astype(np.float64))
    operands = [whole(rows_of), *map(whole, skips), whole(bias), whole(scales)]
    device.call(
        "MoeFinalizeRouting",
        *operands,
        whole(went.after()),
        whole(expert),
        made := out(n, width, dtype=dtype),
    )
    np.testing.assert_allclose(
        made.after().astype(np.float64), exact, rtol=BOUND[dtype], atol=4 * BOUND[dtype]
    )
    dropped = places.copy()
    dropped[4] = -1
    device.call(
        "MoeFinalizeRoutingV2", whole(x[order // k]), whole(dropped), None, None, None, None, None, 2, made
    )
    exact = x.astype(np.float64) * (k - (np.arange(n) == 1))[:, None]
    np.testing.assert_allclose(made.after().astype(np.float64), exact, rtol=4 * BOUND[dtype], atol=1e-4)
    dropped[0] = 99
    with pytest.raises(Failed, match="place 99 of 21"):
        device.call("MoeFinalizeRoutingV2", whole(x[order // k]), whole(dropped), *[None] * 5, 2, made)


def test_room_for_each_expert(device: Device) -> None:
    n, k, width, experts, room = 6, 2, 4, 3, 2
    x, expert = some(n, width), chosen(n, k, most=experts, seed=3)
    order, _ = routed(expert)
    wanted, places = np.zeros((experts, room, width), np.float32), np.full(n * k, -1)
    filled = [0] * experts
    for pair in order:
        e = int(expert.reshape(-1)[pair])
        if filled[e] < room:
            wanted[e, filled[e]], places[pair] = x[pair // k], e * room + filled[e]
        filled[e] += 1
    expanded, went, before = (
        out(experts, room, width),
        out(n * k, dtype=np.int32),
        out(experts, dtype=np.int32),
    )
    operands = [whole(x), whole(expert), 0, room, experts, 1, 0, True]
    device.call("MoeInitRoutingV2", *operands, expanded, went, None, before)
    np.testing.assert_array_equal(expanded.after(), wanted)
    np.testing.assert_array_equal(went.after(), places)
    np.testing.assert_array_equal(before.after(), filled)
    operands[3] = 0
    with pytest.raises(Failed, match="dropPadMode 1, of 3 experts with room for 0"):
        device.call("MoeInitRoutingV2", *operands, expanded, went, None, before)


@pytest.mark.parametrize("quant", [-1, 0, 1])
@pytest.mark.parametrize("scatter", [0, 1])
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_some_experts_of_all(device: Device, kind: int, scatter: int, quant: int) -> None:
    n, k, width, first, end = 8, 3, 5, 2, 6
    x, expert = some(n, width), chosen(n, k, most=9, seed=2)
    order, active = routed(expert, first, end)
    kept = expert.reshape(-1)[order[:active]]
    counts = np.bincount(kept - first, minlength=end - first)
    shown: Array = counts.cumsum() if kind == 0 else counts
    if kind == 2:
        shown = np.zeros((end - first, 2), np.int64)
        had = np.flatnonzero(counts)
        shown[: len(had)] = np.stack([had + first, counts[had]], 1)
    rows, scale_given, offset = x[order[:active] // k].astype(np.float64), None, None
    scales = out(n * k)
    if quant == 0:
        scale_given, offset = whole(np.array([20], np.float32)), whole(np.array([3], np.float32))
        rows = np.clip(np.round(rows * 20 + 3), -128, 127)
    elif quant == 1:
        smooth = some(end - first, width, seed=6)
        scale_given = whole(smooth)
        rows *= smooth[kept - first]
        each = np.abs(rows).max(-1, keepdims=True) / 127
        rows = np.round(rows / each)
    expanded = out(n * k, width, dtype=np.float32 if quant == -1 else np.int8)
    places, numbers = out(n * k, dtype=np.int32), out(*shown.shape, dtype=np.int64)
    settings = [0, 0, 9, 0, kind, True, quant, (first, end), scatter]
    operands = [whole(x), whole(expert), scale_given, offset, *settings]
    device.call("MoeInitRoutingV3", *operands, expanded, places, numbers, scales if quant == 1 else None)
    assert np.abs(expanded.after()[:active].astype(np.float64) - rows).max() <= (1 if quant == 1 else 1e-6)
    if quant == 1:
        np.testing.assert_allclose(scales.after()[:active], each[:, 0], rtol=1e-5)
    np.testing.assert_array_equal(numbers.after(), shown)
    went = np.full(n * k, -1)
    went[order[:active]] = np.arange(active)
    np.testing.assert_array_equal(places.after(), order if scatter else went)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("wide", [np.int32, np.int64])
def test_tokens_in_order_and_their_gradients(device: Device, dtype: str, wide: Any) -> None:
    n, k, width = 6, 2, 5
    x, expert, weights = (
        some(n, width, dtype=dtype),
        chosen(n, k, most=4).astype(wide),
        some(n, k, dtype=dtype, seed=1),
    )
    order, _ = routed(expert)
    places = np.argsort(order)
    for given in views(x):
        made, went = out(n * k - 3, width, dtype=dtype), out(n * k, dtype=np.int32)
        device.call("MoeTokenPermute", given, whole(expert), n * k - 3, False, made, went)
        np.testing.assert_array_equal(made.after(), x[order[:-3] // k])
        np.testing.assert_array_equal(went.after(), places)
    rows, at = x[order[:-3] // k], places.astype(np.int32)
    padded = np.concatenate([rows, np.zeros((3, width), rows.dtype)]).astype(np.float64)
    sums = (padded[places].reshape(n, k, width) * weights.astype(np.float64)[..., None]).sum(1)
    back = out(n, width, dtype=dtype)
    device.call("MoeTokenUnpermute", whole(rows), whole(at), whole(weights), False, None, back)
    np.testing.assert_allclose(
        back.after().astype(np.float64), sums, rtol=BOUND[dtype], atol=2 * BOUND[dtype]
    )
    grad, grad_rows, grad_weights = (
        some(n, width, dtype=dtype, seed=5),
        out(n * k - 3, width, dtype=dtype),
        out(n, k, dtype=dtype),
    )
    operands = [whole(rows), whole(grad), whole(at), whole(weights), False, None]
    device.call("MoeTokenUnpermuteGrad", *operands, grad_rows, grad_weights)
    g = grad.astype(np.float64)
    of_pairs = (g[:, None] * weights.astype(np.float64)[..., None]).reshape(n * k, width)[order[:-3]]
    np.testing.assert_allclose(
        grad_rows.after().astype(np.float64), of_pairs, rtol=BOUND[dtype], atol=BOUND[dtype]
    )
    dots = (padded[places].reshape(n, k, width) * g[:, None]).sum(-1)
    np.testing.assert_allclose(
        grad_weights.after().astype(np.float64), dots, rtol=BOUND[dtype], atol=4 * BOUND[dtype]
    )
    whole_rows, grad_x = some(n * k, width, dtype=dtype, seed=6), out(n, width, dtype=dtype)
    device.call("MoeTokenPermuteGrad", whole(whole_rows), whole(at), k, False, grad_x)
    exact = whole_rows.astype(np.float64)[places].reshape(n, k, width).sum(1)
    np.testing.assert_allclose(
        grad_x.after().astype(np.float64), exact, rtol=BOUND[dtype], atol=2 * BOUND[dtype]
    )


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_tokens_into_caches_and_from_them(device: Device, dtype: str, parts: bool) -> None:
    blocks, size, heads, width = 5, 4, 2, 16
    keys = (some(7, heads, width) * 9).astype(dtype)
    values, slots = keys[..., ::-1].copy(), np.array([3, 19, -1, 0, 7, 12, 5])
    shape = (blocks, heads * width // 16, size, 16) if parts else (blocks, size, heads, width)
    caches = [np.zeros(shape, dtype), np.zeros(shape, dtype)]
    views_of, wanted = [whole(c) for c in caches], [c.copy() for c in caches]
    for cache, rows in zip(wanted, (keys, values), strict=True):
        for slot, row in zip(slots, rows, strict=True):
            if slot >= 0 and parts:
                cache[slot // size, :, slot % size] = row.reshape(-1, 16)
            elif slot >= 0:
                cache[slot // size, slot % size] = row
    mode = "PA_NZ" if parts else "Norm"
    rest = [None, None, None, mode, None, None, None]
    device.call("ScatterPaKvCache", whole(keys), views_of[0], whole(slots), whole(values), views_of[1], *rest)
    for view, cache in zip(views_of, wanted, strict=True):
        np.testing.assert_array_equal(view.after(), cache)
    table, lengths = np.array([[4, 0, 1], [2, 3, 9]], np.int32), np.array([6, 3], np.int32)
    starts = np.array([4, 0], np.int32)
    got, ends = [out(9, heads, width, dtype=dtype) for _ in range(2)], np.array([0, 6, 9], np.int32)
    for given, cumulative in ((lengths, False), (ends, True)):
        operands = [*map(whole, wanted), whole(table), whole(given), *got, whole(starts), mode, cumulative]
        device.call("GatherPaKvCache", *operands)
        for view, cache in zip(got, wanted, strict=True):
            rows = []
            for b, length in enumerate(lengths):
                for j in range(length):
                    block = table[b, starts[b] // size + j // size]
                    rows.append(cache[block, :, j % size] if parts else cache[block, j % size])
            np.testing.assert_array_equal(view.after().reshape(9, -1), np.reshape(rows, (9, -1)))
    with pytest.raises(Failed, match="slot 99 of 20"):
        device.call("ScatterPaKvCache", whole(keys), views_of[0], whole(np.full(7, 99)), None, None, *rest)
    rest[3] = "Other"
    with pytest.raises(Failed, match=r"cacheMode \[Other\] is none of"):
        device.call("ScatterPaKvCache", whole(keys), views_of[0], whole(slots), None, None, *rest)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("mode", ["Norm", "PA", "PA_BNSD"])
def test_latent_parts_and_what_rotates_into_their_caches(device: Device, mode: str, small: bool) -> None:
    kv, gamma, cos, sin = some(2, 1, 3, 20), some(12, seed=1), *(some(2, 1, 3, 8, seed=s) for s in (2, 3))
    latent = kv[..., :12].astype(np.float64)
    latent = latent / np.sqrt((latent**2).mean(-1, keepdims=True) + 1e-3) * gamma
    halves = np.concatenate([kv[..., 12::2], kv[..., 13::2]], -1).astype(np.float64)
    turned = halves * cos + np.concatenate([-halves[..., 4:], halves[..., :4]], -1) * sin
    index = np.array([[3, 0, 1], [2, 4, -1]]) if mode == "Norm" else np.array([7, 0, 5, -1, 9, 2])
    scales = [whole(np.full(n, 20, np.float32)) for n in (8, 12)] if small else [None, None]
    offsets = [whole(np.full(n, 3, np.float32)) for n in (8, 12)] if small else [None, None]
    dtype, shape = (np.int8 if small else np.float32), ((2, 1, 5) if mode == "Norm" else (3, 4, 1))
    caches = [whole(np.zeros((*shape, n), dtype)) for n in (8, 12)]
    wanted = [np.zeros((*shape, n)) for n in (8, 12)]
    for cache, rows in zip(wanted, (turned, latent), strict=True):
        values = np.clip(np.round(rows * 20 + 3), -128, 127) if small else rows
        for i, at in enumerate(index.reshape(-1)):
            if at >= 0 and mode == "Norm":
                cache[i // 3, 0, at] = values[i // 3, 0, i % 3]
            elif at >= 0:
                cache[at // 4, at % 4, 0] = values[i // 3, 0, i % 3]
    rope, kept = out(2, 1, 3, 8), out(2, 1, 3, 12)
    operands = [*map(whole, (kv, gamma, cos, sin, index)), *caches, *scales, *offsets, 1e-3]
    device.call("KvRmsNormRopeCache", *operands, mode, True, rope, kept)
    close(rope, turned)
    close(kept, latent)
    for view, cache in zip(caches, wanted, strict=True):
        np.testing.assert_allclose(view.after(), cache, atol=1 if small else 1e-5)
    with pytest.raises(Failed, match=r"cacheMode \[PA_BLK_NZ\] is none of Norm, PA, PA_BNSD"):
        device.call("KvRmsNormRopeCache", *operands, "PA_BLK_NZ", False, None, None)
