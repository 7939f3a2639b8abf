"""conv_winograd against float64, and against conv_last.

The bound carries the rounding of each step in absolute values:
    eps (C + 20) |A|^T (|G w G^T| |B|^T |d| |B|) |A|
for C products and as many additions, the two transformations, the weights' own rounding, and the epilogue.
"""

from __future__ import annotations

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, Panel32, call
from test_conv_last import conv, last, packed

from ascend_ep.compiler.rewrites.winograd import G, Transformed
from ascend_ep.plan.plan import Weight

EPS = 2.0**-24
A = np.array([[1, 1, 1, 0], [0, 1, -1, -1]]).T
B = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]]).T
NONE, RELU, SILU, CLIP, HARD_SWISH, LEAKY_RELU = 0, 1, 4, 7, 8, 9


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def transformed(w: np.ndarray) -> Panel32:
    """[M, C, 3, 3] as the kernel reads it."""
    outputs, channels = w.shape[:2]
    rows = np.ascontiguousarray(w.transpose(2, 3, 1, 0)).reshape(1, 9 * channels, outputs)
    return Panel32(np.ascontiguousarray(Transformed(Weight(rows), channels).numpy()))


def winograd(
    x, w, size, pad=(1, 1), *, bias=None, residual=None, act=NONE, bounds=(0, 0), isa=None, threads=2
):
    """Images with channels first, as in ONNX."""
    ints = [1, act, 0, *(v for p in pad for v in (3, 1, 1, p))]
    rest = [bias, None if residual is None else last(residual)]
    out = (len(x), *size, w.shape[0])
    ins = [last(x), transformed(w), *rest]
    (y,) = call("conv_winograd", ins, [(np.float32, out)], ints, bounds, isa, threads)
    return np.moveaxis(y, -1, 1)


def tiles_of(x: np.ndarray, size: tuple[int, int], pad: tuple[int, int]) -> np.ndarray:
    """[N, C, rows, columns, 4, 4]: what each tile reads."""
    rows, columns = (-(-s // 2) for s in size)
    after = [max(2 * n + 2 - p - s, 0) for n, p, s in zip((rows, columns), pad, x.shape[2:], strict=True)]
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (pad[0], after[0]), (pad[1], after[1])])
    windows = np.lib.stride_tricks.sliding_window_view(wide, (4, 4), (2, 3))
    return windows[:, :, : 2 * rows : 2, : 2 * columns : 2]


def by_tiles(x, w, size, pad, a, b, g) -> np.ndarray:
    points = np.einsum("ia,mcab,jb->mcij", g, w.astype(np.float64), g)
    inputs = np.einsum("ai,nchwab,bj->nchwij", b, tiles_of(x, size, pad), b)
    sums = np.einsum("mcij,nchwij->nmhwij", points, inputs)
    y = np.einsum("ia,nmhwij,jb->nmhawb", a, sums, a)
    n, m, rows, _, columns, _ = y.shape
    return y.reshape(n, m, 2 * rows, 2 * columns)[:, :, : size[0], : size[1]]


def check(y, x, w, size, pad, wanted=None) -> None:
    wanted = by_tiles(x, w, size, pad, A, B, G) if wanted is None else wanted
    bound = by_tiles(np.abs(x), np.abs(w), size, pad, np.abs(A), np.abs(B), np.abs(G))
    assert (np.abs(y - wanted) <= EPS * (x.shape[1] + 20) * bound).all()


@each_isa
@pytest.mark.parametrize(
    ("batch", "channels", "outputs", "image", "size", "pad"),
    [
        (1, 1, 1, (3, 3), (1, 1), (0, 0)),
        (1, 3, 5, (4, 4), (4, 4), (1, 1)),
        (2, 16, 32, (7, 9), (7, 9), (1, 1)),
        (3, 17, 33, (5, 6), (5, 6), (1, 1)),
        (1, 40, 70, (13, 8), (11, 6), (0, 0)),
        (1, 20, 64, (9, 9), (10, 12), (2, 0)),
        (1, 8, 31, (6, 30), (6, 30), (1, 1)),
        (2, 5, 4, (3, 3), (5, 4), (2, 2)),
        (1, 2, 3, (4, 4), (3, 3), (-1, -1)),
    ],
)
def test_sizes(isa, batch, channels, outputs, image, size, pad) -> None:
    x, w = normal(batch, channels, *image), normal(outputs, channels, 3, 3, seed=1)
    y = winograd(x, w, size, pad, isa=isa)
    if min(pad) >= 0:
        check(y, x, w, size, pad)
    geometry = [(3, 1, 1, p) for p in pad]
    direct = conv(x, packed(w, 1), (batch, outputs, *size), geometry, isa=isa)
    np.testing.assert_allclose(y, direct, rtol=0, atol=1e-5 * np.abs(direct).max())


