"""Chance with seeds of the device, integers beside floats, tokens, parts of attention, against float64."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest

from .beside_float64 import close, wide
from .operators import Device, Failed, Scalar, empty, some, whole

torch = pytest.importorskip("torch")
F = torch.nn.functional
Array = np.ndarray[Any, Any]


# ---- chance


def test_seeds_and_offsets_of_the_device(device: Device) -> None:
    seed, offset = whole(np.array([7])), whole(np.array([11]))
    pairs = {
        "Uniform": (-1.0, 3.0),
        "Normal": (ctypes.c_float(1), ctypes.c_float(2)),
        "Random": (3, 90),
        "RandomWithoutFromTo": (),
    }
    for name, given in pairs.items():
        a, b, c = empty(64), empty(64), empty(64)
        device.call(f"Inplace{name}", a, *given, 7, 15)
        device.call(f"Inplace{name}Tensor", b, *given, seed, offset, 4)
        device.call(f"Inplace{name}Tensor", c, *given, seed, offset, 5)
        np.testing.assert_array_equal(a.after(), b.after())
        assert (a.after() != c.after()).any()
    weights, drawn = whole(np.abs(some(3, 9))), [empty(3, 4, dtype=np.int64) for _ in range(2)]
    device.call("Multinomial", weights, 4, False, 7, 15, drawn[0])
    device.call("MultinomialTensor", weights, 4, False, seed, offset, 4, drawn[1])
    np.testing.assert_array_equal(drawn[0].after(), drawn[1].after())
    masks = [empty(16, dtype=np.uint8) for _ in range(2)]
    device.call("DropoutGenMask", (10, 10), 0.3, 7, 15, masks[0])
    device.call("DropoutGenMaskV2Tensor", (10, 10), 0.3, seed, offset, 4, np.dtype("float32"), masks[1])
    np.testing.assert_array_equal(masks[0].after(), masks[1].after())
    ones = empty(1000)
    device.call("BernoulliTensor", ones, whole(np.full(1000, 0.25, np.float32)), 7, 15, out := empty(1000))
    assert 180 < out.after().sum() < 320
    with pytest.raises(Failed, match="seed has 2 elements, not one"):
        device.call("InplaceUniformTensor", ones, 0.0, 1.0, whole(np.array([1, 2])), offset, 0)


def test_dropping_and_back(device: Device) -> None:
    x, out, mask = some(20, 16), empty(20, 16), empty(128, dtype=np.uint8)
    device.call("DropoutV3", whole(x), None, 0.25, 7, 1, out, mask)
    kept = np.unpackbits(mask.after(), bitorder="little")[:320].reshape(20, 16).astype(bool)
    assert 200 < kept.sum() < 280
    close(out.after(), np.where(kept, x.astype(np.float64) / 0.75, 0))
    for name in ("DropoutV3Grad", "DropoutBackward"):
        device.call(name, whole(x), whole(mask.after()), 1.5, back := empty(20, 16))
        close(back.after(), np.where(kept, x.astype(np.float64) * 1.5, 0))


def test_slopes_by_chance(device: Device) -> None:
    x, noise, out = some(9, 8), empty(9, 8), empty(9, 8)
    device.call("RReluWithNoise", whole(x), noise, Scalar(0.1), Scalar(0.4), True, 3, 1, out)
    slope = noise.after()
    assert (slope[x > 0] == 1).all()
    assert ((slope[x <= 0] >= 0.1) & (slope[x <= 0] <= 0.4)).all()
    close(out.after(), x.astype(np.float64) * slope)
    made = whole(x)
    device.call("InplaceRReluWithNoise", made, noise, Scalar(0.1), Scalar(0.4), False, 3, 1)
    close(made.after(), F.leaky_relu(wide(x), 0.25))


# ---- integers beside floats


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_integers_as_floats_again(device: Device, axis: int | None) -> None:
    x, n = some(5, 6), 1 if axis is None else (5, 6)[axis]
    scale, zero = np.full(n, 0.02, np.float32) * np.arange(1, n + 1, dtype=np.float32), np.arange(n) % 3
    out, mask = empty(5, 6), empty(5, 6, dtype=np.bool_)
    given = whole(x), whole(scale), whole(zero.astype(np.int32))
    if axis is None:
        device.call("FakeQuantPerTensorAffineCachemask", *given, ctypes.c_float(1), -100, 90, out, mask)
        exact, hit = torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(
            torch.from_numpy(x), 0.02, 0, -100, 90
        )
    else:
        device.call("FakeQuantPerChannelAffineCachemask", *given, axis, -100, 90, out, mask)
        exact, hit = torch.ops.aten.fake_quantize_per_channel_affine_cachemask(
            torch.from_numpy(x), torch.from_numpy(scale), torch.from_numpy(zero).int(), axis, -100, 90
        )
    close(out.after(), exact.double(), 1e-5)
    np.testing.assert_array_equal(mask.after(), hit)
    if axis is None:
        device.call("FakeQuantPerTensorAffineCachemask", *given, ctypes.c_float(0), -100, 90, out, mask)
        np.testing.assert_array_equal(out.after(), x)


def test_norms_as_integers(device: Device) -> None:
    x, gamma, beta, scale = some(4, 16), some(16, seed=1), some(16, seed=2), np.full(16, 20, np.float32)
    rstd = 1 / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6)
    norm = x * rstd * gamma + beta
    for divides, factor in ((False, 20.0), (True, 1 / 0.05)):
        y, r = empty(4, 16, dtype=np.int8), empty(4, 1)
        by = scale if not divides else np.full(16, 0.05, np.float32)
        device.call(
            "RmsNormQuantV3", *map(whole, (x, gamma, by)), None, whole(beta), 1e-6, divides, True, y, r
        )
        assert np.abs(y.after() - np.clip(norm * factor, -128, 127)).max() <= 0.51
        close(r.after(), rstd)
    y, each = empty(4, 16, dtype=np.int8), empty(4)
    device.call("RmsNormDynamicQuant", whole(x), whole(gamma), None, whole(beta), 1e-6, 2, y, each)
    close(each.after(), np.abs(norm).max(-1) / 127)
    assert np.abs(y.after() * each.after()[:, None] - norm).max() <= each.after().max() * 0.51
    groups, ends = np.abs(some(3, 16, seed=3)) * 20, np.array([1, 1, 4])
    device.call("GroupQuant", whole(x), whole(groups), whole(ends), None, 2, y)
    exact = x * groups[[0, 2, 2, 2]]
    assert np.abs(y.after() - np.clip(exact, -128, 127)).max() <= 0.51


# ---- products, parts, tokens


@pytest.mark.parametrize("counted", [False, True])
def test_sums_of_groups(device: Device, counted: bool) -> None:
    x, w, y = some(7, 3), some(7, 5, seed=1), some(3, 3, 5, seed=2)
    lengths, made = np.array([2, 0, 5]), whole(y)
    given = (whole(x), whole(w), whole(lengths if counted else lengths.cumsum()), made, True, False, 2)
    device.call("GroupedMatmulAddV2" if counted else "GroupedMatmulAdd", *given, *([1] if counted else []))
    starts = [0, 2, 2, 7]
    exact = [
        y[k] + x[a:b].astype(np.float64).T @ w[a:b] for k, (a, b) in enumerate(itertools.pairwise(starts))
    ]
    close(made.after(), np.stack(exact))


@pytest.mark.parametrize("kind", [0, 1])
def test_tokens_by_expert_and_rank(device: Device, kind: int) -> None:
    counts = np.array([[2, 0, 1], [1, 3, 0]])
    x, scales = some(7, 4), some(7, seed=1)
    order = np.argsort(np.concatenate([np.repeat(np.arange(3), row) for row in counts]), kind="stable")
    out, by, places, each = empty(7, 4), empty(7), empty(7, dtype=np.int32), empty(3, dtype=np.int64)
    given = whole(x), whole(counts), whole(scales), kind, kind
    device.call("MoeReRouting", *given, out, by, places, each)
    np.testing.assert_array_equal(out.after(), x[order])
    np.testing.assert_array_equal(by.after(), scales[order])
    np.testing.assert_array_equal(places.after(), np.argsort(order) if kind else order)
    np.testing.assert_array_equal(each.after(), counts.sum(0) if kind else counts.sum(0).cumsum())
    with pytest.raises(Failed, match="counts of more than 7 tokens"):
        device.call("MoeReRouting", whole(x), whole(counts * 2), None, 1, 0, out, None, places, each)


def test_parts_of_attention(device: Device) -> None:
    q, k, v = some(5, 8), some(12, 8, seed=1), some(12, 8, seed=2)
    parts, sums = [], []
    for a, b in ((0, 3), (3, 10), (10, 12)):
        s = wide(q) @ wide(k[a:b]).T
        sums.append(whole(s.logsumexp(-1).numpy().astype(np.float32)))
        parts.append(whole((s.softmax(-1) @ wide(v[a:b])).numpy().astype(np.float32)))
    out, total = empty(5, 8), empty(5)
    device.call("AttentionUpdate", sums, parts, 1, out, total)
    s = wide(q) @ wide(k).T
    close(out.after(), s.softmax(-1) @ wide(v))
    close(total.after(), s.logsumexp(-1))


def test_heads_of_one_product(device: Device) -> None:
    x, bias = some(2, 3, 24), some(24, seed=1)
    out = [empty(2, 2, 3, 4) for _ in range(3)]
    device.call("TransformBiasRescaleQkv", whole(x), whole(bias), 2, *out)
    q, k, v = (wide(x) + wide(bias)).reshape(2, 3, 3, 2, 4).permute(2, 0, 3, 1, 4)
    for made, exact in zip(out, (q / 2, k, v), strict=True):
        close(made.after(), exact)


@pytest.mark.parametrize("pad", [0, 2])
def test_convolutions_over_times(device: Device, pad: int) -> None:
    x, w, b = some(6, 2, 3), some(3, 3, 5, seed=1), some(5, seed=2)
    exact = torch.conv_tbc(wide(x), wide(w), wide(b), pad)
    out = empty(*exact.shape)
    device.call("ConvTbc", whole(x), whole(w), whole(b), pad, out, 0)
    close(out.after(), exact)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5, float("inf")])
def test_distances_backwards(device: Device, p: float) -> None:
    x, y, up = some(2, 5, 4), some(2, 3, 4, seed=1), some(2, 5, 3, seed=2)
    a = wide(x).requires_grad_()
    d = torch.cdist(a, wide(y), p)
    d.backward(wide(up))
    out, kept = empty(2, 5, 4), whole(d.detach().numpy().astype(np.float32))
    if p == float("inf"):  # which element is the farthest: in the type that distances are kept in
        kept = whole(np.abs(x[:, :, None] - y[:, None]).max(-1))
    device.call("CdistBackward", whole(up), whole(x), whole(y), kept, ctypes.c_float(p), out)
    close(out.after(), a.grad, 1e-4)


def test_modulation(device: Device) -> None:
    x, scale, shift, up = some(2, 3, 4), some(2, 4, seed=1), some(2, 1, 4, seed=2), some(2, 3, 4, seed=3)
    a, s, t = (wide(v).requires_grad_() for v in (x, scale.reshape(2, 1, 4), shift))
    y = a * (1 + s) + t
    y.backward(wide(up))
    out, back = empty(2, 3, 4), [empty(2, 3, 4), empty(2, 4), empty(2, 4)]
    device.call("Modulate", whole(x), whole(scale), whole(shift), out)
    close(out.after(), y)
    device.call("ModulateBackward", whole(up), whole(x), whole(scale), whole(shift), *back)
    for made, exact in zip(back, (a.grad, s.grad, t.grad), strict=True):
        close(made.after(), exact.reshape(made.part.shape))


def test_other_reductions(device: Device) -> None:
    x = some(2, 3, 4, 5)
    a = wide(x)
    for name, exact in (("MaxV2", a.amax((1, 2), True)), ("MeanV2", a.mean((1, 2), True))):
        device.call(name, whole(x), (1, 2), True, False, out := empty(2, 1, 1, 5))
        close(out.after(), exact)
        device.call(name, whole(x), (), True, True, out := empty(2, 3, 4, 5))
        np.testing.assert_array_equal(out.after(), x)
    device.call("ReduceLogSum", whole(np.abs(x)), (1, 2), False, False, out := empty(2, 5))
    close(out.after(), a.abs().sum((1, 2)).log())
    for name, exact in (("GlobalMaxPool", a.amax((2, 3), True)), ("GlobalAveragePool", a.mean((2, 3), True))):
        device.call(name, whole(x), out := empty(2, 3, 1, 1))
        close(out.after(), exact)
    rows = [some(3, 4, seed=k) for k in range(3)]
    for name, exact in (("MaxN", np.maximum), ("MinN", np.minimum)):
        device.call(name, [whole(r) for r in rows], out := empty(3, 4))
        np.testing.assert_array_equal(out.after(), exact.reduce(rows))
    device.call("AddN", [whole(r) for r in rows], out := empty(3, 4))
    close(out.after(), np.sum([r.astype(np.float64) for r in rows], 0))
    device.call("Var", whole(x), (1,), True, False, out := empty(2, 4, 5))
    close(out.after(), a.var(1))
    line = np.sort(some(9))
    for value in (0.3, -7.0, 7.0):
        device.call(
            "SearchSorteds", whole(line), Scalar(value), False, True, None, at := empty(1, dtype=np.int64)
        )
        assert at.after()[0] == np.searchsorted(line, value, "right")
