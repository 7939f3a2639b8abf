"""conv against float64. Tolerance: an element is a chain of K = taps * C/group roundings (Higham, 3.1)."""

from __future__ import annotations

from itertools import chain, product
from math import prod

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, Panel32, call

from ascend_ep.graph.reference_windows import Sliding, convolve, convolve_transposed

EPS = 2.0**-24
RELU, SILU, HARD_SWISH = 1, 4, 8
rng = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def packed(w: np.ndarray, group: int) -> Panel32:
    outputs = w.shape[0] // group
    return Panel32(w.reshape(group, outputs, prod(w.shape[1:])).transpose(0, 2, 1))


def conv(
    x, w, shape, geometry, *, bias=None, residual=None, group=1, act=0, transposed=0, isa=None, threads=2
):
    """`geometry`: (kernel, stride, dilation, pad) of each axis."""
    ints = [group, act, transposed, *chain.from_iterable(geometry)]
    return call("conv", [x, w, bias, residual], [(np.float32, shape)], ints, [0, 0], isa, threads)[0]


def check(isa, batch, channels, outputs, dims, kernel, stride, dilation, pad, group=1) -> None:
    x, w = normal(batch, channels, *dims), normal(outputs, channels // group, *kernel)
    bias = normal(outputs)
    x64, w64 = x.astype(np.float64), w.astype(np.float64)
    arguments = (group, Sliding(kernel, stride, dilation, [*pad, *pad]))
    expect = convolve(x64, w64, bias.astype(np.float64), *arguments)
    size = convolve(abs(x64), abs(w64), abs(bias).astype(np.float64), *arguments)
    bound = (prod(w.shape[1:]) + 2) * EPS * size
    geometry = list(zip(kernel, stride, dilation, pad, strict=True))
    results = [
        conv(x, weights, expect.shape, geometry, bias=bias, group=group, isa=isa)
        for weights in (w, packed(w, group))
    ]
    for y in results:
        assert (np.abs(y - expect) <= bound).all()


@each_isa
@pytest.mark.parametrize("channels", [(1, 1, 1), (3, 33, 1), (16, 8, 1), (6, 10, 2), (40, 64, 1), (8, 8, 4)])
@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "pad"),
    [
        ((7, 7), (1, 1), (1, 1), (1, 1), (0, 0)), ((8, 9), (3, 3), (1, 1), (1, 1), (1, 1)),
        ((9, 33), (3, 3), (2, 2), (1, 1), (1, 1)), ((15, 11), (7, 7), (2, 2), (1, 1), (3, 3)),
        ((12, 40), (3, 5), (1, 3), (2, 1), (2, 2)), ((5, 5), (1, 1), (2, 2), (1, 1), (0, 0)),
        ((1, 64), (1, 3), (1, 1), (1, 4), (0, 4)), ((6, 6), (6, 6), (1, 1), (1, 1), (0, 0)),
        ((4, 4), (3, 3), (1, 2), (1, 1), (2, 0)),
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
@pytest.mark.parametrize("group", [1, 2, 8])
@pytest.mark.parametrize("behind", [((1, 1, 1, 0),), ((1, 1, 1, 0), (1, 2, 1, 0)), ((3, 1, 1, 1),)])
def test_one_axis_before_axes_of_one_element(isa, group, behind) -> None:
    """Signals written as images of one column; the last is a window of three on such a column."""
    for kernel, stride, dilation, pad in [(20, 1, 1, 0), (3, 2, 1, 1), (1, 1, 1, 0)]:
        axes = list(zip((kernel, stride, dilation, pad), *behind, strict=True))
        check(isa, 2, 8, 16, (50, *(1 for _ in behind)), *axes, group)


@each_isa
@pytest.mark.parametrize("group", [1, 3])
def test_three_axes(isa, group) -> None:
    check(isa, 1, 3, 6, (5, 6, 7), (3, 2, 3), (1, 2, 2), (1, 1, 2), (1, 0, 2), group)


@each_isa
@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize("size", [3, 5, 2, 7, 13])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_depthwise(isa, multiplier, size, stride) -> None:
    for dims, dilation in product([(7, 7), (14, 33), (30, 64), (13, 100)], [1, 2]):
        pad = size // 2 * dilation
        check(
            isa,
            2,
            5,
            5 * multiplier,
            dims,
            (size, size),
            (stride, stride),
            (dilation, dilation),
            (pad, pad),
            5,
        )


@each_isa
@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("pad", [(0, 0), (0, 2), (1, 0), (7, 19), (2, 40)])
def test_depthwise_at_the_boundary(isa, size, pad) -> None:
    """Vectors that lie partly, or wholly, beside the image; windows of which one element is inside."""
    for dims in [(5, 5), (6, 15), (5, 34), (9, 67)]:
        check(isa, 1, 3, 3, dims, (size, size), (1, 1), (1, 1), pad, 3)


@each_isa
@pytest.mark.parametrize("size", [3, 5])
def test_rows_of_a_plane_are_split_without_changing_bits(isa, size) -> None:
    """Few planes: their rows are split among the threads. SiLU is done apart from the sums."""
    x, w, bias, residual = normal(1, 2, 190, 150), normal(2, 1, size, size), normal(2), normal(1, 2, 190, 150)
    geometry = [(size, 1, 1, size // 2)] * 2
    bare = conv(x, w, x.shape, geometry, bias=bias, residual=residual, group=2, isa=isa, threads=1)
    hard_swish = bare * np.clip(bare.astype(np.float64) / 6 + 0.5, 0, 1)
    for act, expect in [
        (0, bare), (RELU, np.maximum(bare, 0)), (SILU, bare / (1 + np.exp(-bare))), (HARD_SWISH, hard_swish),
    ]:  # fmt: skip
        y = [
            conv(x, w, x.shape, geometry, bias=bias, residual=residual, group=2, act=act, isa=isa, threads=n)
            for n in (1, 2, 7)
        ]
        assert y[0].tobytes() == y[1].tobytes() == y[2].tobytes()
        np.testing.assert_allclose(
            y[0], expect, rtol=0 if act in (0, RELU) else 2e-6, atol=3e-7 if act == HARD_SWISH else 1e-30
        )


@each_isa
@pytest.mark.parametrize("outputs", [65, 97, 129])
def test_a_channel_by_itself_leaves_others_as_they_were_packed(isa, outputs) -> None:
    """The last block has one, which isn't packed: its worker's other blocks come back for more images."""
    for batch in (3, 5):
        check(isa, batch, 33, outputs, (4, 5, 7), (1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 1, 1))


@each_isa
def test_k_in_blocks(isa) -> None:
    check(isa, 1, 300, 40, (6, 7), (3, 3), (1, 1), (1, 1), (1, 1))


@each_isa
def test_epilogue(isa) -> None:
    x, w, bias, residual = normal(2, 20, 9, 9), normal(33, 20, 3, 3), normal(33), normal(2, 33, 9, 9)
    geometry = [(3, 1, 1, 1)] * 2
    bare = conv(x, w, residual.shape, geometry, isa=isa)
    y = conv(x, packed(w, 1), residual.shape, geometry, bias=bias, residual=residual, act=RELU, isa=isa)
    np.testing.assert_array_equal(y, np.maximum(bare + bias[:, None, None] + residual, 0))
    deep = normal(33, 1, 3, 3)
    x = normal(2, 33, 9, 9)
    bare = conv(x, deep, residual.shape, geometry, group=33, isa=isa)
    y = conv(x, deep, residual.shape, geometry, bias=bias, residual=residual, group=33, act=RELU, isa=isa)
    np.testing.assert_array_equal(y, np.maximum(bare + bias[:, None, None] + residual, 0))


@each_isa
def test_an_image_alone_has_the_bits_it_has_in_a_batch(isa) -> None:
    for channels, outputs, group, stride in [(24, 70, 1, 1), (24, 70, 1, 2), (24, 24, 24, 1), (24, 48, 2, 1)]:
        x, w = normal(3, channels, 30, 31), normal(outputs, channels // group, 3, 3)
        geometry = [(3, stride, 1, 1)] * 2
        shape = (3, outputs, *((n - 1) // stride + 1 for n in x.shape[2:]))
        whole = conv(x, w, shape, geometry, group=group, isa=isa, threads=1)
        for threads in (2, 3):
            again = conv(x, w, shape, geometry, group=group, isa=isa, threads=threads)
            np.testing.assert_array_equal(again, whole)
        alone = conv(x[1:2].copy(), w, (1, *shape[1:]), geometry, group=group, isa=isa)
        np.testing.assert_array_equal(alone, whole[1:2])


@each_isa
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize(
    ("stride", "dilation", "pad", "extra"),
    [((1, 1), (1, 1), (0, 0), (0, 0)), ((2, 3), (1, 2), (1, 2), (1, 0))],
)
def test_transposed(isa, group, stride, dilation, pad, extra) -> None:
    x, w = normal(2, 6, 7, 20), normal(6, 5, 3, 4)
    arguments = (group, Sliding((3, 4), stride, dilation, [*pad, *pad]), extra, None)
    expect = convolve_transposed(x.astype(np.float64), w.astype(np.float64), None, *arguments)
    size = convolve_transposed(abs(x).astype(np.float64), abs(w).astype(np.float64), None, *arguments)
    transposed = w.reshape(group, 6 // group, 5, 3, 4).swapaxes(1, 2).reshape(5 * group, 6 // group, 3, 4)
    geometry = list(zip((3, 4), stride, dilation, pad, strict=True))
    y = conv(x, transposed.copy(), expect.shape, geometry, group=group, transposed=1, isa=isa)
    assert (np.abs(y - expect) <= (6 // group * 12 + 1) * EPS * size).all()


@each_isa
def test_nan_reaches_its_windows_only(isa) -> None:
    for group, channels in [(1, 4), (4, 4)]:
        x, w = normal(1, channels, 12, 40), normal(8, channels // group, 3, 3)
        x[0, 0, 5, 20] = np.nan
        y = conv(x, w, (1, 8, 12, 40), [(3, 1, 1, 1)] * 2, group=group, isa=isa)
        expect = np.zeros((8, 12, 40), bool)
        expect[: 8 // group, 4:7, 19:22] = True
        np.testing.assert_array_equal(np.isnan(y[0]), expect)


@each_isa
def test_nothing_in_gives_bias_or_nothing(isa) -> None:
    bias = normal(3)
    y = conv(
        np.empty((1, 0, 4, 4), np.float32),
        np.empty((3, 0, 1, 1), np.float32),
        (1, 3, 4, 4),
        [(1, 1, 1, 0)] * 2,
        bias=bias,
        isa=isa,
    )
    np.testing.assert_array_equal(y, np.broadcast_to(bias[:, None, None], y.shape))
    x, w = np.empty((0, 2, 4, 4), np.float32), normal(3, 2, 3, 3)
    assert conv(x, w, (0, 3, 2, 2), [(3, 1, 1, 0)] * 2, isa=isa).shape == (0, 3, 2, 2)


HOSTILE = [
    ({"group": 0}, "group"), ({"group": 3}, "group does not divide"), ({"act": 99}, "activation"),
    ({"transposed": 2}, "transposed"), ({"geometry": [(3, 0, 1, 1)] * 2}, "at least 1"),
    ({"geometry": [(3, 1, -1, 1)] * 2}, "at least 1"), ({"geometry": [(2**40, 1, 1, 1)] * 2}, "at least 1"),
    ({"geometry": [(3, 1, 1, 2**40)] * 2}, "padding"), ({"geometry": [(3, 1, 1, 1)]}, "number of arguments"),
    ({"geometry": [(5, 1, 1, 1)] * 2}, "do not fit the kernel"), ({"shape": (1, 4, 8)}, "ranks"),
    ({"shape": (2, 4, 8, 8)}, "batches"), ({"shape": (1, 5, 8, 8)}, "channels"),
    ({"bias": np.zeros(3, np.float32)}, "bias"),
    ({"residual": np.zeros((1, 4, 8, 7), np.float32)}, "residual"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), HOSTILE)
def test_what_does_not_fit_is_refused(change, words) -> None:
    arguments = {"shape": (1, 4, 8, 8), "geometry": [(3, 1, 1, 1)] * 2} | change
    with pytest.raises(KernelError, match=words):
        conv(normal(1, 2, 8, 8), normal(4, 2, 3, 3), **arguments)


def test_positions_far_outside_read_as_zero() -> None:
    x, w = normal(1, 2, 4, 4), normal(40, 2, 2, 2)
    far = 2**31 - 1
    for weights in (w, packed(w, 1)):
        y = conv(x, weights, (1, 40, 3, 3), [(2, far, far, -far)] * 2)
        assert (y == 0).all()
        y = conv(x, weights, (1, 40, 3, 3), [(2, far, far, 0)] * 2)
        np.testing.assert_allclose(y[0, :, 0, 0], w[:, :, 0, 0] @ x[0, :, 0, 0], rtol=1e-6, atol=1e-6)
        assert (y.reshape(40, 9)[:, 1:] == 0).all()
