"""conv_winograd on volumes, against float64 plane by plane; test_conv_winograd's bound, of K C products."""

from __future__ import annotations

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, Panel32, call
from test_conv_last import last
from test_conv_winograd import EPS, RELU, SILU, A, B, G, by_tiles, normal

from ascend_ep.compiler.rewrites.winograd import Transformed
from ascend_ep.plan.plan import Weight


def transformed(w: np.ndarray) -> Panel32:
    """[M, C, K, 3, 3] as the kernel reads it."""
    outputs, channels = w.shape[:2]
    rows = np.ascontiguousarray(w.transpose(2, 3, 4, 1, 0)).reshape(1, -1, outputs)
    return Panel32(np.ascontiguousarray(Transformed(Weight(rows), channels, w.shape[2]).numpy()))


def winograd(x, w, size, axis, pad=1, *, bias=None, residual=None, act=0, isa=None, threads=2):
    """`axis`: stride, dilation, pad of the depth; `pad`: of height and width."""
    ints = [1, act, 0, w.shape[2], *axis, *[3, 1, 1, pad] * 2]
    rest = [bias, None if residual is None else last(residual)]
    out = (len(x), *size, w.shape[0])
    (y,) = call(
        "conv_winograd", [last(x), transformed(w), *rest], [(np.float32, out)], ints, (0, 0), isa, threads
    )
    return np.moveaxis(y, -1, 1)


def by_planes(x, w, size, axis, pad, a, b, g) -> np.ndarray:
    stride, dilation, before = axis
    y = np.zeros((len(x), w.shape[0], *size))
    for place in range(size[0]):
        for k in range(w.shape[2]):
            plane = place * stride - before + k * dilation
            if 0 <= plane < x.shape[2]:
                y[:, :, place] += by_tiles(x[:, :, plane], w[:, :, k], size[1:], (pad, pad), a, b, g)
    return y


def check(y, x, w, size, axis, pad=1, finish=lambda y: y) -> None:
    wanted = finish(by_planes(x, w, size, axis, pad, A, B, G))
    bound = by_planes(np.abs(x), np.abs(w), size, axis, pad, np.abs(A), np.abs(B), np.abs(G))
    assert (np.abs(y - wanted) <= EPS * (x.shape[1] * w.shape[2] + 20) * (bound + 1)).all()


@each_isa
@pytest.mark.parametrize(
    ("batch", "channels", "outputs", "image", "planes", "size", "axis", "pad"),
    [
        (1, 1, 1, (1, 3, 3), 1, (1, 1, 1), (1, 1, 0), 0),
        (2, 16, 32, (4, 7, 9), 3, (4, 7, 9), (1, 1, 1), 1),
        (1, 17, 33, (5, 5, 6), 3, (3, 5, 6), (2, 1, 1), 1),
        (1, 3, 40, (6, 8, 8), 2, (7, 6, 6), (1, 2, 2), 0),
        (2, 20, 5, (3, 4, 4), 1, (3, 4, 4), (1, 1, 0), 1),
        (1, 5, 8, (2, 4, 5), 3, (4, 4, 5), (1, 1, 3), 1),
    ],
)
def test_sizes(isa, batch, channels, outputs, image, planes, size, axis, pad) -> None:
    x, w = normal(batch, channels, *image), normal(outputs, channels, planes, 3, 3, seed=1)
    check(winograd(x, w, size, axis, pad, isa=isa), x, w, size, axis, pad)


@each_isa
def test_blocks_parts_batch_and_epilogue(isa) -> None:
    size, axis = (3, 11, 10), (1, 1, 1)
    x, w = normal(2, 90, *size), normal(45, 90, 3, 3, 3, seed=1)
    bias, residual = normal(45, seed=2), normal(2, 45, *size, seed=3)
    given = {"bias": bias, "residual": residual, "isa": isa}
    y = winograd(x, w, size, axis, **given, threads=1)
    added = bias[:, None, None, None] + residual
    check(y, x, w, size, axis, finish=lambda y: y + added)
    for threads in (2, 3):
        np.testing.assert_array_equal(winograd(x, w, size, axis, **given, threads=threads), y)
    given["residual"] = residual[1:]
    np.testing.assert_array_equal(winograd(x[1:], w, size, axis, **given), y[1:])
    relu = winograd(x[1:], w, size, axis, act=RELU, **given)
    np.testing.assert_array_equal(relu, np.maximum(y[1:], 0))
    silu, wide = winograd(x[1:], w, size, axis, act=SILU, **given), y[1:].astype(np.float64)
    np.testing.assert_allclose(silu, wide / (1 + np.exp(-wide)), rtol=2e-6, atol=1e-6)


@each_isa
def test_what_is_not_finite_stays_in_its_tiles(isa) -> None:
    x, w = normal(1, 20, 5, 8, 8), normal(33, 20, 3, 3, 3, seed=1)
    x[0, 3, 2, 2, 2] = np.nan
    y = winograd(x, w, (5, 8, 8), (1, 1, 1), isa=isa)
    assert np.isnan(y[0, :, 1:4, 1:4, 1:4]).all()
    for rest in (y[0, :, 0], y[0, :, 4], y[0, :, :, 4:], y[0, :, :, :, 4:]):
        assert np.isfinite(rest).all()


def test_weights_of_other_planes_are_refused() -> None:
    x, w = normal(1, 4, 3, 5, 5), normal(6, 4, 2, 3, 3)
    ints = [1, 0, 0, *[3, 1, 1, 1] * 3]
    with pytest.raises(KernelError, match="16, K C, M"):
        call("conv_winograd", [last(x), transformed(w)], [(np.float32, (1, 3, 5, 5, 6))], ints, [0, 0])
