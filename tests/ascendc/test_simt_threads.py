"""SIMT functions (VF_CALL, asc_vf_call): threads, barriers, warps, atomics, and their checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kernel_launch import KernelFault, Program

SOURCE = Path(__file__).with_name("simt_threads.cpp")


@pytest.fixture(scope="module")
def simt(launched: Callable[[str], Program]) -> Program:
    return launched("simt_threads")


@pytest.mark.parametrize(("n", "columns"), [(1, 1), (160, 8), (1001, 7)])
def test_threads_share_the_elements(simt: Program, n: int, columns: int) -> None:
    x, bias = np.arange(n, dtype=np.float32), np.arange(columns, dtype=np.float32) / 4
    (y,) = simt([0, n, columns], [x, bias], [np.zeros_like(x)])
    np.testing.assert_array_equal(y, x + bias[np.arange(n) % columns])


@pytest.mark.parametrize("n", [32, 64, 1024])
def test_lanes_exchange_and_threads_wait(simt: Program, n: int) -> None:
    x = np.random.default_rng(n).integers(-50, 50, n, dtype=np.int32)
    (y,) = simt([1, n], [x], [np.zeros_like(x)])
    np.testing.assert_array_equal(y, np.cumsum(x))


@pytest.mark.parametrize("tracked", [False, True])
def test_atomics_reductions_and_votes(simt: Program, tracked: bool) -> None:
    x = np.random.default_rng(3).integers(0, 9, 256, dtype=np.int32)
    outputs = [np.zeros(9, np.int32), np.zeros(8, np.int32), np.zeros(8, np.int32)]
    bins, best, odd = simt([2, 256], [x], outputs, tracked=tracked)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=9))
    np.testing.assert_array_equal(best, x.reshape(8, 32).max(1))
    np.testing.assert_array_equal(odd, (x.reshape(8, 32) & 1).sum(1))


@pytest.mark.parametrize("divisor", [1, 3, 7, 64, 641, 2**31 + 1])
def test_division_by_multiplication(simt: Program, divisor: int) -> None:
    x = np.random.default_rng(divisor).integers(0, 2**32, 64, dtype=np.uint32)
    x[:2] = 0, 2**32 - 1
    (y,) = simt([3, 64, divisor], [x], [np.zeros_like(x)])
    np.testing.assert_array_equal(y, x // np.uint32(divisor))


def test_a_barrier_that_some_threads_never_reach(simt: Program) -> None:
    with pytest.raises(KernelFault, match=r"asc_syncthreads, which 32 of 64 threads never reach") as caught:
        simt([4, 64], [], [np.zeros(64, np.int32)])
    assert "asc_syncthreads()" in SOURCE.read_text().splitlines()[caught.value.line - 1]


def test_too_many_threads(simt: Program) -> None:
    with pytest.raises(KernelFault, match=r"VF_CALL with 4096 threads"):
        simt([5, 4096], [], [np.zeros(4096, np.int32)])


@pytest.mark.parametrize("tracked", [False, True])
def test_what_no_thread_writes_stays(simt: Program, tracked: bool) -> None:
    (y,) = simt([5, 64], [], [np.full(64, 7, np.int32)], tracked=tracked)
    np.testing.assert_array_equal(y, [0] * 63 + [7])
    (y,) = simt([9, 8], [], [np.zeros(8, np.int32)], tracked=tracked)
    np.testing.assert_array_equal(y, [5] + [1] * 7)


def test_groups_of_lanes(simt: Program) -> None:
    (y,) = simt([10, 32, 8], [], [np.zeros(32, np.int32)])
    np.testing.assert_array_equal(y, np.arange(32) // 8 * 8)
    for width in (0, 5, 64):
        with pytest.raises(KernelFault, match="asc_shfl: width is a power of two"):
            simt([10, 32, width], [], [np.zeros(32, np.int32)])


def test_copies_wait_for_threads_and_threads_for_copies(simt: Program) -> None:
    x = np.arange(64, dtype=np.float32)
    (y,) = simt([6, 64], [x], [np.zeros_like(x)])
    np.testing.assert_array_equal(y, 2 * x)
    with pytest.raises(KernelFault, match=r"VF_CALL"):
        simt([7, 64], [x], [np.zeros_like(x)])


def test_threads_wait_for_a_copy_of_what_they_overwrite(simt: Program) -> None:
    x = np.arange(64, dtype=np.float32)
    (y,) = simt([8, 56, True], [x[:56]], [np.zeros(56, np.float32)])
    np.testing.assert_array_equal(y, 2 * x[:56])
    with pytest.raises(KernelFault, match=r"VF_CALL.*written on PIPE_V with no wait since.*MTE3"):
        simt([8, 56, False], [x[:56]], [np.zeros(56, np.float32)])
