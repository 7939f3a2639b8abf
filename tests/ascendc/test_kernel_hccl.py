"""Hccl of kernels in a group of one rank: tasks, windows, and what is named where they are misused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kernel_launch import KernelFault, Program


@pytest.fixture(scope="module")
def hccl(launched: Callable[[str], Program]) -> Program:
    return launched("kernel_hccl")


def outputs(n: int) -> list[np.ndarray[tuple[int], np.dtype[np.float32]]]:
    return [np.zeros(n, np.float32) for _ in range(3)]


@pytest.mark.parametrize("cores", [1, 4])
def test_every_block_reads_what_the_ranks_reduced(hccl: Program, cores: int) -> None:
    x = np.arange(128, dtype=np.float32)
    _, reduced, y = hccl([0, 128], [x], outputs(128), cores=cores)
    np.testing.assert_array_equal(reduced, 2 * x)
    np.testing.assert_array_equal(y, 2 * x)


def test_a_missing_wait_is_named(hccl: Program) -> None:
    with pytest.raises(KernelFault, match="ErrorSync4"):
        hccl([1, 128], [np.ones(128, np.float32)], outputs(128), cores=4)


def test_the_window_of_a_rank(hccl: Program) -> None:
    x = np.arange(64, dtype=np.int32)
    (y,) = hccl([2, 64, 0], [x], [np.zeros_like(x)])
    np.testing.assert_array_equal(y, x)
    with pytest.raises(KernelFault, match="rank 1 of a group of 1"):
        hccl([2, 64, 1], [x], [np.zeros_like(x)])


def test_a_task_without_a_commit(hccl: Program) -> None:
    with pytest.raises(KernelFault, match="0 of 1 tasks were committed"):
        hccl([3], [np.zeros(8, np.int32)], [np.zeros(8, np.int32)])


@pytest.mark.parametrize("cores", [1, 4])
def test_two_objects_of_a_kernel(hccl: Program, cores: int) -> None:
    x = np.arange(8, dtype=np.int32) + 1
    for gathered in hccl([4], [x], [np.zeros(8, np.int32), np.zeros(8, np.int32)], cores=cores):
        np.testing.assert_array_equal(gathered, x)
