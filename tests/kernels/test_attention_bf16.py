"""The attention kernel with products of bfloat16 pairs on every ISA level, against float64 of rounded ones.

Products of two rounded factors are exact in float32, so scores err as float32 sums do. Weights are rounded
after an exponential within 8e-5; beside weights that are not rounded, each errs by 2^-9 of itself at most,
and so does their mean.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from isa_levels import each_isa, isa_levels
from test_attention import attend, causal, draw, reference

#: Of the largest |v|: rounding a weight, and twice the error of the exponential (of weight and of sum).
WEIGHTS = 2.0**-9 + 2 * 8e-5
#: Of the largest result, between two levels, which may round a weight to neighbours: 2^-8 of one of them.
LEVELS = 2.0**-8


def rounded(x):
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def narrow_reference(q, k, v, mask=None, scale=1.0):
    """Of rounded operands; the weights are not."""
    with np.errstate(invalid="ignore"):
        return reference(rounded(q * np.float32(scale)), rounded(k), rounded(v), mask)


def check(y, expected, v):
    assert np.max(np.abs(y - expected), initial=0) <= WEIGHTS * np.max(np.abs(v), initial=1e-30)


SHAPES = [
    (1, 1, 1, 5, 1, 1, 1),
    (2, 3, 3, 7, 5, 64, 64),
    (1, 4, 2, 33, 47, 20, 17),
    (1, 4, 1, 65, 129, 9, 40),
    (2, 2, 2, 5, 1101, 16, 16),
    (1, 2, 1, 40, 2100, 15, 48),
    (1, 2, 2, 6, 33, 300, 33),
]


@each_isa
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape, isa):
    q, k, v = draw(*shape)
    scale = shape[5] ** -0.5
    expected = narrow_reference(q, k, v, scale=scale)
    y = attend(q, k, v, scale=scale, narrow=1, isa=isa)
    check(y, expected, v)
    np.testing.assert_allclose(y, attend(q, k, v, scale=scale, narrow=1), atol=LEVELS * np.abs(v).max())
    check(attend(q, k, v, scale=scale, narrow=1, heads_last=1, isa=isa), expected, v)


def test_operands_are_rounded():
    """One key: its weight is 1, so the result is v rounded; in float32 it is v, but for three roundings."""
    q, k, v = draw(1, 2, 2, 40, 1, 16, 24)
    repeated = np.broadcast_to(v, (1, 2, 40, 24))
    for isa in isa_levels():
        np.testing.assert_allclose(attend(q, k, v, narrow=1, isa=isa), rounded(repeated), rtol=2e-4)
    np.testing.assert_allclose(attend(q, k, v), repeated, rtol=2e-7)
    assert np.abs(rounded(v) - v).max() > 1e-3


@each_isa
@pytest.mark.parametrize("masked", [-np.inf, np.finfo(np.float32).min, -1e4])
@pytest.mark.parametrize(
    "shape", [(1, 4, 2, 33, 47, 20, 17), (1, 2, 2, 70, 70, 16, 16), (2, 2, 2, 40, 900, 16, 16)]
)
def test_causal_mask(shape, masked, isa):
    q, k, v = draw(*shape)
    mask = causal(shape[3], shape[4], masked)
    y = attend(q, k, v, mask, scale=0.25, narrow=1, isa=isa)
    check(y, narrow_reference(q, k, v, mask, 0.25), v)


@each_isa
def test_special_values(isa):
    q, k, v = draw(1, 2, 1, 40, 71, 16, 16)
    mask = np.zeros((1, 1, 40, 71), np.float32)
    mask[..., 1, :] = -np.inf
    q.view(np.uint32)[0, 1, 0, 3] = 0x7F800001  # a NaN that would round to infinity
    y, expected = attend(q, k, v, mask, narrow=1, isa=isa), narrow_reference(q, k, v, mask)
    assert np.isnan(expected[0, :, 1]).all()
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    finite = ~np.isnan(expected)
    check(y[finite], expected[finite], v)
    expected[~finite] = 0
    check(attend(q, k, v, mask, nan_to_zero=1, narrow=1, isa=isa), expected, v)


@each_isa
def test_a_row_that_is_masked_everywhere_counts_every_key_alike(isa):
    q, k, v = draw(1, 1, 1, 40, 96, 16, 16)
    mask = np.zeros((1, 1, 40, 96), np.float32)
    mask[..., 7, :] = np.finfo(np.float32).min
    y = attend(q, k, v, mask, narrow=1, isa=isa)
    np.testing.assert_allclose(y[:, :, 7], rounded(v).mean(axis=2), atol=1e-4)


@each_isa
def test_strides(isa):
    """Heads split from the last axis; K, V, or both transposed."""
    packed = np.random.default_rng(2).standard_normal((2, 137, 3, 4, 24)).astype(np.float32)
    q, k, v = (packed[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    expected = narrow_reference(q, k, v, scale=0.2)
    transposed = [np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2) for a in (k, v)]
    apart = [np.repeat(a, 2, axis=-1)[..., ::2] for a in (k, v)]
    for keys, values in ((k, v), (transposed[0], v), (k, transposed[1]), apart):
        check(attend(q, keys, values, scale=0.2, narrow=1, isa=isa), expected, v)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rows_depend_neither_on_batch_nor_on_threads(threads):
    q, k, v = draw(3, 4, 2, 45, 83, 16, 32)
    whole = attend(q, k, v, narrow=1, threads=threads)
    for i in range(3):
        alone = attend(q[i : i + 1], k[i : i + 1], v[i : i + 1], narrow=1, threads=1)
        np.testing.assert_array_equal(whole[i : i + 1], alone)


def test_few_queries_keep_float32():
    q, k, v = draw(1, 4, 2, 3, 50, 16, 16)
    np.testing.assert_array_equal(attend(q, k, v, narrow=1), attend(q, k, v))
