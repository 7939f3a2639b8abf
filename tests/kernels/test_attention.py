"""The attention kernel against float64 on every ISA level: shapes, strides, masks, special values."""

from __future__ import annotations

import numpy as np
import pytest
from isa_levels import each_isa, isa_levels
from kernel_call import KernelError, call

#: Scores and mixing are sums of `depth` and `keys` float32 products; weights sum to one.
RELATIVE = 4e-6


def reference(q, k, v, mask=None, scale=1.0):
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    with np.errstate(all="ignore"):
        scores = scale * (q @ k.swapaxes(-1, -2))
        if mask is not None:
            scores = scores + mask.astype(np.float64)
        if not scores.shape[-1]:
            return np.zeros((*q.shape[:3], v.shape[3]))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ v


def attend(q, k, v, mask=None, scale=1.0, heads_last=0, nan_to_zero=0, narrow=0, offset=None, **options):
    batch, heads, queries, _ = q.shape
    width = v.shape[3]
    dims = (batch, queries, heads, width) if heads_last else (batch, heads, queries, width)
    flags = [heads_last, nan_to_zero, int(offset is not None), offset or 0, narrow]
    (y,) = call("attention", [q, k, v, mask], [(np.float32, dims)], flags, [scale], **options)
    return y.transpose(0, 2, 1, 3) if heads_last else y


def draw(batch, heads, kv_heads, queries, keys, depth, width, seed=0):
    random = np.random.default_rng(seed)
    shapes = (batch, heads, queries, depth), (batch, kv_heads, keys, depth), (batch, kv_heads, keys, width)
    return [random.standard_normal(s).astype(np.float32) for s in shapes]


def check(y, expected):
    scale = np.max(np.abs(expected), initial=1e-30)
    assert np.max(np.abs(y - expected), initial=0) <= RELATIVE * scale


SHAPES = [
    (1, 1, 1, 1, 1, 1, 1),
    (1, 2, 2, 32, 32, 32, 32),
    (2, 3, 3, 7, 5, 64, 64),
    (1, 4, 2, 33, 47, 20, 17),
    (1, 4, 1, 65, 129, 8, 40),
    (1, 2, 1, 34, 150, 64, 32),
    (2, 2, 2, 5, 1100, 16, 16),
    (1, 8, 2, 1, 77, 64, 64),
    (1, 6, 3, 4, 33, 19, 13),
    (1, 2, 1, 40, 2100, 16, 48),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape):
    q, k, v = draw(*shape)
    scale = shape[5] ** -0.5
    expected = reference(q, k, v, scale=scale)
    for isa in isa_levels():
        check(attend(q, k, v, scale=scale, isa=isa), expected)
    check(attend(q, k, v, scale=scale, heads_last=1), expected)


def causal(queries, keys, masked):
    rows, columns = np.arange(queries)[:, None], np.arange(keys)[None]
    return np.where(columns <= rows + keys - queries, 0, masked).astype(np.float32)[None, None]


@pytest.mark.parametrize("masked", [-np.inf, np.finfo(np.float32).min, -1e4])
@pytest.mark.parametrize(
    "shape", [SHAPES[3], SHAPES[7], (1, 2, 2, 70, 70, 16, 16), (2, 2, 2, 40, 2100, 16, 16)]
)
def test_causal_mask(shape, masked):
    q, k, v = draw(*shape)
    mask = causal(shape[3], shape[4], masked)
    for isa in isa_levels():
        check(attend(q, k, v, mask, scale=0.25, isa=isa), reference(q, k, v, mask, 0.25))


@pytest.mark.parametrize("dims", [(2, 4, 9, 50), (2, 1, 1, 50), (1, 4, 9, 1), (1, 1, 9, 50), (2, 1, 9, 50)])
@pytest.mark.parametrize("queries", [9, 3])
def test_mask_broadcasts(dims, queries):
    q, k, v = draw(2, 4, 2, queries, 50, 16, 24)
    dims = tuple(queries if d == 9 else d for d in dims)
    mask = np.random.default_rng(1).standard_normal(dims).astype(np.float32)
    check(attend(q, k, v, mask), reference(q, k, v, mask))


