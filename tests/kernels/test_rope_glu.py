"""Rotary embedding and SwiGLU against float64. Tolerance: two products and one sum for rope, 2 ulp of the
larger product; swiglu has a 3 ulp sigmoid and two products, 4e-7 relative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

rng = np.random.default_rng(5)
F32 = np.float32


def f32(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(F32)


def rope64(x: Any, cos: Any, sin: Any, seq_axis: int, rotary: int, interleaved: int) -> np.ndarray:
    """cos and sin [B or 1, S, R or R/2]."""
    x, cos, sin = (a.astype(np.float64) for a in (x, cos, sin))
    half = rotary // 2
    if cos.shape[-1] == half:
        double = (lambda t: np.repeat(t, 2, -1)) if interleaved else (lambda t: np.concatenate([t, t], -1))
        cos, sin = double(cos), double(sin)
    cos, sin = (np.expand_dims(t, 3 - seq_axis) for t in (cos, sin))
    transposed, rest = x[..., :rotary], x[..., rotary:]
    if interleaved:
        partner = np.stack([-transposed[..., 1::2], transposed[..., ::2]], -1).reshape(transposed.shape)
    else:
        partner = np.concatenate([-transposed[..., half:], transposed[..., :half]], -1)
    return np.concatenate([transposed * cos + partner * sin, rest], -1)


@each_isa
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize(("dim", "rotary"), [(2, 2), (64, 64), (128, 128), (80, 66), (40, 12), (200, 200)])
def test_rope(isa: int, interleaved: int, dim: int, rotary: int) -> None:
    for seq_axis, shape in [(2, (2, 3, 5, dim)), (1, (2, 5, 3, dim))]:
        x = f32(*shape)
        for columns in (rotary // 2, rotary):
            for batch in (1, 2):
                cos, sin = f32(batch, 5, columns), f32(batch, 5, columns)
                (got,) = call("rope", [x, cos, sin], [(F32, shape)], [seq_axis, rotary, interleaved], isa=isa)
                want = rope64(x, cos, sin, seq_axis, rotary, interleaved)
                np.testing.assert_allclose(got, want, rtol=3e-7, atol=2e-6)


@each_isa
@pytest.mark.parametrize(("dim", "rotary"), [(2, 2), (64, 64), (80, 66), (200, 200)])
def test_rope_of_a_head_has_the_bits_it_has_alone(isa: int, dim: int, rotary: int) -> None:
    x, cos, sin = f32(2, 5, 7, dim), f32(1, 7, rotary), f32(1, 7, rotary)
    (got,) = call("rope", [x, cos, sin], [(F32, x.shape)], [2, rotary, 0], isa=isa)
    for head in range(5):
        one = np.ascontiguousarray(x[:, head : head + 1])
        (want,) = call("rope", [one, cos, sin], [(F32, one.shape)], [2, rotary, 0], isa=isa)
        np.testing.assert_array_equal(got[:, head : head + 1], want)


@each_isa
@pytest.mark.parametrize(("dim", "rotary"), [(2, 2), (64, 64), (80, 66), (40, 12), (200, 200)])
def test_rope_from_pairs_to_halves(isa: int, dim: int, rotary: int) -> None:
    x, cos, sin = f32(2, 3, 5, dim), f32(1, 5, rotary), f32(1, 5, rotary)
    grouped = np.concatenate([x[..., :rotary:2], x[..., 1:rotary:2], x[..., rotary:]], -1)
    for columns in (rotary // 2, rotary):
        tables = [np.ascontiguousarray(t[..., :columns]) for t in (cos, sin)]
        (got,) = call("rope_regrouped", [x, *tables], [(F32, x.shape)], [2, rotary, 2], isa=isa)
        (want,) = call("rope", [grouped, *tables], [(F32, x.shape)], [2, rotary, 0], isa=isa)
        np.testing.assert_array_equal(got, want)
    x[0, 0, 0, :2] = [np.nan, np.inf]
    (got,) = call("rope_regrouped", [x, *tables], [(F32, x.shape)], [2, rotary, 2], isa=isa)
    assert np.isnan(got[0, 0, 0, [0, rotary // 2]]).all()
    assert np.isnan(got).sum() == 2
    (got,) = call("rope_regrouped", [x[:, :0], *tables], [(F32, (2, 0, 5, dim))], [2, rotary, 2], isa=isa)
    assert got.size == 0


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_rope_positions(index_type: type) -> None:
    x, cos, sin = f32(2, 3, 5, 16), f32(1, 9, 8), f32(1, 9, 8)
    for batch in (1, 2):
        positions = rng.integers(0, 9, (batch, 5)).astype(index_type)
        (got,) = call("rope", [x, cos, sin, positions], [(F32, x.shape)], [2, 16, 0])
        want = rope64(x, cos[0][positions], sin[0][positions], 2, 16, 0)
        np.testing.assert_allclose(got, want, rtol=3e-7, atol=2e-6)
    for bad in (9, -1, 2**31 - 1):
        positions = np.array([[0, 1, bad, 3, 4]], index_type)
        with pytest.raises(KernelError, match=f"position {bad} is outside the tables' 9 rows") as error:
            call("rope", [x, cos, sin, positions], [(F32, x.shape)], [2, 16, 0])
        assert error.value.code == 11


def test_rope_bits_depend_on_neither_batch_nor_threads() -> None:
    x, cos, sin = f32(4, 9, 33, 72), f32(1, 33, 36), f32(1, 33, 36)
    runs = [call("rope", [x, cos, sin], [(F32, x.shape)], [2, 72, 0], threads=t)[0] for t in (1, 2, 3)]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])
    (alone,) = call("rope", [x[2:3], cos, sin], [(F32, (1, 9, 33, 72))], [2, 72, 0])
    np.testing.assert_array_equal(alone[0], runs[0][2])


@pytest.mark.parametrize(
    ("x", "table", "ints"),
    [
        ((2, 3, 5, 8), (1, 5, 4), [3, 8, 0]),
        ((2, 3, 5, 8), (1, 5, 4), [2, 7, 0]),
        ((2, 3, 5, 8), (1, 5, 4), [2, 10, 0]),
        ((2, 3, 5, 8), (1, 5, 3), [2, 8, 0]),
        ((2, 3, 5, 8), (1, 4, 4), [2, 8, 0]),
        ((2, 3, 5, 8), (3, 5, 4), [2, 8, 0]),
        ((2, 3, 5, 8), (5, 4), [2, 8, 0]),
        ((3, 5, 8), (1, 5, 4), [1, 8, 0]),
        ((2, 3, 5, 8), (1, 5, 4), [2, 8]),
        ((2, 3, 5, 8), (1, 5, 4), [2, 8, 3]),
    ],
)
def test_rope_refuses(x: tuple[int, ...], table: tuple[int, ...], ints: list[int]) -> None:
    with pytest.raises(KernelError, match="rope") as error:
        call("rope", [f32(*x), f32(*table), f32(*table)], [(F32, x)], ints)
    assert error.value.code == 7


def swiglu64(gate: np.ndarray, up: np.ndarray) -> np.ndarray:
    gate = gate.astype(np.float64)
    return gate / (1 + np.exp(-gate)) * up.astype(np.float64)


@each_isa
@pytest.mark.parametrize("shape", [(1,), (3, 5), (2, 3, 64), (2, 5000), (0, 4), ()])
def test_swiglu_of_two_inputs(isa: int, shape: tuple[int, ...]) -> None:
    gate, up = np.asarray(5 * f32(*shape), F32), f32(*shape) if shape else np.array(2, F32)
    (got,) = call("swiglu", [gate, up], [(F32, shape)], [0, 0], isa=isa)
    np.testing.assert_allclose(got, swiglu64(gate, up), rtol=6e-7, atol=1e-37)


@each_isa
@pytest.mark.parametrize("up_first", [0, 1])
@pytest.mark.parametrize("interleaved", [0, 1])
def test_swiglu_of_one_input(isa: int, up_first: int, interleaved: int) -> None:
    for shape in [(2,), (3, 10), (2, 3, 128), (2, 9002)]:
        x = 5 * f32(*shape)
        half = shape[-1] // 2
        parts = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
        gate, up = parts[::-1] if up_first else parts
        out = (*shape[:-1], half)
        for threads in (1, 2):
            (got,) = call("swiglu", [x], [(F32, out)], [up_first, interleaved], isa=isa, threads=threads)
            np.testing.assert_allclose(got, swiglu64(gate, up), rtol=6e-7, atol=1e-37)


def test_swiglu_of_nan_and_infinities() -> None:
    gate = np.array([np.nan, np.inf, -np.inf, -200, 200], F32)
    (got,) = call("swiglu", [gate, np.ones(5, F32)], [(F32, (5,))], [0, 0])
    np.testing.assert_array_equal(got[[0, 1, 4]], [np.nan, np.inf, 200])
    assert np.isnan(got[2])  # -inf times zero
    assert abs(got[3]) < 1e-37


def test_swiglu_refuses() -> None:
    with pytest.raises(KernelError, match="twice"):
        call("swiglu", [f32(2, 5)], [(F32, (2, 2))], [0, 0])
    with pytest.raises(KernelError, match="shapes differ"):
        call("swiglu", [f32(2, 4), f32(2, 2)], [(F32, (2, 4))], [0, 0])


def test_strided_inputs() -> None:
    x, cos, sin = f32(2, 5, 3, 16), f32(1, 5, 8), f32(1, 5, 8)
    heads = x.transpose(0, 2, 1, 3)
    (got,) = call("rope", [heads, cos, sin], [(F32, heads.shape)], [2, 16, 0])
    (want,) = call("rope", [heads.copy(), cos, sin], [(F32, heads.shape)], [2, 16, 0])
    np.testing.assert_array_equal(got, want)
    both = f32(4, 6, 200)
    (got,) = call("swiglu", [both[..., :90], both[::-1, :, 100:190]], [(F32, (4, 6, 90))], [0, 0])
    np.testing.assert_allclose(got, swiglu64(both[..., :90], both[::-1, :, 100:190]), rtol=6e-7, atol=1e-37)
    (got,) = call("swiglu", [both[:, ::2, 10:30]], [(F32, (4, 3, 10))], [1, 1])
    np.testing.assert_allclose(
        got, swiglu64(both[:, ::2, 11:30:2], both[:, ::2, 10:30:2]), rtol=6e-7, atol=1e-37
    )
    with pytest.raises(KernelError, match="last axis"):
        call("rope", [heads.swapaxes(2, 3), cos, sin], [(F32, (2, 3, 16, 5))], [2, 2, 0])
    with pytest.raises(KernelError, match="have strides"):
        call("rope", [heads, cos[..., ::2], sin[..., ::2]], [(F32, heads.shape)], [2, 8, 0])
    with pytest.raises(KernelError, match="last axis"):
        call("swiglu", [both[..., ::2]], [(F32, (4, 6, 50))], [0, 0])
