"""conv_last with bfloat16: weights in VNNI2_32, and images of either type.

Operands are rounded as ml_dtypes rounds; products of two bfloat16 are exact in float32, so what is left is
the error of K float32 additions, |error| <= (K + 2) eps sum |x w|; and where the result is bfloat16, its
rounding, 2^-9 of it (2^-8 where the addition errors move it over a tie). Subnormal numbers are left out:
avx512bf16, amx and bf16i8mm take them for zero.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, product
from math import erfc, prod, sqrt

import ml_dtypes
import numpy as np
import pytest
from isa_levels import each_isa, isa_levels, isa_name
from kernel_call import KernelError, Pairs32, call
from test_conv_last import CLIP, EPS, HARD_SWISH, LEAKY_RELU, RELU, last, normal, packed

from ascend_ep.graph.reference_windows import Sliding, convolve

BF16 = ml_dtypes.bfloat16
ROUNDED = 16  # to float16, beside an activation
#: Activations of sums in memory, in float64.
CURVES: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    2: lambda x: x * phi(x),
    3: lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    4: lambda x: x / (1 + np.exp(-x)),
    5: lambda x: 1 / (1 + np.exp(-x)),
    6: np.tanh,
}
phi = np.vectorize(lambda x: erfc(-x / sqrt(2)) / 2, [float])


def rounded(x: np.ndarray) -> np.ndarray:
    return x.astype(BF16).astype(np.float32)


def in_pairs(w: np.ndarray, group: int) -> Pairs32:
    """[M, C/group, kernel..] as the kernel reads it."""
    outputs, fan_in = w.shape[0] // group, w.shape[1]
    taps = w.reshape(group, outputs, fan_in, prod(w.shape[2:])).transpose(0, 3, 2, 1)
    even = np.pad(taps, [(0, 0), (0, 0), (0, fan_in % 2), (0, 0)])
    return Pairs32(even.reshape(group, -1, outputs))


def conv(
    x, w, shape, geometry, *, bias=None, residual=None, group=1, act=0, first=0, low=0, high=0,
    out=np.float32, isa=None, threads=2,
):  # fmt: skip
    """As test_conv_last.conv; x and the residual keep their types, and the result has type `out`."""
    ints = [group, act, first, *chain.from_iterable(geometry)]
    ins = [x if first else last(x), w, bias, None if residual is None else last(residual)]
    y = call("conv_last", ins, [(out, (shape[0], *shape[2:], shape[1]))], ints, [low, high], isa, threads)[0]
    return np.moveaxis(y, -1, 1)


def wanted(x, w, bias, group, kernel, stride, dilation, pad) -> tuple[np.ndarray, np.ndarray]:
    """The exact result of the operands as they are, and the bound of its error in float32."""
    x, w, bias = x.astype(np.float64), w.astype(np.float64), bias.astype(np.float64)
    arguments = (group, Sliding(kernel, stride, dilation, [*pad, *pad]))
    size = convolve(abs(x), abs(w), abs(bias), *arguments)
    return convolve(x, w, bias, *arguments), (prod(w.shape[1:]) + 2) * EPS * size


def assert_rounded(y: np.ndarray, expect: np.ndarray, bound: np.ndarray) -> None:
    assert y.dtype == BF16
    assert (np.abs(y.astype(np.float64) - expect) <= bound + 2.0**-8 * np.abs(expect)).all()


def check(isa, batch, channels, outputs, dims, kernel, stride, dilation, pad, group=1) -> None:
    x, w = normal(batch, channels, *dims), normal(outputs, channels // group, *kernel)
    bias = normal(outputs)
    expect, bound = wanted(rounded(x), rounded(w), bias, group, kernel, stride, dilation, pad)
    geometry = list(zip(kernel, stride, dilation, pad, strict=True))
    arguments = {"bias": bias, "group": group, "isa": isa}
    weights = in_pairs(w, group)
    y = conv(x, weights, expect.shape, geometry, **arguments)
    assert (np.abs(y - expect) <= bound).all()
    np.testing.assert_array_equal(conv(x.astype(BF16), weights, expect.shape, geometry, **arguments), y)
    np.testing.assert_array_equal(conv(x, weights, expect.shape, geometry, first=1, **arguments), y)
    for image in (x, x.astype(BF16)):
        narrow = conv(image, weights, expect.shape, geometry, out=BF16, **arguments)
        np.testing.assert_array_equal(narrow, y.astype(BF16))


@each_isa
@pytest.mark.parametrize(
    "channels",
    [
        (1, 1, 1),
        (3, 33, 1),
        (4, 5, 1),
        (16, 8, 1),
        (12, 10, 2),
        (40, 64, 1),
        (8, 8, 4),
        (17, 5, 1),
        (64, 70, 2),
    ],
)
@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "pad"),
    [
        ((7, 7), (1, 1), (1, 1), (1, 1), (0, 0)), ((8, 9), (3, 3), (1, 1), (1, 1), (1, 1)),
        ((9, 33), (3, 3), (2, 2), (1, 1), (1, 1)), ((15, 11), (7, 7), (2, 2), (1, 1), (3, 3)),
        ((12, 40), (3, 5), (1, 3), (2, 1), (2, 2)), ((5, 5), (1, 1), (2, 2), (1, 1), (0, 0)),
        ((1, 64), (1, 3), (1, 1), (1, 4), (0, 4)), ((4, 4), (3, 3), (1, 2), (1, 1), (2, 0)),
    ],
)  # fmt: skip
def test_two_axes(isa, channels, size, kernel, stride, dilation, pad) -> None:
    inputs, outputs, group = channels
    if inputs == outputs == group:
        group = 1
        inputs, outputs = inputs + 1, outputs + 1
    check(isa, 2, inputs, outputs, size, kernel, stride, dilation, pad, group)


@each_isa
def test_one_axis_and_empty_batch(isa) -> None:
    check(isa, 2, 8, 12, (50,), (5,), (2,), (1,), (2,), 4)
    check(isa, 0, 6, 12, (5, 5), (3, 3), (1, 1), (1, 1), (1, 1))


@each_isa
def test_strips_and_parts(isa) -> None:
    check(isa, 1, 96, 40, (33, 60), (3, 3), (1, 1), (1, 1), (1, 1))
    check(isa, 2, 602, 200, (6, 7), (3, 3), (1, 1), (1, 1), (1, 1))
    check(isa, 3, 521, 290, (9, 5), (1, 1), (2, 2), (1, 1), (0, 0))


def check_apart(isa, channels, dims, kernel, stride, dilation, pad) -> None:
    """float32 weights and products; only the images are bfloat16."""
    geometry = list(zip(kernel, stride, dilation, pad, strict=True))
    x, w, bias = rounded(normal(2, channels, *dims)), normal(channels, 1, *kernel), normal(channels)
    expect, bound = wanted(x, w, bias, channels, kernel, stride, dilation, pad)
    arguments = {"bias": bias, "group": channels, "isa": isa}
    y = conv(x, packed(w, channels), expect.shape, geometry, **arguments)
    for image in (x, x.astype(BF16)):
        same = conv(image, packed(w, channels), expect.shape, geometry, **arguments)
        np.testing.assert_array_equal(same, y)
        narrow = conv(image, packed(w, channels), expect.shape, geometry, out=BF16, **arguments)
        assert_rounded(narrow, expect, bound)
        np.testing.assert_array_equal(narrow, y.astype(BF16))


@each_isa
@pytest.mark.parametrize("channels", [1, 5, 16, 35])
@pytest.mark.parametrize(("size", "stride"), [(3, 1), (3, 2), (5, 1), (2, 3)])
def test_channels_apart(isa, channels, size, stride) -> None:
    for dims, dilation in product([(7, 7), (14, 33), (3, 2)], [1, 2]):
        pad = size // 2 * dilation
        check_apart(isa, channels, dims, *[(v, v) for v in (size, stride, dilation, pad)])


@each_isa
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("pad", [0, 1])
def test_channels_apart_of_any_width(isa, stride, pad) -> None:
    """Blocks of 3 x 3 of every number of pixels, at both boundaries, one or two rows high."""
    channels = 19
    w, bias = normal(channels, 1, 3, 3), normal(channels)
    arguments = {"bias": bias, "group": channels, "isa": isa}
    for height, width in [(3, 3), (4, 4), (5, 6), (3, 9), (6, 11), (4, 17), (17, 19), (5, 23), (3, 34)]:
        x = rounded(normal(1, channels, height, width))
        expect, bound = wanted(x, w, bias, channels, (3, 3), (stride, stride), (1, 1), (pad, pad))
        for image, out in [(x, np.float32), (x.astype(BF16), BF16)]:
            y = [
                conv(
                    image,
                    packed(w, channels),
                    expect.shape,
                    [(3, stride, 1, pad)] * 2,
                    out=out,
                    **arguments,
                    threads=n,
                )
                for n in (1, 3)
            ]
            assert y[0].tobytes() == y[1].tobytes()
            if out is BF16:
                assert_rounded(y[0], expect, bound)
            else:
                assert (np.abs(y[0] - expect) <= bound).all()


@each_isa
@pytest.mark.parametrize(("channels", "outputs", "group"), [(20, 33, 1), (33, 33, 33)])
def test_epilogue(isa, channels, outputs, group) -> None:
    x, w, bias = normal(2, channels, 9, 9), normal(outputs, channels // group, 3, 3), normal(outputs)
    residual, geometry = rounded(normal(2, outputs, 9, 9)), [(3, 1, 1, 1)] * 2
    weights = packed(w, group) if group > 1 else in_pairs(w, 1)
    arguments = {"group": group, "isa": isa}
    bare = conv(x, weights, residual.shape, geometry, **arguments)
    arguments |= {"bias": bias}
    biased = conv(x, weights, residual.shape, geometry, **arguments)
    # Sums may begin with their bias: 180 roundings by up to 4e-6 each, of sums below 64, at random.
    np.testing.assert_allclose(biased, bare + bias[:, None, None], rtol=0, atol=5e-5)
    full = biased + residual
    for out in (np.float32, BF16):
        arguments |= {"out": out, "residual": residual.astype(out)}
        y = conv(x, weights, residual.shape, geometry, act=RELU, **arguments)
        np.testing.assert_array_equal(y, np.maximum(full, 0).astype(out))
        y = conv(x, weights, residual.shape, geometry, act=CLIP, low=-1, high=2, **arguments)
        np.testing.assert_array_equal(y, np.clip(full, -1, 2).astype(out))
        y = conv(x, weights, residual.shape, geometry, act=LEAKY_RELU, low=0.25, **arguments)
        np.testing.assert_array_equal(y, np.where(full < 0, full * np.float32(0.25), full).astype(out))
        y = conv(x, weights, residual.shape, geometry, act=HARD_SWISH, **arguments)
        wide = full.astype(np.float64)
        expect, bound = wide * np.clip(wide / 6 + 0.5, 0, 1), 1e-6 * np.abs(wide) + 3e-7
        if out is BF16:
            assert_rounded(y, expect, bound)
        else:
            assert (np.abs(y - expect) <= bound).all()


@each_isa
@pytest.mark.parametrize("act", CURVES)
@pytest.mark.parametrize("residual", [False, True])
def test_functions_of_sums(isa, act, residual) -> None:
    """Of the kernel's own sums, which the other tests check: a function is 4 ulp off, a GELU of bfloat16's
    products 3e-5, which is less than bfloat16 tells apart."""
    for channels, outputs, group, size, stride in [
        (6, 33, 1, 3, 1), (4, 5, 1, 1, 1), (8, 70, 2, 3, 2), (19, 19, 19, 3, 1), (16, 16, 16, 3, 2),
        (35, 35, 35, 5, 1),
    ]:  # fmt: skip
        x, bias = normal(2, channels, 9, 17), normal(outputs)
        w = normal(outputs, channels // group, size, size)
        x[0, :, 2, 3], x[1, :, 5, 9] = np.nan, np.inf
        geometry, dims = [(size, stride, 1, size // 2)] * 2, ((8 + stride) // stride, (16 + stride) // stride)
        weights = packed(w, group) if group == channels else in_pairs(w, group)
        shape = (2, outputs, *dims)
        added = rounded(normal(*shape)) if residual else None
        arguments = {"group": group, "isa": isa, "bias": bias}
        sums = conv(x, weights, shape, geometry, residual=added, **arguments).astype(np.float64)
        with np.errstate(all="ignore"):
            expect = CURVES[act](np.where(np.isneginf(sums), -1e30, sums))
        images = [x] if group == channels else [x, x.astype(BF16)]  # channels apart don't round it
        narrow = None if added is None else added.astype(BF16)
        for image in images:
            y = conv(image, weights, shape, geometry, residual=narrow, act=act, out=BF16, **arguments)
            finite = np.isfinite(sums)
            assert_rounded(y[finite], expect[finite], 4e-5 * np.maximum(1, np.abs(sums[finite])))
            assert np.isnan(y.astype(float)[np.isnan(sums)]).all()
            assert (y.astype(float)[np.isposinf(sums)] == expect[np.isposinf(sums)]).all()


@each_isa
@pytest.mark.parametrize("size", [1, 3])
def test_of_no_channels_the_bias_is_left(isa, size) -> None:
    w, bias = in_pairs(normal(5, 0, size, size), 1), normal(5)
    for x in (normal(1, 0, 4, 20), normal(1, 0, 4, 20).astype(BF16)):
        y = conv(x, w, (1, 5, 4, 20), [(size, 1, 1, size // 2)] * 2, bias=bias, isa=isa)
        np.testing.assert_array_equal(y, np.broadcast_to(bias[:, None, None], y.shape))


@each_isa
@pytest.mark.parametrize("act", CURVES)
def test_functions_of_a_float32_result(isa, act) -> None:
    """As exact as of float32 weights, and as before results could be bfloat16: old bundles have these."""
    x, weights = normal(2, 6, 9, 17), in_pairs(normal(33, 6, 3, 3), 1)
    shape, geometry = (2, 33, 9, 17), [(3, 1, 1, 1)] * 2
    sums = conv(x, weights, shape, geometry, isa=isa).astype(np.float64)
    y = conv(x, weights, shape, geometry, act=act, isa=isa)
    assert (np.abs(y - CURVES[act](sums)) <= 1e-6 * np.maximum(1, np.abs(sums))).all()


@each_isa
@pytest.mark.parametrize(("group", "stride", "size"), [(1, 1, 3), (2, 2, 3), (1, 2, 1), (1, 1, 1)])
def test_an_image_alone_has_the_bits_it_has_in_a_batch(isa, group, stride, size) -> None:
    x, w = normal(3, 24, 30, 31).astype(BF16), in_pairs(normal(70, 24 // group, size, size), group)
    geometry = [(size, stride, 1, size // 2)] * 2
    shape = (3, 70, *((n - 1) // stride + 1 for n in x.shape[2:]))
    arguments = {"group": group, "isa": isa, "out": BF16}
    whole = conv(x, w, shape, geometry, threads=1, **arguments)
    for threads in (2, 3):
        np.testing.assert_array_equal(conv(x, w, shape, geometry, threads=threads, **arguments), whole)
    alone = conv(x[1:2], w, (1, *shape[1:]), geometry, **arguments)
    np.testing.assert_array_equal(alone, whole[1:2])


@each_isa
@pytest.mark.parametrize("channels", [6, 58, 64, 136])
def test_a_pixel_has_its_bits_in_a_line_of_any_length(isa, channels) -> None:
    """Of one tap: whatever tile it falls in, and however many pixels that has."""
    x, residual = normal(1, channels, 3, 70).astype(BF16), normal(1, 33, 3, 70).astype(BF16)
    for outputs, act in product([5, 33], [0, 4]):
        w = in_pairs(normal(outputs, channels, 1, 1), 1)
        arguments = {"geometry": [(1, 1, 1, 0)] * 2, "out": BF16, "act": act, "isa": isa}
        addend = residual[:, :outputs]
        whole = conv(x, w, addend.shape, residual=addend, **arguments)
        for width in (1, 2, 7, 15, 16, 17, 31, 32, 33, 49):
            shape = (1, outputs, 1, width)
            part = conv(x[:, :, 1:2, :width], w, shape, residual=addend[:, :, 1:2, :width], **arguments)
            np.testing.assert_array_equal(part, whole[:, :, 1:2, :width])


@each_isa
@pytest.mark.parametrize("channels", [6, 58])
def test_narrow_images(isa, channels) -> None:
    """Several lines may share a tile: each output still has its window alone, whoever shares the work."""
    for dims, stride, act in product([(14, 14), (7, 7), (9, 4), (3, 16), (5, 1)], [1, 2], [0, 4]):
        x, w = normal(2, channels, *dims).astype(BF16), in_pairs(normal(35, channels, 3, 3), 1)
        geometry, shape = [(3, stride, 1, 1)] * 2, (2, 35, *((n - 1) // stride + 1 for n in dims))
        arguments = {"out": BF16, "act": act, "isa": isa, "residual": normal(*shape).astype(BF16)}
        whole = conv(x, w, shape, geometry, threads=1, **arguments)
        np.testing.assert_array_equal(conv(x, w, shape, geometry, threads=3, **arguments), whole)
        x[0, 0, 1, 0] = np.nan
        touched = [slice(0, (2 // stride) + 1), slice(0, (1 // stride) + 1)]
        y = conv(x, w, shape, geometry, threads=2, **arguments)
        assert np.isnan(y[0, :, touched[0], touched[1]].astype(float)).all()
        y[0, :, touched[0], touched[1]] = whole[0, :, touched[0], touched[1]]
        np.testing.assert_array_equal(y, whole)


@each_isa
@pytest.mark.parametrize("channels", [3, 6, 37])
def test_special_values_reach_their_windows_alone(isa, channels) -> None:
    """NaN and infinity spread to the outputs that read them, and to no other pixel or channel."""
    x, w = np.ones((1, channels, 9, 40), np.float32), np.ones((5, channels, 3, 3), np.float32)
    x[0, channels - 1, 2, 3], x[0, 0, 6, 30], x[0, 0, 6, 20] = np.nan, np.inf, 3e38
    w[4] = 0
    geometry = [(3, 1, 1, 1)] * 2
    for image, first in ((x, 0), (x, 1), (x.astype(BF16), 0)):
        for out in (np.float32, BF16):
            y = conv(image, in_pairs(w, 1), (1, 5, 9, 40), geometry, out=out, first=first, isa=isa)
            y = y.astype(np.float32)
            assert np.isnan(y[0, :, 1:4, 2:5]).all()
            assert np.isposinf(y[0, :4, 5:8, 29:32]).all()
            assert np.isnan(y[0, 4, 5:8, 29:32]).all()
            assert np.isfinite(y).sum() == y.size - 2 * 9 * 5
    apart = np.ones((9, channels), np.float32)
    image = x.astype(BF16)
    y = conv(image, apart, x.shape, geometry, group=channels, out=BF16, isa=isa).astype(np.float32)
    assert np.isnan(y[0, channels - 1, 1:4, 2:5]).all()
    assert np.isposinf(y[0, 0, 5:8, 29:32]).all()
    assert np.isfinite(y).sum() == y.size - 18


@each_isa
@pytest.mark.parametrize(("channels", "out"), [(5, BF16), (16, BF16), (70, BF16), (70, np.float32)])
def test_pooling_of_bfloat16_images(isa, channels, out) -> None:
    """As of the same images in float32, whose results are then rounded."""
    x = rounded(normal(2, 9, 12, channels))
    x[0, 3, 4, 0], x[1, 5, 5, 1] = np.nan, np.inf
    ints, shape = [0, 3, 2, 1, 1, 1, 3, 2, 1, 1, 1], (2, 5, 6, channels)
    for kernel in ("max_pool_last", "average_pool_last"):
        if kernel == "max_pool_last" and out != BF16:
            continue
        (wide,) = call(kernel, [x], [(np.float32, shape)], ints, isa=isa)
        (narrow,) = call(kernel, [x.astype(BF16)], [(out, shape)], ints, isa=isa)
        np.testing.assert_array_equal(narrow.astype(np.float32), wide.astype(out).astype(np.float32))
        if kernel == "average_pool_last":
            (stored,) = call(kernel, [x], [(BF16, shape)], ints, isa=isa)
            np.testing.assert_array_equal(stored.astype(np.float32), wide.astype(BF16).astype(np.float32))


def test_levels_agree_bit_for_bit() -> None:
    """All but subnormal numbers: vdpbf16ps adds the products of a pair as the other levels do. AMX adds those
    of up to 16 pairs before the sum takes them, bfdot those of a pair, to odd. All are within the bound."""
    x, w = normal(1, 37, 8, 9), normal(40, 37, 3, 3)
    expect, bound = wanted(rounded(x), rounded(w), np.zeros(40), 1, (3, 3), (1, 1), (1, 1), (1, 1))
    results = [conv(x, in_pairs(w, 1), (1, 40, 8, 9), [(3, 1, 1, 1)] * 2, isa=isa) for isa in isa_levels()]
    for isa, other in zip(isa_levels(), results, strict=True):
        assert (np.abs(other - expect) <= bound).all()
        if isa_name(isa) not in ("amx", "bf16i8mm"):
            np.testing.assert_array_equal(other, results[0])


HOSTILE = [
    ({"w": in_pairs(normal(4, 3, 3, 3), 1)}, "packed"), ({"w": in_pairs(normal(4, 3, 3, 3), 2)}, "packed"),
    ({"w": packed(normal(4, 2, 3, 3), 1)}, "VNNI2_32"), ({"first": 1}, "channels last"),
    ({"act": RELU + ROUNDED}, "float32 result"), ({"x": np.zeros((1, 4, 8, 8), BF16)}, "packed"),
    ({"w": np.zeros((1, 18, 4), BF16)}, "of bfloat16"),
    ({"residual": np.zeros((1, 4, 8, 7), BF16)}, "residual"),
    ({"x": np.zeros((1, 6, 8, 8), BF16), "w": in_pairs(normal(4, 3, 3, 3), 2), "group": 2}, "even number"),
    ({"residual": np.zeros((1, 4, 8, 8), np.float32)}, "no kernel row"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), HOSTILE)
def test_what_does_not_fit_is_refused(change, words) -> None:
    given = {"x": normal(1, 2, 8, 8).astype(BF16), "w": in_pairs(normal(4, 2, 3, 3), 1), "out": BF16}
    with pytest.raises(KernelError, match=words):
        conv(shape=(1, 4, 8, 8), geometry=[(3, 1, 1, 1)] * 2, **(given | change))
