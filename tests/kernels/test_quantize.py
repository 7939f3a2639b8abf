"""dequantize and quantize, against numpy, to the bit: each element is a few float32 operations."""

from __future__ import annotations

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32]
#: dims of x, axis, block; block 0 is a scale for each index of the axis, axis None one scale for all
CASES = [
    ((7,), None, 0), ((), None, 0), ((5, 33), 1, 0), ((5, 33), 0, 0), ((3, 4, 9), 1, 0), ((3, 4, 9), 2, 0),
    ((5, 33), 1, 8), ((33, 5), 0, 8), ((2, 10, 3), 1, 4), ((2, 3, 70), 2, 32), ((0, 5), 1, 0), ((4, 0), 1, 8),
    ((200, 70), 1, 16), ((40, 33), 1, 1), ((100000,), 0, 1000),
]  # fmt: skip
case_each = pytest.mark.parametrize(("dims", "axis", "block"), CASES)


def scale_dims(dims: tuple[int, ...], axis: int | None, block: int) -> tuple[int, ...]:
    if axis is None:
        return ()
    return (*dims[:axis], -(-dims[axis] // block), *dims[axis + 1 :]) if block else (dims[axis],)


def spread(table: np.ndarray, dims: tuple[int, ...], axis: int | None, block: int) -> np.ndarray:
    """The element of a table that belongs to each element of x."""
    if axis is None:
        return np.broadcast_to(table, dims)
    if block:
        return np.repeat(table, block, axis)[tuple(slice(d) for d in dims)]
    return np.broadcast_to(table.reshape([-1 if i == axis else 1 for i in range(len(dims))]), dims)


def integers(rng: np.random.Generator, dtype: type, dims: tuple[int, ...]) -> np.ndarray:
    least, most = (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return rng.integers(least, most, dims, dtype, endpoint=True).reshape(dims)


@each_isa
@case_each
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("zero", [False, True])
def test_dequantize(isa, dims, axis, block, dtype, zero) -> None:
    rng = np.random.default_rng(0)
    table = scale_dims(dims, axis, block)
    x, scale = integers(rng, dtype, dims), np.asarray(rng.uniform(0.001, 2, table), np.float32)
    point = integers(rng, dtype, table) if zero else None
    (y,) = call("dequantize", [x, scale, point], [(np.float32, dims)], (axis or 0, block), isa=isa)
    shift = 0 if point is None else spread(point.astype(np.int64), dims, axis, block)
    wanted = (x.astype(np.int64) - shift).astype(np.float32) * spread(scale, dims, axis, block)
    np.testing.assert_array_equal(y, wanted)


@each_isa
@case_each
@pytest.mark.parametrize("dtype", TYPES[:4])
@pytest.mark.parametrize("zero", [False, True])
def test_quantize(isa, dims, axis, block, dtype, zero) -> None:
    rng = np.random.default_rng(1)
    table = scale_dims(dims, axis, block)
    x = np.asarray(rng.standard_normal(dims) * 80, np.float32)
    scale = np.asarray(rng.choice([0.25, 0.5, 1.5], table), np.float32)
    point = integers(rng, dtype, table) if zero else None
    (y,) = call("quantize", [x, scale, point], [(dtype, dims)], (axis or 0, block), isa=isa)
    shift = 0 if point is None else spread(point.astype(np.float32), dims, axis, block)
    wanted = np.rint(x / spread(scale, dims, axis, block)) + shift
    limits = np.iinfo(dtype)
    np.testing.assert_array_equal(y, np.clip(wanted, limits.min, limits.max).astype(dtype))


@each_isa
def test_quantize_rounds_half_to_even_and_saturates(isa: int) -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
    scale = np.ones((), np.float32)
    (y,) = call("quantize", [x, scale, None], [(np.int8, x.shape)], (0, 0), isa=isa)
    np.testing.assert_array_equal(y, [0, 2, 2, 0, -2, 127, -128, 127, -128, -128])


@pytest.mark.parametrize("axis_block_scale", [(2, 0, 3), (0, 0, 3), (-1, 0, 4), (0, -1, 4), (1, 2, 4)])
def test_refusals(axis_block_scale: tuple[int, int, int]) -> None:
    axis, block, elements = axis_block_scale
    x, scale = np.zeros((2, 4), np.int8), np.ones(elements, np.float32)
    with pytest.raises(KernelError):
        call("dequantize", [x, scale, None], [(np.float32, x.shape)], (axis, block))
    with pytest.raises(KernelError, match="zero point"):
        call("dequantize", [x, np.ones(4, np.float32), x[0, :2]], [(np.float32, x.shape)], (1, 0))
