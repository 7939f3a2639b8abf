"""The library's Matmul, with the tiling that the host's library computes, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_launch import BFLOAT16, COMPILER, CUBE, ITS_OWN, MIXED, KernelFault, Program

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")
ALL, TILE_BY_TILE, THROUGH_WORKSPACE, TO_LOCAL = range(4)


@pytest.fixture(scope="module")
def matmul(launched: Callable[[str], Program]) -> Program:
    return launched("matmul_object")


def integers(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float64)


@pytest.mark.parametrize("way", [ALL, TILE_BY_TILE, THROUGH_WORKSPACE, TO_LOCAL])
@pytest.mark.parametrize(
    ("case", "dtype", "result", "shape", "transposed"),
    [
        (0, np.float16, np.float32, (64, 64, 32), (False, False)),
        (0, np.float16, np.float32, (70, 49, 33), (True, False)),
        (1, BFLOAT16, BFLOAT16, (33, 100, 40), (False, True)),
        (2, np.float32, np.float32, (5, 7, 3), (True, True)),
        (0, np.float16, np.float32, (200, 130, 96), (True, True)),
    ],
)
def test_every_way_gives_the_product(
    matmul: Program,
    way: int,
    case: int,
    dtype: Any,
    result: Any,
    shape: tuple[int, int, int],
    transposed: tuple[bool, bool],
) -> None:
    m, n, k = shape
    a, b, bias = integers(1, m, k), integers(2, k, n), integers(3, n)
    inputs = [(a.T if transposed[0] else a).astype(dtype), (b.T if transposed[1] else b).astype(dtype)]
    inputs.append(bias.astype(np.float32))
    cores = 4
    room = np.zeros(cores * (m + 32) * (n + 32), result)
    numbers = [case, way, m, n, k, *map(int, transposed), cores, 32 if m > 16 else 16, 16]
    c, _ = matmul(numbers, inputs, [np.zeros((m, n), result), room], cores=cores)
    np.testing.assert_array_equal(c, (a @ b + bias).astype(result))


@pytest.mark.parametrize("kind", [MIXED, ITS_OWN])
def test_vector_cores_of_a_mixed_kernel_use_the_product(matmul: Program, kind: int) -> None:
    m, n, k = 32, 48, 20
    a, b = integers(4, m, k), integers(5, k, n)
    outputs = [np.zeros((m, n), np.float32), np.zeros((m, n), np.float32)]
    numbers = [3, 0, m, n, k, 0, 0, 1, 0, 0]
    c, _ = matmul(numbers, [a.astype(np.float16), b.astype(np.float16)], outputs, kind=kind, ratio=2)
    np.testing.assert_array_equal(c, 2 * (a @ b))


def test_a_tiling_that_the_compiler_knows(matmul: Program) -> None:
    a, b = integers(6, 32, 20), integers(7, 20, 48)
    (c,) = matmul(
        [9], [a.astype(np.float16), b.astype(np.float16)], [np.zeros((32, 48), np.float32)], kind=ITS_OWN
    )
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize(
    ("shape", "fixed"),
    [((1024, 640, 256), (128, 160)), ((1024, 640, 256), (-1, 160)), ((70, 90, 40), (48, 32))],
)
def test_shares_of_cores_hold_the_tile_that_is_fixed(
    matmul: Program, shape: tuple[int, int, int], fixed: tuple[int, int]
) -> None:
    (made,) = matmul([10, 0, *shape, 0, 0, 48, *fixed], [], [np.zeros(5, np.int32)], tracked=False)
    status, m, n, base_m, base_n = made.tolist()
    assert status == 0
    assert m + 15 >= base_m
    assert n + 15 >= base_n
    assert base_n == fixed[1]


def test_a_fixed_tile_beyond_the_product_has_no_tiling(matmul: Program) -> None:
    (made,) = matmul([10, 0, 12, 90, 40, 0, 0, 1, 32, 16], [], [np.zeros(5, np.int32)], tracked=False)
    assert made[0] == -1


@pytest.mark.parametrize(("case", "expected"), [(6, [1, 1, 0, 0]), (7, [1, 1, 1, 1]), (8, [1, 1, 0, 0])])
def test_a_kernel_says_which_cores_it_runs_on(matmul: Program, case: int, expected: list[int]) -> None:
    """Two blocks each note the number of every core that they have: vector, mixed 1:2, cube."""
    (noted,) = matmul([case], [], [np.zeros((4, 16), np.int32)], cores=2, kind=ITS_OWN, tracked=False)
    assert noted[:, 0].tolist() == expected


@pytest.mark.parametrize("by_column", [False, True])
def test_quantisation_by_a_scalar_and_by_columns(matmul: Program, by_column: bool) -> None:
    m, n, k = 19, 37, 50
    a, b = integers(6, m, k), integers(7, k, n)
    scales = np.exp2(np.arange(n) % 5 - 2).astype(np.float32) if by_column else np.full(n, 0.25, np.float32)
    factors = scales.view(np.uint32).astype(np.uint64)
    inputs = [a.astype(np.int8), b.astype(np.int8), factors]
    numbers = [4, int(by_column), m, n, k, 0, 0, 1, 0, 0]
    (c,) = matmul(numbers, inputs, [np.zeros((m, n), np.float16)], kind=CUBE)
    np.testing.assert_array_equal(c, (a @ b * scales).astype(np.float16))


def test_batches_of_heads(matmul: Program) -> None:
    s, heads, d = 18, 3, 24
    q, key = integers(8, s, heads, d), integers(9, s, heads, d)
    inputs = [q.astype(np.float16), key.astype(np.float16)]
    numbers = [5, 0, s, heads, d, 0, 0, 1, 0, 0]
    (c,) = matmul(numbers, inputs, [np.zeros((heads, s, s), np.float32)], kind=CUBE)
    np.testing.assert_array_equal(c, np.einsum("snd,tnd->nst", q, key))


def test_a_result_that_is_too_small_is_named(matmul: Program) -> None:
    a, b, bias = integers(1, 32, 16), integers(2, 16, 32), integers(3, 32)
    inputs = [a.astype(np.float16), b.astype(np.float16), bias.astype(np.float32)]
    with pytest.raises(KernelFault, match=r"ErrorWrite2.*Matmul"):
        matmul(
            [0, ALL, 32, 32, 16, 0, 0, 1, 0, 0],
            inputs,
            [np.zeros((31, 32), np.float32), np.zeros(1, np.float32)],
        )
