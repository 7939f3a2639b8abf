"""Keys and values appended to a cache, and attention to all of them: present is the concatenation, and Y has
the bits of the attention kernel on it, on every ISA level."""

from __future__ import annotations

import numpy as np
import pytest
from isa_levels import isa_levels
from kernel_call import KernelError, call
from test_attention import attend, check, draw, reference

F32 = np.float32


def append(q, new, past, mask=None, scale=1.0, heads_last=0, narrow=0, offset=None, **options):
    """Y, present K, present V"""
    (k, v), (past_k, past_v) = new, past
    batch, heads, queries, _ = q.shape
    dims = (batch, queries, heads, v.shape[3]) if heads_last else (batch, heads, queries, v.shape[3])
    presents = [
        (F32, (*p.shape[:2], p.shape[2] + n.shape[2], p.shape[3])) for p, n in zip(past, new, strict=True)
    ]
    flags = [heads_last, 0, int(offset is not None), offset or 0, narrow]
    ins = [q, k, v, mask, past_k, past_v]
    y, keys, values = call("attention_append", ins, [(F32, dims), *presents], flags, [scale], **options)
    return (y.transpose(0, 2, 1, 3) if heads_last else y), keys, values


def cut(k, v, past):
    """What is new and what is past of keys and values."""
    return (k[:, :, past:], v[:, :, past:]), (k[:, :, :past], v[:, :, :past])


#: batch, heads, kv_heads, queries, keys, depth, width; and how many keys are past
CASES = [
    ((1, 4, 2, 1, 77, 64, 64), 76),
    ((2, 16, 4, 1, 300, 64, 128), 299),
    ((1, 6, 3, 3, 33, 19, 13), 30),
    ((1, 2, 2, 4, 40, 20, 48), 17),
    ((1, 10, 2, 2, 21, 32, 80), 0),
    ((1, 4, 1, 1, 50, 16, 16), 49),
    ((1, 4, 2, 9, 50, 16, 24), 41),
    ((2, 2, 2, 2, 6, 1, 1), 6),
    ((1, 8, 4, 1, 1025, 64, 64), 1024),
]


@pytest.mark.parametrize("narrow", [0, 1])
@pytest.mark.parametrize(("shape", "past"), CASES, ids=str)
def test_like_attention_on_the_whole(shape, past, narrow):
    q, k, v = draw(*shape)
    mask = np.random.default_rng(3).standard_normal((1, 1, shape[3], shape[4])).astype(F32)
    for isa in isa_levels():
        y, keys, values = append(q, *cut(k, v, past), mask, 0.3, narrow=narrow, isa=isa)
        np.testing.assert_array_equal(keys, k)
        np.testing.assert_array_equal(values, v)
        np.testing.assert_array_equal(y, attend(q, k, v, mask, 0.3, narrow=narrow, isa=isa))
        if not narrow or shape[3] <= 4:
            check(y, reference(q, k, v, mask, 0.3))


@pytest.mark.parametrize("queries", [1, 3, 6])
def test_causal(queries):
    q, k, v = draw(1, 4, 2, queries, 40, 32, 32)
    past = 40 - queries
    for isa in isa_levels():
        y, keys, _ = append(q, *cut(k, v, past), offset=past, isa=isa)
        np.testing.assert_array_equal(keys, k)
        np.testing.assert_array_equal(y, attend(q, k, v, offset=past, isa=isa))


def test_keys_that_nobody_sees_are_appended_too():
    q, k, v = draw(1, 2, 2, 2, 60, 16, 16)
    y, keys, values = append(q, *cut(k, v, 20), offset=5)
    np.testing.assert_array_equal(y, attend(q, k, v, offset=5))
    np.testing.assert_array_equal(keys, k)
    np.testing.assert_array_equal(values, v)


@pytest.mark.parametrize("queries", [1, 7])
def test_strides_and_special_values(queries):
    """New heads split from the last axis, past ones transposed; NaN and infinity reach only their readers."""
    q, k, v = draw(2, 4, 2, queries, 35 + queries, 24, 24)
    k[1, 0, 3, 5], v[0, 1, 7, 2], v[0, 0, 9, 1] = np.nan, np.inf, np.nan
    new, past = cut(k, v, 35)
    split = [np.ascontiguousarray(a.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) for a in new]
    transposed = [np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2) for a in past]
    for isa in isa_levels():
        expected = attend(q, k, v, isa=isa)
        assert np.isnan(expected).any()
        assert np.isfinite(expected).any()
        for before in (past, transposed):
            y, keys, values = append(q, split, before, isa=isa)
            np.testing.assert_array_equal(keys, k)
            np.testing.assert_array_equal(values, v)
            np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("heads", [2, 16])
def test_rows_depend_neither_on_batch_nor_on_threads(heads):
    q, k, v = draw(3, heads, 2, 1, 530, 64, 64)
    whole = append(q, *cut(k, v, 529), threads=2)
    for threads in (1, 3, 16):  # of 16 threads, some have no head
        for a, b in zip(whole, append(q, *cut(k, v, 529), threads=threads), strict=True):
            np.testing.assert_array_equal(a, b)
    for i in range(3):
        alone = append(q[i : i + 1], *cut(k[i : i + 1], v[i : i + 1], 529))
        np.testing.assert_array_equal(whole[0][i : i + 1], alone[0])


@pytest.mark.parametrize("shape", [(0, 2, 2, 1, 5, 4, 4), (1, 2, 2, 0, 5, 4, 4), (1, 2, 1, 1, 5, 4, 0)])
def test_empty(shape):
    q, k, v = draw(*shape)
    y, keys, values = append(q, *cut(k, v, 3))
    assert y.size == 0
    np.testing.assert_array_equal(keys, k)
    np.testing.assert_array_equal(values, v)


def test_refusals():
    q, k, v = draw(1, 4, 2, 1, 8, 8, 8)
    new, past = cut(k, v, 6)
    cases = [
        ([q, *new, None, past[0], past[1][:, :, :5]], 8, "present|length"),
        ([q, *new, None, past[0][:, :1], past[1]], 8, "present"),
        ([q, *new, None, *past], 9, "present"),
        ([q, *new, None, past[0][0], past[1]], 8, "four axes"),
    ]
    for inputs, keys, text in cases:
        present = (F32, (1, 2, keys, 8))
        with pytest.raises(KernelError, match=text):
            call("attention_append", inputs, [(F32, (1, 4, 1, 8)), present, present], [0] * 5, [1.0])
