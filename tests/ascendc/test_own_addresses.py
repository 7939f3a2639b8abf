"""Tensors that kernels place themselves lie where their addresses say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kernel_launch import COMPILER, KernelFault, Program

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")


@pytest.fixture(scope="module")
def placed(launched: Callable[[str], Program]) -> Program:
    return launched("own_addresses")


def test_addresses_say_where_tensors_lie(placed: Program) -> None:
    x = np.arange(64, dtype=np.float32)
    (y,) = placed([64], [x], [np.zeros_like(x)])
    np.testing.assert_array_equal(y, x + x)


def test_an_address_outside_of_every_memory_is_named(placed: Program) -> None:
    with pytest.raises(KernelFault, match="outside of the core's memories"):
        placed([0], [], [])


@pytest.mark.parametrize("way", [1, 3], ids=["copied queues and buffers", "a buffer that is gone"])
def test_tensors_of_copies(placed: Program, way: int) -> None:
    x = np.arange(64, dtype=np.float32)
    (y,) = placed([way, 64], [x], [np.zeros_like(x)])
    np.testing.assert_array_equal(y, x + x)


def test_a_tensor_that_no_copy_frees_is_named_once(placed: Program) -> None:
    x = np.arange(64, dtype=np.float32)
    with pytest.raises(KernelFault, match="queue 0: a tensor was never freed") as found:
        placed([2, 64], [x], [np.zeros_like(x)])
    assert str(found.value).count("never freed") == 1


@pytest.mark.parametrize("rows", [3, 8, 20, 32])
def test_what_is_computed_of_no_rows_is_no_fault(placed: Program, rows: int) -> None:
    draw = np.random.default_rng(rows)
    x, by = draw.standard_normal((rows, 48)), draw.standard_normal(32)
    given = [x.astype(np.float32), by.astype(np.float32)]
    (y,) = placed([4, rows], given, [np.zeros((rows, 48), np.float32)])
    np.testing.assert_array_equal(y, given[0] * given[1][:rows, None])
