"""conv_last on volumes, against float64; tolerances as in test_conv and test_conv_last_bf16."""

from __future__ import annotations

import numpy as np
import pytest
import test_conv_last_bf16 as pairs
from isa_levels import each_isa
from test_conv_last import RELU, SILU, check, conv, normal, packed

#: image; kernel, stride, dilation, pad, each of depth, height and width
GEOMETRY = [
    ((3, 5, 7), (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0)),
    ((5, 4, 7), (1, 1, 1), (2, 3, 2), (1, 1, 1), (0, 0, 0)),
    ((2, 3, 3), (1, 1, 1), (1, 2, 1), (1, 1, 1), (2, 0, 1)),
    ((4, 6, 19), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
    ((5, 7, 9), (3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1)),
    ((4, 6, 9), (3, 3, 3), (2, 1, 1), (2, 1, 1), (2, 1, 1)),
    ((6, 3, 9), (5, 1, 1), (1, 1, 1), (1, 1, 1), (2, 0, 0)),
    ((3, 8, 9), (1, 3, 3), (1, 2, 2), (1, 1, 1), (0, 1, 1)),
    ((4, 9, 12), (2, 3, 5), (3, 2, 3), (3, 1, 2), (3, 1, 2)),
    ((1, 4, 5), (3, 3, 3), (1, 1, 1), (1, 1, 1), (3, 1, 1)),
    ((3, 4, 5), (3, 4, 5), (1, 1, 1), (1, 1, 1), (0, 0, 0)),
]


@each_isa
@pytest.mark.parametrize(
    "channels", [(1, 1, 1), (3, 33, 1), (6, 10, 2), (20, 40, 1), (5, 5, 5), (35, 35, 35)]
)
@pytest.mark.parametrize(("size", "kernel", "stride", "dilation", "pad"), GEOMETRY)
def test_sizes(isa, channels, size, kernel, stride, dilation, pad) -> None:
    inputs, outputs, group = channels
    check(isa, 2, inputs, outputs, size, kernel, stride, dilation, pad, group)


@each_isa
@pytest.mark.parametrize("channels", [(3, 33, 1), (8, 10, 2), (20, 40, 1), (35, 35, 35)])
@pytest.mark.parametrize(("size", "kernel", "stride", "dilation", "pad"), GEOMETRY)
def test_bfloat16(isa, channels, size, kernel, stride, dilation, pad) -> None:
    inputs, outputs, group = channels
    if inputs == group:
        pairs.check_apart(isa, inputs, size, kernel, stride, dilation, pad)
    else:
        pairs.check(isa, 2, inputs, outputs, size, kernel, stride, dilation, pad, group)


@each_isa
def test_strips_and_parts(isa) -> None:
    """Large enough for several strips of a plane, and for weights that are split among chunks."""
    check(isa, 1, 40, 40, (4, 33, 60), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1))
    check(isa, 1, 150, 200, (3, 5, 6), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1))


@each_isa
@pytest.mark.parametrize(("channels", "outputs", "group"), [(20, 70, 1), (35, 35, 35)])
def test_threads_batch_and_epilogue(isa, channels, outputs, group) -> None:
    x, w = normal(3, channels, 5, 9, 11), normal(outputs, channels // group, 3, 3, 3)
    bias, residual = normal(outputs), normal(3, outputs, 5, 9, 11)
    shape, geometry = residual.shape, [(3, 1, 1, 1)] * 3
    given = {"bias": bias, "residual": residual, "group": group, "isa": isa}
    whole = conv(x, packed(w, group), shape, geometry, **given, threads=1)
    for threads in (2, 3):
        again = conv(x, packed(w, group), shape, geometry, **given, threads=threads)
        np.testing.assert_array_equal(again, whole)
    given["residual"] = residual[1:2]
    alone = conv(x[1:2], packed(w, group), (1, *shape[1:]), geometry, **given)
    np.testing.assert_array_equal(alone, whole[1:2])
    y = conv(x[1:2], packed(w, group), (1, *shape[1:]), geometry, act=RELU, **given)
    np.testing.assert_array_equal(y, np.maximum(alone, 0))
    y = conv(x[1:2], packed(w, group), (1, *shape[1:]), geometry, act=SILU, **given)
    wide = alone.astype(np.float64)
    np.testing.assert_allclose(y, wide / (1 + np.exp(-wide)), rtol=2e-6, atol=1e-7)


@each_isa
def test_nan_and_infinity_reach_their_windows_only(isa) -> None:
    for group, channels in [(1, 4), (8, 8)]:
        x, w = normal(1, channels, 6, 7, 30), normal(8, channels // group, 3, 3, 3)
        x[0, 0, 2, 3, 20], x[0, 0, 5, 0, 0] = np.nan, np.inf
        y = conv(x, packed(w, group), (1, 8, 6, 7, 30), [(3, 1, 1, 1)] * 3, group=group, act=RELU, isa=isa)
        expect = np.zeros((8, 6, 7, 30), bool)
        expect[: 8 // group, 1:4, 2:5, 19:22] = True
        np.testing.assert_array_equal(np.isnan(y[0]), expect)
        assert not np.isinf(y[0, :, :4]).any()