@pytest.mark.parametrize("masked", [-np.inf, np.finfo(np.float32).min])
@pytest.mark.parametrize("seen", [[(0, 128)], [(0, 33)], [(40, 41), (70, 96)], [(100, 128)], []], ids=str)
def test_padding_that_is_the_same_for_all_queries(seen, masked):
    q, k, v = draw(2, 4, 2, 40, 128, 16, 24)
    mask = np.full((2, 1, 1, 128), masked, np.float32)
    for from_, to in seen:
        mask[0, ..., from_:to] = 0
    mask[1, ..., 5:50] = 0.25
    expected = reference(q, k, v, mask)
    for isa in isa_levels():
        y = attend(q, k, v, mask, isa=isa)
        np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
        check(np.nan_to_num(y), np.nan_to_num(expected))


@pytest.mark.parametrize("narrow", [0, 1])
def test_keys_that_padding_hides_are_not_read(narrow):
    q, k, v = draw(1, 2, 2, 40, 96, 16, 16)
    mask = np.zeros((1, 1, 1, 96), np.float32)
    mask[..., 32:64] = -np.inf
    expected = attend(q, k, v, mask, narrow=narrow)
    k[:, :, 32:64] = np.nan
    np.testing.assert_array_equal(attend(q, k, v, mask, narrow=narrow), expected)


