"""Floats to small integers and back, and products of these, against float64 and exact integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .operators import DTYPES, Device, Failed, View, empty, some, views, whole

Array = np.ndarray[Any, Any]
TYPES = ("float32", "float16", "bfloat16")


def wide(t: Array) -> Array:
    made: Array = t.astype(np.float64)
    return made


def whole_numbers(made: Array, exact: Array, least: int = -128, most: int = 127) -> None:
    """Rounded: where rounding of the last bit decides, the neighbour is right, too."""
    clipped = np.clip(exact, least, most)
    assert np.abs(made - clipped).max() <= 0.5 + 0.01 * max(np.abs(clipped).max(), 1) * 2e-2
    assert (made == np.round(clipped)).mean() > 0.95


def words(w: Array) -> Array:
    """Numbers of 4 bits, eight in each int32, the first in the lowest."""
    parts = (w.reshape(*w.shape[:-1], -1, 8).astype(np.int64) & 15) << (4 * np.arange(8))
    made: Array = parts.sum(-1).astype(np.uint32).view(np.int32)
    return made


def apart(packed: Array) -> Array:
    bits = packed.view(np.uint32)[..., None] >> (4 * np.arange(8, dtype=np.uint32)) & 15
    made: Array = (bits.astype(np.int64) ^ 8) - 8
    return made.reshape(*packed.shape[:-1], -1)


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_by_their_largest(device: Device, dtype: str) -> None:
    x, smooth = some(3, 5, 16, dtype=dtype), some(16, dtype=dtype, seed=1)
    x[1, 2] = 0
    for given in views(x):
        y, scale = empty(3, 5, 16, dtype=np.int8), empty(3, 5)
        device.call("DynamicQuant", given, whole(smooth), y, scale)
        rows = wide(x) * wide(smooth)
        each = np.abs(rows).max(-1, keepdims=True) / 127
        np.testing.assert_allclose(scale.after(), each[..., 0], rtol=1e-6)
        whole_numbers(y.after(), np.divide(rows, each, out=np.zeros_like(rows), where=each > 0))
    packed, scale = empty(3, 5, 2, dtype=np.int32), empty(3, 5)
    device.call("DynamicQuant", whole(x), None, packed, scale)
    np.testing.assert_allclose(scale.after(), np.abs(wide(x)).max(-1) / 7, rtol=1e-6)
    assert (
        np.abs(apart(packed.after()) * scale.after()[..., None] - wide(x)).max() <= scale.after().max() * 0.51
    )


def test_rows_of_groups_and_other_ways(device: Device) -> None:
    x, smooth = some(7, 16), some(3, 16, seed=1)
    group = np.repeat(np.arange(3), [2, 0, 5])
    y, scale, offset = empty(7, 16, dtype=np.int8), empty(7), empty(7)
    device.call(
        "DynamicQuantV2", whole(x), whole(smooth), whole(np.array([2, 2, 7], np.int32)), 2, y, scale, None
    )
    rows = wide(x) * smooth[group]
    np.testing.assert_allclose(scale.after(), np.abs(rows).max(-1) / 127, rtol=1e-6)
    whole_numbers(y.after(), rows / scale.after()[:, None])
    device.call("DynamicQuantV2", whole(x), None, None, 2, y, scale, offset)
    step = (wide(x).max(-1) - wide(x).min(-1)) / 255
    np.testing.assert_allclose(scale.after(), step, rtol=1e-5)
    np.testing.assert_allclose(offset.after(), 127 - wide(x).max(-1) / step, rtol=1e-4, atol=1e-3)
    whole_numbers(y.after(), wide(x) / step[:, None] + offset.after()[:, None])
    for mode, axis, shape in (("pertensor", None, (1,)), ("perchannel", 0, (16,)), ("pertoken", 1, (7,))):
        device.call("DynamicQuantV3", whole(x), None, None, 2, True, mode, y, scale := empty(*shape), None)
        each = np.abs(wide(x)).max(axis, keepdims=True) / 127
        np.testing.assert_allclose(scale.after(), each.reshape(shape), rtol=1e-6)
        whole_numbers(y.after(), wide(x) / each)
    with pytest.raises(Failed, match=r"quantMode \[other\]"):
        device.call("DynamicQuantV3", whole(x), None, None, 2, True, "other", y, scale, None)
    with pytest.raises(Failed, match="integers go out as int8"):
        device.call("DynamicQuant", whole(x), None, empty(7, 16), empty(7))


@pytest.mark.parametrize("dtype", TYPES)
def test_by_given_scales_and_back(device: Device, dtype: str) -> None:
    x, scale, offset = some(5, 8, dtype=dtype), some(8, dtype=dtype, seed=1), some(8, dtype=dtype, seed=2)
    thirty = (scale * np.float32(30)).astype(DTYPES[dtype])
    exact = wide(x) * wide(thirty) + wide(offset)
    for how, rounded in (
        ("round", exact),
        ("floor", np.floor(exact)),
        ("ceil", np.ceil(exact)),
        ("trunc", np.trunc(exact)),
    ):
        y = empty(5, 8, dtype=np.int8)
        device.call("AscendQuant", whole(x), whole(thirty), whole(offset), False, how, 2, y)
        assert np.abs(y.after() - np.clip(rounded, -128, 127)).max() <= (0.51 if how == "round" else 1)
        assert (y.after() == np.clip(np.round(rounded), -128, 127)).mean() > 0.95
    column = np.ascontiguousarray(thirty[:5])
    device.call("AscendQuantV3", whole(x), whole(column), None, False, "round", 2, 0, y)
    whole_numbers(y.after(), wide(x) * wide(column)[:, None])
    packed = empty(5, 1, dtype=np.int32)
    device.call("AscendQuant", whole(x), whole(scale), None, False, "round", 29, packed)
    whole_numbers(apart(packed.after()), wide(x) * wide(scale), -8, 7)
    for name, least, most in (("int8", -128, 127), ("uint8", 0, 255), ("int32", -(2**31), 2**31 - 1)):
        y = empty(5, 8, dtype=DTYPES[name])
        hundredths, three = whole(np.full(8, 0.01, np.float32)), whole(np.full(8, 3, np.float32))
        device.call("Quantize", whole(x), hundredths, three, DTYPES[name], 1, y)
        whole_numbers(y.after().astype(np.float64), wide(x) / np.float32(0.01) + 3, least, most)
    small, back = np.arange(-20, 20, dtype=np.int8).reshape(5, 8), empty(5, 8, dtype=DTYPES[dtype])
    device.call("AscendAntiQuant", whole(small), whole(scale), whole(offset), 1, False, back)
    np.testing.assert_allclose(wide(back.after()), (small + wide(offset)) * wide(scale), rtol=1e-2, atol=1e-2)
    with pytest.raises(Failed, match=r"roundMode \[up\] is none of"):
        device.call("AscendQuant", whole(x), whole(scale), None, False, "up", 2, empty(5, 8, dtype=np.int8))


def test_sums_of_products_to_floats(device: Device) -> None:
    x, scale, rows, bias = (
        np.arange(-12, 12, dtype=np.int32).reshape(4, 6),
        some(6),
        some(4, seed=1),
        some(6, seed=2),
    )
    device.call("DequantBias", whole(x), whole(scale), whole(rows), whole(bias), 0, out := empty(4, 6))
    np.testing.assert_allclose(
        out.after(), x * wide(scale) * wide(rows)[:, None] + bias, rtol=1e-5, atol=1e-6
    )
    first = np.arange(6, dtype=np.int32)
    device.call("DequantBias", whole(x), whole(scale), None, whole(first), 0, out)
    np.testing.assert_allclose(out.after(), (x + first) * wide(scale), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", TYPES)
def test_norms_and_gates_that_end_in_integers(device: Device, dtype: str) -> None:
    a, b, gamma, beta = (
        some(3, 5, 8, dtype=dtype),
        some(3, 5, 8, dtype=dtype, seed=1),
        *(some(8, dtype=dtype, seed=s) for s in (2, 3)),
    )
    x = wide(a) + wide(b)
    y = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-3) * wide(gamma)
    scales = [np.full(8, s, np.float32) for s in (0.02, 0.05)]
    zeros = [np.full(8, z, np.float32) for z in (3, -2)]
    for divided in (True, False):
        made, total = [empty(3, 5, 8, dtype=np.int8) for _ in range(2)], empty(3, 5, 8, dtype=DTYPES[dtype])
        given = scales if divided else [1 / s for s in scales]
        operands = [*map(whole, (a, b, gamma, *given, *zeros)), -1, 1e-3, divided]
        device.call("AddRmsNormQuant", *operands, *made, total)
        for view, s, z in zip(made, scales, zeros, strict=True):
            whole_numbers(view.after(), y / s + z)
        np.testing.assert_allclose(wide(total.after()), x, rtol=1e-2, atol=2e-2)
    smooth, (one, two) = some(2, 8, dtype=dtype, seed=5), [empty(3, 5) for _ in range(2)]
    operands = [*map(whole, (a, b, gamma, *smooth)), 1e-3]
    device.call("AddRmsNormDynamicQuant", *operands, *made, total, one, two)
    for view, scale, s in zip(made, (one, two), smooth, strict=True):
        each = np.abs(y * wide(s)).max(-1) / 127
        np.testing.assert_allclose(scale.after(), each, rtol=1e-4)
        whole_numbers(view.after(), y * wide(s) / each[..., None])
    operands = [*map(whole, (a, b, gamma)), None, None, whole(beta), 1e-3, (True, False)]
    device.call("AddRmsNormDynamicQuantV2", *operands, made[0], None, total, one, None)
    each = np.abs(y + wide(beta)).max(-1) / 127
    np.testing.assert_allclose(one.after(), each, rtol=1e-4)
    norm = wide(a) / np.sqrt((wide(a) ** 2).mean(-1, keepdims=True) + 1e-3) * wide(gamma) + wide(beta)
    half = [np.array([v], DTYPES[dtype]) for v in (0.5, 2)]
    device.call("RmsNormQuant", *map(whole, (a, gamma, beta, *half)), 1e-3, made[0])
    whole_numbers(made[0].after(), norm / 0.5 + 2)

    left, right = wide(a[..., :4]), wide(a[..., 4:])
    gate = left / (1 + np.exp(-left)) * right
    group, smooth = np.array([6, 15], np.int32), some(2, 4, seed=7)
    made, scale = [empty(3, 5, 4, dtype=np.int8)], empty(3, 5)
    device.call("SwiGluQuant", whole(a), whole(smooth), None, whole(group), True, "dynamic", made[0], scale)
    rows = gate.reshape(15, 4) * smooth[np.repeat([0, 1], [6, 9])]
    each = np.abs(rows).max(-1, keepdims=True) / 127
    np.testing.assert_allclose(scale.after().reshape(-1, 1), 1 / each, rtol=1e-4)
    whole_numbers(made[0].after().reshape(15, 4), rows / each)
    lengths = np.array([6, 9], np.int32)
    operands = [whole(a), whole(smooth), None, whole(lengths), True, "dynamic", 1, 2]
    device.call("SwiGluQuantV2", *operands, again := empty(3, 5, 4, dtype=np.int8), empty(3, 5))
    np.testing.assert_array_equal(again.after(), made[0].after())
    sums, weights, tokens, shift = (
        np.random.default_rng(8).integers(-500, 500, (15, 8)).astype(np.int32),
        some(1, 8, seed=9),
        some(15, seed=10),
        some(4, seed=11),
    )
    floats = sums * wide(weights) / 100 * wide(tokens)[:, None]
    right, left = floats[:, :4], floats[:, 4:]
    gate = left / (1 + np.exp(-left)) * right * shift
    operands = [*map(whole, (sums, weights / 100, tokens)), None, whole(shift), None, None, False, "dynamic"]
    device.call("DequantSwigluQuant", *operands, made := empty(15, 4, dtype=np.int8), scale := empty(15))
    each = np.abs(gate).max(-1, keepdims=True) / 127
    np.testing.assert_allclose(scale.after(), each[:, 0], rtol=1e-3)
    whole_numbers(made.after(), gate / each)
    operands[8] = "other"
    with pytest.raises(Failed, match=r"quantMode \[other\] is none of static, dynamic"):
        device.call("DequantSwigluQuant", *operands, made, scale)


def integers(*shape: int, most: int = 128, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(-most, most, shape).astype(np.int8)


def packed_scales(device: Device, scale: Array, offset: Array | None = None) -> View:
    """As aclnnTransQuantParamV2 makes them."""
    made = empty(scale.size, dtype=np.int64)
    device.call("TransQuantParamV2", whole(scale), None if offset is None else whole(offset), made)
    words_of = made.after().view(np.uint64)
    bits = scale.view(np.uint32) & np.uint32(0xFFFFE000)
    np.testing.assert_array_equal(words_of & np.uint64(0xFFFFFFFF), bits)
    assert (words_of >> np.uint64(46) & np.uint64(1)).all()
    if offset is not None:
        kept = (words_of >> np.uint64(37) & np.uint64(0x1FF)).astype(np.int64)
        np.testing.assert_array_equal((kept ^ 256) - 256, np.clip(np.round(offset), -256, 255))
    return whole(made.after())


@pytest.mark.parametrize("way", ["plain", "turned", "flags"])
def test_products_of_bytes(device: Device, way: str) -> None:
    m, k, n = 5, 1400, 9  # more products than a float32 counts
    a, b = integers(m, k), integers(k, n, seed=1)
    scale, rows, bias = some(n, seed=2) / 999, some(m, seed=3), some(n, seed=4)
    first, flags = np.arange(n, dtype=np.int32) * 999, [way == "flags"] * 2
    one, two = (whole(a), whole(b)) if way == "plain" else (whole(a.T), whole(b.T))
    if way == "turned":
        one, two = View(one.whole, one.whole.T), View(two.whole, two.whole.T)
    exact = a.astype(np.int64) @ b.astype(np.int64)
    device.call("QuantMatmulV3", one, two, whole(scale), None, whole(first), *flags, out := empty(m, n))
    np.testing.assert_allclose(out.after(), (exact + first) * wide(scale), rtol=1e-6)
    device.call("QuantMatmulV4", one, two, whole(scale), None, whole(rows), whole(bias), *flags, out)
    np.testing.assert_allclose(
        out.after(), exact * wide(scale) * wide(rows)[:, None] + bias, rtol=1e-5, atol=1e-4
    )
    sums = empty(m, n, dtype=np.int32)
    device.call("QuantMatmulV4", one, two, whole(scale), None, None, None, *flags, sums)
    np.testing.assert_array_equal(sums.after(), exact)
    offset = np.round(some(n, seed=6) * 9)
    for given in (packed_scales(device, scale), whole(scale)):
        operands = [one, two, given, whole(offset), None, *flags]
        device.call("QuantMatmulV3", *operands, small := empty(m, n, dtype=np.int8))
        whole_numbers(small.after(), exact * wide(scale) + offset)
    none = empty(0)
    operands = [one, two, whole(rows), whole(scale), None, none, None, none, whole(bias), *flags, 0]
    device.call("QuantMatmulV5", *operands, half := empty(m, n, dtype=np.float16))
    np.testing.assert_allclose(
        half.after(), exact * wide(scale) * wide(rows)[:, None] + bias, rtol=2e-3, atol=2e-2
    )
    packed_scales(device, scale, some(n, seed=8) * 200)
    with pytest.raises(Failed, match="types that aren't int8 or int4"):
        device.call("QuantMatmulV3", whole(some(m, k)), whole(b), whole(scale), None, None, False, False, out)


def test_products_of_groups_of_columns(device: Device) -> None:
    m, k, n, group = 3, 64, 16, 32
    a, b = integers(m, k), integers(k, n, most=8, seed=1)
    scale, rows, shift = some(k // group, n, seed=2), some(m, 1, seed=3), some(n, seed=4)
    real = b * wide(scale).repeat(group, 0)
    given = packed_scales(device, scale.reshape(-1)).whole.reshape(scale.shape)
    operands = [
        whole(a),
        whole(words(b)),
        whole(rows),
        whole(given),
        None,
        None,
        None,
        whole(shift),
        None,
        False,
        False,
        group,
    ]
    device.call("QuantMatmulV5", *operands, out := empty(m, n))
    np.testing.assert_allclose(out.after(), ((a - 8.0) @ real + shift) * wide(rows), rtol=2e-3, atol=0.5)
    zeros, both = np.round(some(k // group, n, seed=5) * 2), some(m, k // group, seed=6)
    operands = [
        whole(a),
        whole(b),
        whole(both),
        whole(scale),
        None,
        None,
        whole(zeros),
        None,
        None,
        False,
        False,
        group,
    ]
    device.call("QuantMatmulV5", *operands, out)
    real = (b - zeros.repeat(group, 0)) * wide(scale).repeat(group, 0)
    np.testing.assert_allclose(out.after(), (a * wide(both).repeat(group, 1)) @ real, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("version", ["V4", "V5", "WeightNz"])
def test_groups_of_bytes(device: Device, version: str, kind: int) -> None:
    x, w, scale, rows = integers(8, 24), integers(3, 24, 6, seed=1), some(3, 6, seed=2) / 99, some(8, seed=3)
    bias = np.arange(18, dtype=np.int32).reshape(3, 6) * 99
    spans = [(0, 2, 0), (2, 2, 1), (2, 7, 2)]
    lists = [[2, 2, 7], [2, 0, 5], [[0, 2], [1, 0], [2, 5]]]
    if kind == 2:
        spans, lists[2] = [(0, 4, 2), (4, 7, 0)], [[2, 4], [0, 3]]
    more = {"V4": [], "V5": [None], "WeightNz": [None, 0]}[version]
    given = [[whole(x)], [whole(w)], [whole(bias)], [whole(scale)], None, None, None, [whole(rows)]]
    behind = [whole(np.array(lists[kind])), None, None, None, 3, 0, kind]
    out = empty(8, 6)
    device.call(f"GroupedMatmul{version}", *given, *behind, 5, *more, [out], None, None)
    wanted = np.full((8, 6), 77.0)
    for start, end, e in spans:
        y = (
            (x[start:end].astype(np.int64) @ w[e].astype(np.int64) + bias[e])
            * wide(scale[e])
            * wide(rows[start:end, None])
        )
        wanted[start:end] = y / (1 + np.exp(-np.maximum(y, -99)))
    np.testing.assert_allclose(out.after(), wanted, rtol=1e-5, atol=1e-4)
    behind[1] = [whole(scale)]
    with pytest.raises(Failed, match="activationInput isn't there"):
        device.call(f"GroupedMatmul{version}", *given, *behind, 0, *more, [out], None, None)


@pytest.mark.parametrize("act", range(6))
def test_groups_of_floats_are_activated(device: Device, act: int) -> None:
    from math import erf

    x, w = some(5, 4), some(2, 4, 3, seed=1)
    y = np.concatenate([wide(x[:2]) @ w[0], wide(x[2:]) @ w[1]])
    inner = np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3))
    by = [
        y,
        np.maximum(y, 0),
        y / 2 * (1 + inner),
        y / 2 * (1 + np.vectorize(erf)(y / np.sqrt(2))),
        y / (1 + np.exp(-1.702 * y)),
        y / (1 + np.exp(-y)),
    ]
    given = [[whole(x)], [whole(w)], *[None] * 6, whole(np.array([2, 3])), None, None, None, 3, 0, 1, act]
    device.call("GroupedMatmulV4", *given, [out := empty(5, 3)], None, None)
    np.testing.assert_allclose(out.after(), by[act], rtol=1e-4, atol=1e-5)
    if act == 0:
        for name, ends in (("GroupedMatmul", (2, 5)), ("GroupedMatmulV2", (2, 5))):
            more = [3] if name == "GroupedMatmul" else [3, 0]
            device.call(name, [whole(x)], [whole(w)], *[None] * 5, ends, *more, [out := empty(5, 3)])
            np.testing.assert_allclose(out.after(), y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["half", "interleave", "quarter"])
def test_queries_and_keys_turn_in_place(device: Device, mode: str) -> None:
    q, k = some(2, 3, 4, 8), some(2, 3, 1, 8, seed=1)
    cos, sin = some(2, 3, 1, 8, seed=2), some(2, 3, 1, 8, seed=3)

    def turned(x: Array) -> Array:
        if mode == "interleave":
            return np.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)
        parts = np.split(x, 4 if mode == "quarter" else 2, -1)
        return np.concatenate([p for i in range(0, len(parts), 2) for p in (-parts[i + 1], parts[i])], -1)

    operands = [whole(q), whole(k), whole(cos), whole(sin), 1]
    device.call("ApplyRotaryPosEmbV2", *operands, mode)
    for given, x in zip(operands[:2], (q, k), strict=True):
        np.testing.assert_allclose(given.after(), x * cos + turned(x) * sin, rtol=1e-5, atol=1e-6)
    if mode == "half":
        operands = [whole(q), whole(k), whole(cos), whole(sin), 1]
        device.call("ApplyRotaryPosEmb", *operands)
        np.testing.assert_allclose(operands[1].after(), k * cos + turned(k) * sin, rtol=1e-5, atol=1e-6)
    if mode == "interleave":
        device.call("InterleaveRope", whole(q), whole(cos), whole(sin), out := empty(*q.shape))
        halves = np.concatenate([q[..., ::2], q[..., 1::2]], -1)
        back = np.concatenate([-halves[..., 4:], halves[..., :4]], -1)
        np.testing.assert_allclose(out.after(), halves * cos + back * sin, rtol=1e-5, atol=1e-6)
    with pytest.raises(Failed, match=r"rotaryMode \[other\] is none of"):
        device.call("ApplyRotaryPosEmbV2", *[whole(t) for t in (q, k, cos, sin)], 1, "other")
