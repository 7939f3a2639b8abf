"""conv_last where padding reaches far into the windows: wide dilations and large kernels on small images, of
which whole taps read nothing but padding. Tolerances as in test_conv and test_conv_last_bf16."""

from __future__ import annotations

import numpy as np
import pytest
import test_conv_last_bf16 as pairs
from isa_levels import each_isa
from test_conv_last import check, conv, normal, packed


def axis(rng: np.random.Generator) -> tuple[int, int, int, int, int]:
    """Size, kernel, stride, dilation, pad, of which the last is at most what the windows reach."""
    while True:
        size, kernel = int(rng.integers(1, 17)), int(rng.integers(1, 6))
        stride, dilation = int(rng.choice([1, 1, 2, 3])), int(rng.choice([1, 2, 3, 6, 12, 24]))
        pad = int(rng.choice([0, dilation, (kernel - 1) * dilation // 2, (kernel - 1) * dilation]))
        if size + 2 * pad > (kernel - 1) * dilation:
            return size, kernel, stride, dilation, pad


@each_isa
@pytest.mark.parametrize("seed", range(24))
def test_any_geometry(isa, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, kernel, stride, dilation, pad = zip(*(axis(rng) for _ in range(1 + seed % 3)), strict=True)
    inputs, outputs, group = [(5, 3, 1), (8, 40, 2), (33, 7, 1), (6, 6, 6)][seed // 3 % 4]
    check(isa, 2, inputs, outputs, size, kernel, stride, dilation, pad, group)
    if group <= 2 and (group == 1 or inputs // group % 2 == 0):
        pairs.check(isa, 2, inputs, outputs, size, kernel, stride, dilation, pad, group)


@each_isa
def test_what_padding_meets_does_not_count(isa) -> None:
    """A weight that meets padding alone may be infinite; as in onnxruntime, which skips it as well."""
    x, w = normal(1, 4, 5, 5), normal(3, 4, 3, 3)
    w[:, :, 0], w[:, :, 2], w[:, :, :, 0], w[:, :, :, 2] = np.inf, np.nan, -np.inf, np.nan
    y = conv(x, packed(w, 1), (1, 3, 5, 5), [(3, 1, 7, 7)] * 2, isa=isa)
    alone = conv(x, packed(w[:, :, 1:2, 1:2].copy(), 1), (1, 3, 5, 5), [(1, 1, 1, 0)] * 2, isa=isa)
    np.testing.assert_array_equal(y, alone)