@pytest.mark.parametrize("queries", [2, 40])
def test_a_row_that_is_masked_everywhere_counts_every_key_alike(queries):
    """As softmax of equal scores does: adding the lowest float leaves nothing of a score."""
    q, k, v = draw(1, 1, 1, queries, 96, 16, 16)
    mask = causal(queries, 96, np.finfo(np.float32).min)
    mask[..., queries // 2, :] = np.finfo(np.float32).min
    y, expected = attend(q, k, v, mask), reference(q, k, v, mask)
    np.testing.assert_allclose(y[:, :, queries // 2], v.mean(axis=2), atol=1e-6)
    rest = [i for i in range(queries) if i != queries // 2]
    check(y[:, :, rest], expected[:, :, rest])


@pytest.mark.parametrize("queries", [2, 40])
def test_special_values(queries):
    q, k, v = draw(1, 2, 1, queries, 70, 16, 16)
    mask = np.zeros((1, 1, queries, 70), np.float32)
    mask[..., 1, :] = -np.inf
    q[0, 1, 0, 3] = np.nan
    y = attend(q, k, v, mask)
    expected = reference(q, k, v, mask)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    assert np.isnan(y[0, :, 1]).all()
    assert np.isnan(y[0, 1, 0]).all()
    finite = ~np.isnan(expected)
    check(y[finite], expected[finite])
    expected[~finite] = 0
    check(attend(q, k, v, mask, nan_to_zero=1), expected)


@pytest.mark.parametrize("narrow", [0, 1])
@pytest.mark.parametrize(
    ("queries", "keys", "offset"), [(3, 3, 0), (2, 40, 38), (70, 70, 0), (33, 300, 267), (40, 9, 0)]
)
def test_causal_without_a_mask(queries, keys, offset, narrow):
    """As with a mask of -inf, but for the order of sums over keys that a block has no longer."""
    q, k, v = draw(2, 4, 2, queries, keys, 16, 24)
    rows, columns = np.arange(queries)[:, None], np.arange(keys)[None]
    mask = np.where(columns <= rows + offset, 0, -np.inf).astype(np.float32)[None, None]
    for isa in isa_levels():
        y = attend(q, k, v, offset=offset, narrow=narrow, isa=isa)
        np.testing.assert_allclose(y, attend(q, k, v, mask, narrow=narrow, isa=isa), rtol=0, atol=RELATIVE)
        if not narrow or queries <= 4:
            check(y, reference(q, k, v, mask))


@pytest.mark.parametrize("queries", [2, 40])
def test_only_rows_without_keys_are_zero(queries):
    q, k, v = draw(1, 2, 1, queries, 70, 16, 16)
    mask = np.zeros((1, 1, queries, 70), np.float32)
    mask[..., 1, :] = -np.inf
    q[0, 1, 0, 3] = np.nan
    for isa in isa_levels():
        y = attend(q, k, v, mask, nan_to_zero=2, isa=isa)
        assert not y[:, :, 1].any()
        assert np.isnan(y[0, 1, 0]).all()
        assert np.isnan(y).sum() == 16


def test_strides():
    """As exporters leave them: heads split from the last axis, K transposed."""
    random = np.random.default_rng(2)
    packed = random.standard_normal((2, 37, 3, 4, 24)).astype(np.float32)
    q, k, v = (packed[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    expected = reference(q, k, v, scale=0.2)
    for isa in isa_levels():
        check(attend(q, k, v, scale=0.2, isa=isa), expected)
    transposed = np.ascontiguousarray(k.swapaxes(-1, -2)).swapaxes(-1, -2)
    check(attend(q, transposed, v, scale=0.2), expected)
    check(attend(q[:, :, :3], transposed, v, scale=0.2), expected[:, :, :3])


@pytest.mark.parametrize("depth", [1, 2, 5, 7])
def test_transposed_keys_of_little_depth(depth):
    """Packed by two threads, one of which begins within a head: neither writes where the other has."""
    q, k, v = draw(1, 3, 3, 8, 4096, depth, 16)
    transposed = np.ascontiguousarray(k.swapaxes(-1, -2)).swapaxes(-1, -2)
    for isa in isa_levels():
        expected = attend(q, transposed, v, isa=isa, threads=1)
        for _ in range(10):
            np.testing.assert_array_equal(attend(q, transposed, v, isa=isa), expected)


@each_isa
def test_rows_of_keys_a_page_apart(isa):
    """Sixteen heads of 64 side by side: K is moved before it is read again and again."""
    q, k, v = (a.transpose(0, 2, 1, 3) for a in draw(1, 130, 130, 16, 16, 64, 64))
    check(attend(q, k, v, scale=0.125, isa=isa, threads=2), reference(q, k, v, scale=0.125))


def test_rows_depend_neither_on_batch_nor_on_threads():
    q, k, v = draw(3, 4, 2, 45, 83, 16, 32)
    whole = attend(q, k, v, threads=2)
    np.testing.assert_array_equal(whole, attend(q, k, v, threads=1))
    for i in range(3):
        np.testing.assert_array_equal(whole[i : i + 1], attend(q[i : i + 1], k[i : i + 1], v[i : i + 1]))


@pytest.mark.parametrize(
    "shape", [(0, 2, 2, 3, 3, 4, 4), (1, 2, 2, 0, 3, 4, 4), (1, 2, 1, 3, 3, 4, 0), (1, 0, 0, 3, 3, 4, 4)]
)
def test_empty_output(shape):
    assert attend(*draw(*shape)).size == 0


@pytest.mark.parametrize("queries", [2, 9])
def test_no_keys_give_zero(queries):
    assert not attend(*draw(1, 2, 1, queries, 0, 4, 4)).any()


def test_refusals():
    q, k, v = draw(1, 4, 2, 3, 5, 8, 8)
    for inputs, text in [
        ([q, k[:, :1], v], "differ|multiple"),
        ([q[:, :3], k, v], "multiple"),
        ([q, k[:, :, :4], v], "length"),
        ([q[..., :4], k, v], "last axis"),
        ([q, k, v, np.zeros((1, 1, 2, 5), np.float32)], "mask"),
        ([q[0], k, v], "four axes"),
    ]:
        with pytest.raises(KernelError, match=text):
            call("attention", inputs, [(np.float32, q.shape)], [0, 0, 0, 0, 0], [1.0])
    with pytest.raises(KernelError, match="shape"):
        call("attention", [q, k, v], [(np.float32, (1, 4, 3, 9))], [0, 0, 0, 0, 0], [1.0])
    for flags, text in [([0] * 3, "five ints"), ([0, 0, 0, 0, 2], "narrow"), ([0, 0, 0, 1, 0], "offset")]:
        with pytest.raises(KernelError, match=text):
            call("attention", [q, k, v], [(np.float32, q.shape)], flags, [1.0])


@each_isa
@pytest.mark.parametrize("growth", [1e-3, 0.03, 0.2])
def test_scores_that_grow_from_key_to_key(growth, isa):
    """Largest scores are followed up late, early, and at each run; differently by neighbouring queries."""
    q, k, v = draw(1, 1, 1, 40, 600, 16, 32)
    q[..., 0] = np.linspace(0, 2, 40)
    k[..., 0] = growth * np.arange(600)
    y, expected = attend(q, k, v, isa=isa), reference(q, k, v)
    rounding = 8 * 2.0**-24 * 2 * 600 * growth  # of the largest scores
    assert np.max(np.abs(y - expected)) <= (RELATIVE + rounding) * np.max(np.abs(expected))
    for i in (0, 7, 33):
        np.testing.assert_array_equal(attend(q[:, :, i : i + 5], k, v, isa=isa), y[:, :, i : i + 5])