@each_isa
def test_blocks_and_parts(isa) -> None:
    """Many tiles make blocks, few of them parts of the panels: bits depend on neither, nor on the batch."""
    for channels, outputs, side in ((300, 40, 22), (200, 130, 7)):
        x, w = normal(2, channels, side, side), normal(outputs, channels, 3, 3, seed=1)
        y = winograd(x, w, (side, side), isa=isa, threads=1)
        check(y, x, w, (side, side), (1, 1))
        for threads in (2, 3):
            np.testing.assert_array_equal(winograd(x, w, (side, side), isa=isa, threads=threads), y)
        np.testing.assert_array_equal(winograd(x[1:], w, (side, side), isa=isa), y[1:])


@each_isa
@pytest.mark.parametrize("outputs", [32, 45])
def test_epilogue(isa, outputs) -> None:
    x, w, size = normal(2, 20, 5, 7), normal(outputs, 20, 3, 3, seed=1), (5, 7)
    bias, residual = normal(outputs, seed=2), normal(2, outputs, *size, seed=3)
    plain = by_tiles(x, w, size, (1, 1), A, B, G)
    whole = plain + bias[:, None, None] + residual
    given = {"bias": bias, "residual": residual, "isa": isa}
    check(winograd(x, w, size, bias=bias, isa=isa), x, w, size, (1, 1), plain + bias[:, None, None])
    check(winograd(x, w, size, **given), x, w, size, (1, 1), whole)
    check(winograd(x, w, size, act=RELU, **given), x, w, size, (1, 1), np.maximum(whole, 0))
    clipped = winograd(x, w, size, act=CLIP, bounds=(-1, 2), **given)
    check(clipped, x, w, size, (1, 1), np.clip(whole, -1, 2))
    silu = winograd(x, w, size, act=SILU, **given)
    check(silu, x, w, size, (1, 1), whole / (1 + np.exp(-whole)))
    swish = winograd(x, w, size, act=HARD_SWISH, **given)
    check(swish, x, w, size, (1, 1), whole * np.clip(whole / 6 + 0.5, 0, 1))
    leaky = winograd(x, w, size, act=LEAKY_RELU, bounds=(0.25, 0), **given)
    check(leaky, x, w, size, (1, 1), np.where(whole < 0, 0.25 * whole, whole))


@each_isa
def test_what_is_not_finite_stays_in_its_tiles(isa) -> None:
    x, w = normal(1, 20, 8, 8), normal(33, 20, 3, 3, seed=1)
    x[0, 3, 2, 2] = np.nan
    y = winograd(x, w, (8, 8), isa=isa)
    assert np.isnan(y[0, :, 1:4, 1:4]).all()
    assert np.isfinite(y[0, :, 4:, :]).all()
    assert np.isfinite(y[0, :, :, 4:]).all()


def test_nothing_in_or_out() -> None:
    w, bias = np.zeros((4, 0, 3, 3), np.float32), normal(4)
    y = winograd(np.zeros((1, 0, 3, 5), np.float32), w, (3, 5), bias=bias)
    np.testing.assert_array_equal(y, np.broadcast_to(bias[:, None, None], y.shape))
    assert winograd(normal(0, 2, 3, 3), normal(4, 2, 3, 3), (3, 3)).shape == (0, 4, 3, 3)


@pytest.mark.parametrize(
    "change", ["group", "channels_first", "kernel", "stride", "dilation", "weights", "plain"]
)
def test_what_does_not_fit_is_refused(change) -> None:
    x, w = last(normal(1, 4, 5, 5)), normal(6, 4, 3, 3)
    ints = [1, NONE, 0, 3, 1, 1, 1, 3, 1, 1, 1]
    at = {"group": 0, "channels_first": 2, "kernel": 3, "stride": 8, "dilation": 5}.get(change)
    if at is not None:
        ints[at] = 2
    weights = transformed(w[:, :3] if change == "weights" else w)
    given = np.zeros((16, 4, 6), np.float32) if change == "plain" else weights
    with pytest.raises(KernelError, match="conv"):
        call("conv_winograd", [x, given, None, None], [(np.float32, (1, 5, 5, 6))], ints, [0, 0])
