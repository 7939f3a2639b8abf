"""A kernel of cube and vector cores that wait for each other: GELU(x w + bias)."""

from __future__ import annotations

from collections.abc import Callable
from math import erf

import numpy as np
import pytest
from kernel_launch import COMPILER, ITS_OWN, KernelFault, Program

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")


@pytest.fixture(scope="module")
def linear_add_gelu(launched: Callable[[str], Program]) -> Program:
    return launched("linear_add_gelu")


def launch(program: Program, waits: bool, m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(m + n + k)
    x, w = draw.uniform(-1, 1, (m, k)).astype(np.float16), draw.uniform(-1, 1, (k, n)).astype(np.float16)
    bias = draw.uniform(-1, 1, n).astype(np.float32)
    outputs = [np.zeros((m, n), np.float32), np.zeros((m, n), np.float32)]
    found, _ = program([int(not waits), m, n, k], [x, w, bias], outputs, cores=2, kind=ITS_OWN)
    y = x.astype(np.float64) @ w.astype(np.float64) + bias
    return found, 0.5 * y * (1 + np.vectorize(erf)(y / np.sqrt(2)))


@pytest.mark.parametrize(("m", "n", "k"), [(32, 256, 128), (37, 64, 32), (5, 128, 64)])
def test_linear_add_gelu(linear_add_gelu: Program, m: int, n: int, k: int) -> None:
    found, expected = launch(linear_add_gelu, True, m, n, k)
    assert np.abs(found - expected).max() < 1e-3


def test_a_missing_wait_for_the_cube_is_named(linear_add_gelu: Program) -> None:
    with pytest.raises(KernelFault, match=r"Error(Read2|Sync4|Sync6)"):
        launch(linear_add_gelu, False, 32, 256, 128)
