"""Integer products: exact in int64, then rounded as onnxruntime's CPU provider rounds; equal to the bit."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, Quads32, call

TYPES = [np.uint8, np.int8]
SHAPES = [
    (1, 1, 1), (3, 4, 32), (13, 7, 33), (12, 65, 5), (25, 130, 100), (0, 4, 3), (3, 4, 0), (5, 0, 40),
    (49, 64, 33), (16, 261, 40), (800, 3, 9), (770, 0, 5),  # rows enough for AMX, whole tiles and others
]  # fmt: skip


def full_range(rng: np.random.Generator, dtype: type, dims: tuple[int, ...]) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.asarray(rng.integers(limits.min, limits.max, dims, dtype, endpoint=True))


def packed(b: np.ndarray, zero: np.ndarray | None) -> tuple[Quads32, np.ndarray, np.ndarray | None]:
    """A right operand as the converter stores it: int8 in VNNI4_32, sums of its columns, zero point."""
    if b.dtype == np.uint8:
        b = (b ^ np.uint8(128)).view(np.int8)
        zero = (np.zeros((), np.uint8) if zero is None else zero) ^ np.uint8(128)
        zero = np.asarray(zero).view(np.int8)
    return Quads32(b), b.sum(0, dtype=np.int32), zero


def exact(a: np.ndarray, b: np.ndarray, a_zero: np.ndarray | None, b_zero: np.ndarray | None) -> np.ndarray:
    left = a.astype(np.int64) - (0 if a_zero is None else a_zero.astype(np.int64))
    right = b.astype(np.int64) - (0 if b_zero is None else b_zero.astype(np.int64))
    return left @ right


@each_isa
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("zeros", ["none", "one", "columns"])
def test_sums_are_exact(isa: int, shape: tuple[int, int, int], zeros: str) -> None:
    m, k, n = shape
    rng = np.random.default_rng(0)
    for a_type, b_type, panels in product(TYPES, TYPES, (False, True)):
        a, b = full_range(rng, a_type, (m, k)), full_range(rng, b_type, (k, n))
        a_zero = None if zeros == "none" else full_range(rng, a_type, ())
        b_zero = {"none": None, "one": full_range(rng, b_type, ()), "columns": full_range(rng, b_type, (n,))}
        operands = packed(b, b_zero[zeros]) if panels else (b, None, b_zero[zeros])
        ins = [a, *operands[:2], a_zero, operands[2], None]
        (y,) = call("qmatmul", ins, [(np.int32, (m, n))], floats=[0, 0], isa=isa)
        np.testing.assert_array_equal(y, exact(a, b, a_zero, b_zero[zeros]))


@each_isa
@pytest.mark.parametrize("y_type", TYPES)
@pytest.mark.parametrize("per_column", [False, True])
def test_requantisation_rounds_half_to_even_and_saturates(isa, y_type, per_column) -> None:
    rng = np.random.default_rng(1)
    m, k, n = 14, 40, 70
    a, b = full_range(rng, np.uint8, (m, k)), full_range(rng, np.int8, (k, n))
    a_zero, y_zero = np.uint8(131), np.asarray(100 if y_type == np.uint8 else -3, y_type)
    bias = rng.integers(-9999, 9999, n, np.int32)
    a_scale, y_scale = np.float32(0.02), np.float32(0.37)
    b_scale = rng.uniform(1e-4, 1e-2, n).astype(np.float32) if per_column else np.float32(0.004)
    vnni4, sums, _ = packed(b, None)
    ins = [
        a,
        vnni4,
        sums,
        np.asarray(a_zero),
        None,
        bias,
        *map(np.asarray, (a_scale, b_scale, y_scale)),
        y_zero,
    ]
    limits = np.iinfo(y_type)
    (y,) = call("qmatmul", ins, [(y_type, (m, n))], floats=[limits.min, limits.max], isa=isa)
    total = (exact(a, b, np.asarray(a_zero), None) + bias).astype(np.float32)
    wanted = np.rint(total * (a_scale * b_scale / y_scale)) + float(y_zero)
    np.testing.assert_array_equal(y, np.clip(wanted, limits.min, limits.max).astype(y_type))
    (y,) = call("qmatmul", ins, [(y_type, (m, n))], floats=[int(y_zero), 110], isa=isa)
    np.testing.assert_array_equal(y, np.clip(wanted, float(y_zero), 110).astype(y_type))


@each_isa
def test_halves_go_to_the_even(isa: int) -> None:
    a, b = np.arange(1, 12, 2, dtype=np.uint8)[:, None], np.ones((1, 1), np.int8)
    one = np.ones(1, np.float32)
    ins = [a, b, None, None, None, None, one, one, one + one, None]
    (y,) = call("qmatmul", ins, [(np.int8, (6, 1))], floats=[-128, 127], isa=isa)
    np.testing.assert_array_equal(y.ravel(), [0, 2, 2, 4, 4, 6])


@each_isa
@pytest.mark.parametrize("bias", [False, True])
def test_floats_are_sums_times_scales_rounded_once_each(isa: int, bias: bool) -> None:
    rng = np.random.default_rng(2)
    a, b = full_range(rng, np.uint8, (9, 33)), full_range(rng, np.int8, (33, 50))
    scale, scales = np.float32(0.013), rng.uniform(0.001, 0.1, 50).astype(np.float32)
    addend = rng.standard_normal(50).astype(np.float32) if bias else None
    ins = [a, b, None, None, None, addend, np.asarray(scale), scales]
    (y,) = call("qmatmul", ins, [(np.float32, (9, 50))], floats=[0, 0], isa=isa)
    wanted = exact(a, b, None, None).astype(np.float32) * (scale * scales)
    np.testing.assert_array_equal(y, wanted if addend is None else wanted + addend)


@each_isa
@pytest.mark.parametrize(
    ("left", "right"),
    [((7,), (7,)), ((7,), (7, 5)), ((6, 7), (7,)), ((2, 3, 4, 9), (2, 3, 9, 5)), ((3, 4, 9), (1, 9, 5)),
     ((2, 1, 4, 9), (1, 3, 9, 5)), ((2, 3, 4, 8), (8, 50))],
)  # fmt: skip
def test_batches_broadcast(isa: int, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    a, b = full_range(rng, np.int8, left), full_range(rng, np.uint8, right)
    wanted = np.matmul(a.astype(np.int64), b.astype(np.int64))
    ins = [a, b, None, None, None, None]
    (y,) = call("qmatmul", ins, [(np.int32, wanted.shape)], floats=[0, 0], isa=isa)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("fault", ["k", "bias", "zero", "floats", "bounds", "sums", "scale"])
def test_refusals(fault: str) -> None:
    one = np.ones(1, np.float32)
    a, b = np.zeros((2, 4), np.uint8), np.zeros((5 if fault == "k" else 4, 3), np.int8)
    zero = np.zeros(2 if fault == "zero" else 3, np.int8)
    bias = np.zeros(2 if fault == "bias" else 3, np.int32)
    sums = np.zeros(2, np.int32) if fault == "sums" else None
    ins = [a, b, sums, None, zero, bias, None if fault == "scale" else one, one, one, None]
    floats = {"floats": [0], "bounds": [-1, 255]}.get(fault, [0, 255])
    with pytest.raises(KernelError):
        call("qmatmul", ins, [(np.uint8, (2, 3))], floats=floats)


@each_isa
@pytest.mark.parametrize("size", [0, 1, 5, 100, 20011])
@pytest.mark.parametrize("shift", [-3.0, 0.3, 5.0])
def test_dynamic_quantisation(isa: int, size: int, shift: float) -> None:
    x = (np.random.default_rng(size).standard_normal(size) + shift).astype(np.float32)
    ins, outs = [x], [(np.uint8, x.shape), (np.float32, ()), (np.uint8, ())]
    y, scale, zero = call("dynamic_quantize", ins, outs, isa=isa)
    low, high = (np.float32(f(x, initial=np.float32(0))) for f in (np.min, np.max))
    wanted_scale = (high - low) / np.float32(255) or np.float32(1)
    wanted_zero = np.clip(np.rint(-low / wanted_scale), 0, 255)
    assert scale == wanted_scale
    assert zero == wanted_zero
    np.testing.assert_array_equal(y, np.clip(np.rint(x / wanted_scale) + wanted_zero, 0, 255))
