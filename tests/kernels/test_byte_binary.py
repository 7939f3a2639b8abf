"""byte_binary against its float32 steps in NumPy, to the bit: odd sizes, tails, both types, cut results."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

from ascend_ep.runtime._rt import lib

ADD, MULTIPLY = lib.ASC_BYTE_BINARY_ADD, lib.ASC_BYTE_BINARY_MULTIPLY


@each_isa
@pytest.mark.parametrize("dims", [(), (0, 3), (1,), (15,), (255,), (256,), (257,), (2, 3, 37, 61)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("op", [ADD, MULTIPLY])
@pytest.mark.parametrize("cut", [(-inf, inf), (0.0, inf), (-0.3, 0.6)])
def test_steps_of_float32(isa: int, dims: tuple, dtype: type, op: int, cut: tuple) -> None:
    rng = np.random.default_rng(len(dims))
    least = int(np.iinfo(dtype).min)
    a, b = (np.asarray(rng.integers(0, 256, dims) + least).astype(dtype) for _ in range(2))
    zeros = [least + 117, least, least + 90]
    scales = [np.float32(s) for s in (0.0137, 0.0291, 0.0173 if op == ADD else 0.05)]
    x, y = (
        (v.astype(np.float32) - np.float32(z)) * s for v, z, s in zip((a, b), zeros, scales, strict=False)
    )
    made = np.clip(x + y if op == ADD else x * y, np.float32(cut[0]), np.float32(cut[1]))
    rounded = np.rint(made / scales[2]) + np.float32(zeros[2])
    floats = [*map(float, scales), *cut]
    (got,) = call("byte_binary", [a, b], [(dtype, dims)], [op, *zeros], floats, isa=isa)
    np.testing.assert_array_equal(got, np.clip(rounded, least, least + 255).astype(dtype))


@each_isa
@pytest.mark.parametrize("dims", [(0,), (3, 0), (1,), (257,), (5, 63), (3, 256), (2, 40, 301), (9, 600)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("op", [ADD, MULTIPLY])
def test_a_row_of_float32(isa: int, dims: tuple, dtype: type, op: int) -> None:
    rng = np.random.default_rng(len(dims))
    least = int(np.iinfo(dtype).min)
    a = (rng.integers(0, 256, dims) + least).astype(dtype)
    row = rng.standard_normal(dims[-1]).astype(np.float32)
    x = (a.astype(np.float32) - np.float32(least + 117)) * np.float32(0.0137)
    made = np.maximum(x + row if op == ADD else x * row, np.float32(-0.4))
    rounded = np.rint(made / np.float32(0.0173)) + np.float32(least + 90)
    (got,) = call(
        "byte_binary", [a, row], [(dtype, dims)], [op, least + 117, 0 if least == 0 else -1, least + 90],
        [float(np.float32(0.0137)), 1, float(np.float32(0.0173)), -0.4, inf], isa=isa,
    )  # fmt: skip
    np.testing.assert_array_equal(got, np.clip(rounded, least, least + 255).astype(dtype))


@pytest.mark.parametrize("dims", [(4,), (2, 3), (1, 3)])
def test_a_row_of_other_dims(dims: tuple) -> None:
    given = [np.zeros((2, 3), np.uint8), np.zeros(dims, np.float32)]
    with pytest.raises(KernelError):
        call("byte_binary", given, [(np.uint8, (2, 3))], [ADD, 0, 0, 0], [1, 1, 1, 0, 1])


@pytest.mark.parametrize(
    ("ints", "floats", "other"),
    [
        ([9, 0, 0, 0], [1, 1, 1, 0, 1], (3,)),
        ([ADD, 256, 0, 0], [1, 1, 1, 0, 1], (3,)),
        ([ADD, 0, 0, -1], [1, 1, 1, 0, 1], (3,)),
        ([ADD, 0, 0, 0], [1, 0, 1, 0, 1], (3,)),
        ([ADD, 0, 0, 0], [1, 1, inf, 0, 1], (3,)),
        ([ADD, 0, 0, 0], [1, 1, 1, 1, 0], (3,)),
        ([ADD, 0, 0, 0], [1, 1, 1, 0], (3,)),
        ([ADD, 0, 0, 0], [1, 1, 1, 0, 1], (1,)),
    ],
)
def test_refusals(ints: list, floats: list, other: tuple) -> None:
    a, b = np.zeros(3, np.uint8), np.zeros(other, np.uint8)
    with pytest.raises(KernelError):
        call("byte_binary", [a, b], [(np.uint8, (3,))], ints, floats)
