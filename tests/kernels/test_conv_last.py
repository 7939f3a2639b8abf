"""conv_last against float64, and itself: batches, threads, layouts of X. Tolerance as in test_conv."""

from __future__ import annotations

from itertools import chain, product
from math import prod

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, Panel32, call

from ascend_ep.graph.reference_windows import Sliding, convolve

EPS = 2.0**-24
NONE, RELU, SILU, CLIP, HARD_SWISH, LEAKY_RELU = 0, 1, 4, 7, 8, 9
rng = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def last(x: np.ndarray) -> np.ndarray:
    """[N, C, spatial..] as [N, spatial.., C]."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def packed(w: np.ndarray, group: int) -> Panel32 | np.ndarray:
    """[M, C/group, kernel..] as the kernel reads it."""
    outputs, fan_in = w.shape[0] // group, w.shape[1]
    if outputs == fan_in == 1:
        return w.reshape(group, -1).T.copy()
    taps = w.reshape(group, outputs, fan_in, prod(w.shape[2:]))
    return Panel32(taps.transpose(0, 3, 2, 1).reshape(group, -1, outputs))


def conv(
    x, w, shape, geometry, *, bias=None, residual=None, group=1, act=NONE, first=0, low=0, high=0, isa=None,
    threads=2,
):  # fmt: skip
    """Arrays and the result have channels first, as in ONNX; `geometry`: (kernel, stride, dilation, pad)."""
    ints = [group, act, first, *chain.from_iterable(geometry)]
    ins = [x if first else last(x), w, bias, None if residual is None else last(residual)]
    out = (shape[0], *shape[2:], shape[1])
    y = call("conv_last", ins, [(np.float32, out)], ints, [low, high], isa, threads)[0]
    return np.moveaxis(y, -1, 1)


def check(isa, batch, channels, outputs, dims, kernel, stride, dilation, pad, group=1) -> None:
    x, w = normal(batch, channels, *dims), normal(outputs, channels // group, *kernel)
    bias = normal(outputs)
    x64, w64 = x.astype(np.float64), w.astype(np.float64)
    arguments = (group, Sliding(kernel, stride, dilation, [*pad, *pad]))
    expect = convolve(x64, w64, bias.astype(np.float64), *arguments)
    size = convolve(abs(x64), abs(w64), abs(bias).astype(np.float64), *arguments)
    bound = (prod(w.shape[1:]) + 2) * EPS * size
    geometry = list(zip(kernel, stride, dilation, pad, strict=True))
    y = conv(x, packed(w, group), expect.shape, geometry, bias=bias, group=group, isa=isa)
    assert (np.abs(y - expect) <= bound).all()
    if not channels == outputs == group:
        again = conv(x, packed(w, group), expect.shape, geometry, bias=bias, group=group, first=1, isa=isa)
        np.testing.assert_array_equal(again, y)


@each_isa
@pytest.mark.parametrize(
    "channels",
    [(1, 1, 1), (3, 33, 1), (16, 8, 1), (6, 10, 2), (40, 64, 1), (8, 8, 4), (17, 5, 1), (64, 70, 2)],
)
@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "pad"),
    [
        ((7, 7), (1, 1), (1, 1), (1, 1), (0, 0)), ((8, 9), (3, 3), (1, 1), (1, 1), (1, 1)),
        ((9, 33), (3, 3), (2, 2), (1, 1), (1, 1)), ((15, 11), (7, 7), (2, 2), (1, 1), (3, 3)),
        ((12, 40), (3, 5), (1, 3), (2, 1), (2, 2)), ((5, 5), (1, 1), (2, 2), (1, 1), (0, 0)),
        ((1, 64), (1, 3), (1, 1), (1, 4), (0, 4)), ((6, 6), (6, 6), (1, 1), (1, 1), (0, 0)),
        ((4, 4), (3, 3), (1, 2), (1, 1), (2, 0)), ((5, 6), (1, 1), (1, 1), (1, 1), (1, 2)),
    ],
)  # fmt: skip
def test_two_axes(isa, channels, size, kernel, stride, dilation, pad) -> None:
    inputs, outputs, group = channels
    check(isa, 2, inputs, outputs, size, kernel, stride, dilation, pad, group)


@each_isa
@pytest.mark.parametrize(("kernel", "stride", "dilation", "pad"), [(3, 1, 1, 1), (5, 2, 1, 2), (4, 3, 2, 0)])
@pytest.mark.parametrize("group", [1, 4])
def test_one_axis(isa, kernel, stride, dilation, pad, group) -> None:
    check(isa, 2, 8, 12, (50,), (kernel,), (stride,), (dilation,), (pad,), group)


@each_isa
@pytest.mark.parametrize("channels", [1, 5, 16, 35])
@pytest.mark.parametrize("size", [3, 5, 2])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_channels_apart(isa, channels, size, stride) -> None:
    for dims, dilation in product([(7, 7), (14, 33), (3, 2), (13, 40)], [1, 2]):
        pad = size // 2 * dilation
        check(isa, 2, channels, channels, dims, *[(v, v) for v in (size, stride, dilation, pad)], channels)


@each_isa
def test_channels_apart_at_the_sides(isa) -> None:
    """Pixels of a block that read some of the taps, or none; rows of more taps than blocks share."""
    drawn = np.random.default_rng(5)
    for _ in range(60):
        size = [int(k) for k in drawn.choice((1, 3, 4, 5, 7, 9, 33), 2)]
        stride, dilation = ([int(v) for v in drawn.integers(1, 4, 2)] for _ in range(2))
        pad = [int(drawn.integers(0, k * d + 1)) for k, d in zip(size, dilation, strict=True)]
        least = [(k - 1) * d + 1 - 2 * p for k, d, p in zip(size, dilation, pad, strict=True)]
        dims = tuple(max(1, lowest) + int(drawn.integers(0, 24)) for lowest in least)
        channels = int(drawn.integers(1, 40))
        check(isa, 1, channels, channels, dims, size, stride, dilation, pad, channels)


@each_isa
def test_strips_of_few_channels_end_where_their_memory_does(isa) -> None:
    """Channels that come first are put last in the strip, whose last line has no padding behind it."""
    for channels, height, width in product((1, 2, 5, 7), range(1, 9), (9, 12)):
        x, w = normal(1, channels, height + 1, width), normal(3, channels, height, 3)
        geometry = [(height, 1, 1, 0), (3, 1, 1, 0)]
        shape = (1, 3, 2, width - 2)
        y = conv(x, packed(w, 1), shape, geometry, first=1, isa=isa, threads=1)
        np.testing.assert_array_equal(y, conv(x, packed(w, 1), shape, geometry, isa=isa, threads=1))


@each_isa
def test_strips_and_parts(isa) -> None:
    """Large enough for several strips of an image, and for weights that are split among chunks."""
    check(isa, 1, 96, 40, (33, 60), (3, 3), (1, 1), (1, 1), (1, 1))
    check(isa, 2, 300, 200, (6, 7), (3, 3), (1, 1), (1, 1), (1, 1))
    check(isa, 3, 520, 290, (9, 5), (1, 1), (2, 2), (1, 1), (0, 0))
    for stride, dilation in ((1, 9), (2, 40), (3, 5)):  # rows between the taps that nothing reads
        check(isa, 1, 90, 40, (50, 70), (3, 3), (stride, 1), (dilation, 2), (dilation, 2))


@each_isa
@pytest.mark.parametrize(("channels", "outputs", "group"), [(20, 33, 1), (33, 33, 33)])
def test_epilogue(isa, channels, outputs, group) -> None:
    x, w, bias = normal(2, channels, 9, 9), normal(outputs, channels // group, 3, 3), normal(outputs)
    residual, geometry = normal(2, outputs, 9, 9), [(3, 1, 1, 1)] * 2
    arguments = {"group": group, "isa": isa}
    bare = conv(x, packed(w, group), residual.shape, geometry, **arguments)
    arguments["bias"] = bias
    biased = conv(x, packed(w, group), residual.shape, geometry, **arguments)
    # Sums may begin with their bias: 180 roundings by up to 4e-6 each, of sums below 64, at random.
    np.testing.assert_allclose(biased, bare + bias[:, None, None], rtol=0, atol=5e-5)
    full = biased + residual
    arguments["residual"] = residual
    y = conv(x, packed(w, group), residual.shape, geometry, act=RELU, **arguments)
    np.testing.assert_array_equal(y, np.maximum(full, 0))
    y = conv(x, packed(w, group), residual.shape, geometry, act=CLIP, low=-1, high=2, **arguments)
    np.testing.assert_array_equal(y, np.clip(full, -1, 2))
    y = conv(x, packed(w, group), residual.shape, geometry, act=SILU, **arguments)
    wide = full.astype(np.float64)
    np.testing.assert_allclose(y, wide / (1 + np.exp(-wide)), rtol=2e-6, atol=1e-7)
    y = conv(x, packed(w, group), residual.shape, geometry, act=HARD_SWISH, **arguments)
    np.testing.assert_allclose(y, wide * np.clip(wide / 6 + 0.5, 0, 1), rtol=1e-6, atol=3e-7)
    y = conv(x, packed(w, group), residual.shape, geometry, act=LEAKY_RELU, low=0.25, **arguments)
    np.testing.assert_array_equal(y, np.where(full < 0, full * np.float32(0.25), full))


@each_isa
def test_an_image_alone_has_the_bits_it_has_in_a_batch(isa) -> None:
    cases = [(24, 70, 1, 1, 3), (24, 70, 1, 2, 3), (24, 24, 24, 1, 3), (24, 48, 2, 1, 3), (24, 70, 1, 2, 1)]
    for channels, outputs, group, stride, size in [*cases, (24, 70, 1, 1, 1)]:
        x, w = normal(3, channels, 30, 31), normal(outputs, channels // group, size, size)
        geometry = [(size, stride, 1, size // 2)] * 2
        shape = (3, outputs, *((n - 1) // stride + 1 for n in x.shape[2:]))
        whole = conv(x, packed(w, group), shape, geometry, group=group, isa=isa, threads=1)
        for threads in (2, 3):
            again = conv(x, packed(w, group), shape, geometry, group=group, isa=isa, threads=threads)
            np.testing.assert_array_equal(again, whole)
        alone = conv(x[1:2], packed(w, group), (1, *shape[1:]), geometry, group=group, isa=isa)
        np.testing.assert_array_equal(alone, whole[1:2])


@each_isa
def test_nan_and_infinity_reach_their_windows_only(isa) -> None:
    for group, channels in [(1, 4), (8, 8)]:
        x, w = normal(1, channels, 12, 40), normal(8, channels // group, 3, 3)
        x[0, 0, 5, 20], x[0, 0, 0, 0] = np.nan, np.inf
        y = conv(x, packed(w, group), (1, 8, 12, 40), [(3, 1, 1, 1)] * 2, group=group, act=RELU, isa=isa)
        expect = np.zeros((8, 12, 40), bool)
        expect[: 8 // group, 4:7, 19:22] = True
        np.testing.assert_array_equal(np.isnan(y[0]), expect)
        assert not np.isinf(y[0, :, 2:]).any()


@each_isa
def test_nothing_in_gives_bias_or_nothing(isa) -> None:
    bias, empty = normal(3), Panel32(np.empty((1, 0, 3), np.float32))
    x = np.empty((1, 0, 4, 4), np.float32)
    y = conv(x, empty, (1, 3, 4, 4), [(1, 1, 1, 0)] * 2, bias=bias, isa=isa)
    np.testing.assert_array_equal(y, np.broadcast_to(bias[:, None, None], y.shape))
    x, w = np.empty((0, 2, 4, 4), np.float32), normal(3, 2, 3, 3)
    assert conv(x, packed(w, 1), (0, 3, 2, 2), [(3, 1, 1, 0)] * 2, isa=isa).shape == (0, 3, 2, 2)


HOSTILE = [
    ({"group": 0}, "group"), ({"group": 3}, "group does not divide"), ({"act": 99}, "activation"),
    ({"first": 2}, "channels_first"), ({"geometry": [(3, 0, 1, 1)] * 2}, "at least 1"),
    ({"geometry": [(3, 1, -1, 1)] * 2}, "at least 1"), ({"geometry": [(2**40, 1, 1, 1)] * 2}, "at least 1"),
    ({"geometry": [(3, 1, 1, 2**40)] * 2}, "padding"), ({"geometry": [(3, 1, 1, 1)]}, "number of arguments"),
    ({"geometry": [(5, 1, 1, 1)] * 2}, "packed"), ({"shape": (1, 4, 8)}, "ranks"),
    ({"geometry": [(100, 1, 1, 1)] * 2}, "kernel is too large"),
    ({"geometry": [(3, 2**31 - 1, 1, 1)] * 2}, "reach too far"),
    ({"shape": (2, 4, 8, 8)}, "batches"), ({"shape": (1, 5, 8, 8)}, "packed"),
    ({"w": np.zeros((1, 18, 4), np.float32)}, "packed"), ({"group": 2}, "packed"),
    ({"bias": np.zeros(3, np.float32)}, "bias"),
    ({"residual": np.zeros((1, 4, 8, 7), np.float32)}, "residual"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), HOSTILE)
def test_what_does_not_fit_is_refused(change, words) -> None:
    w = packed(normal(4, 2, 3, 3), 1)
    arguments = {"w": w, "shape": (1, 4, 8, 8), "geometry": [(3, 1, 1, 1)] * 2} | change
    with pytest.raises(KernelError, match=words):
        conv(normal(1, 2, 8, 8), **arguments)


def test_weights_of_channels_apart_that_do_not_fit_are_refused() -> None:
    x = normal(1, 4, 8, 8)
    for w, words in ((normal(9, 5), "taps"), (packed(normal(4, 4, 3, 3), 1), "taps")):
        with pytest.raises(KernelError, match=words):
            conv(x, w, x.shape, [(3, 1, 1, 1)] * 2, group=4)
    with pytest.raises(KernelError, match="come last"):
        conv(x, normal(9, 4), x.shape, [(3, 1, 1, 1)] * 2, group=4, first=1)


@pytest.mark.parametrize(("channels", "size", "seen"), [(2, 1, 1), (40, 2, 4)])
def test_positions_far_outside_read_as_zero(channels, size, seen) -> None:
    """Strides, dilations and pads as large as they may be: all but `seen` windows read padding alone."""
    far, group = 2**31 - 1, 1 if channels == 2 else 40
    x, w = normal(1, channels, 4, 4), normal(40, channels // group, size, size)
    for pad, left in ((-far, 0), (far, seen)):
        geometry = [(size, far, far if size > 1 else 1, pad)] * 2
        y = conv(x, packed(w, group), (1, 40, 3, 3), geometry, group=group)
        assert np.count_nonzero(y) == 40 * left


@each_isa
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "pad"), [(7, 1, 1, 3), (3, 2, 1, 0), (5, 3, 4, 8), (3, 1, 1, -2)]
)
@pytest.mark.parametrize("group", [1, 2])
def test_pieces_of_long_lines(isa, kernel, stride, dilation, pad, group) -> None:
    """Lines have no rows to share among threads; bits don't depend on how many there are."""
    x, w = normal(2, 20, 1501), normal(36, 20 // group, kernel)
    length = (1501 + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1
    geometry = [(kernel, stride, dilation, pad)]
    given = {"group": group, "isa": isa, "bias": normal(36), "residual": normal(2, 36, length)}
    y = [conv(x, packed(w, group), (2, 36, length), geometry, **given, threads=n) for n in (1, 2, 3)]
    np.testing.assert_array_equal(y[1], y[0])
    np.testing.assert_array_equal(y[2], y[0])
    if pad >= 0:
        check(isa, 2, 20, 36, (1501,), (kernel,), (stride,), (dilation,), (pad,), group)
