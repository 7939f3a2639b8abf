"""Memory of outputs: whose it is, where it begins, and that it is used again."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_ep.errors import AscendError
from ascend_ep.runtime.output_memory import ALIGNMENT, KEPT, LEAST_BYTES, allocator

FLOATS = LEAST_BYTES // 4


@pytest.mark.parametrize("shape", [(FLOATS,), (3, FLOATS // 2 + 1), (FLOATS * 8,)])
def test_arrays_begin_at_a_page_and_hold_all_elements(shape: tuple[int, ...]) -> None:
    array = allocator(shape, np.dtype(np.float32))()
    assert array.shape == shape
    assert array.flags.c_contiguous
    assert array.ctypes.data % ALIGNMENT == 0
    array[...] = 1
    assert array.sum() == array.size


def test_memory_is_given_out_again_once_nobody_has_it() -> None:
    new = allocator((FLOATS,), np.dtype(np.float32))
    first = new()
    address = first.ctypes.data
    view = first[5:]
    del first
    assert new().ctypes.data != address
    del view
    assert new().ctypes.data == address


def test_arrays_in_use_are_nobody_elses() -> None:
    new = allocator((FLOATS,), np.dtype(np.int32))
    held = [new() for _ in range(2 * KEPT)]
    for i, array in enumerate(held):
        array[...] = i
    assert [int(a.min()) for a in held] == [int(a.max()) for a in held] == list(range(2 * KEPT))


@pytest.mark.parametrize("size", [1 << 17, 200_000])
def test_memory_that_the_allocator_would_give_back_is_kept(size: int) -> None:
    new = allocator((size,), np.dtype(np.uint8))
    address = new().ctypes.data
    assert address % ALIGNMENT == 0  # numpy's own begin 16 bytes behind
    assert new().ctypes.data == address


def test_small_arrays_are_the_allocators() -> None:
    new = allocator((4, 4), np.dtype(np.float32))
    assert new().base is None


@pytest.mark.parametrize("size", [2**44, 2**61])
def test_memory_that_nobody_has_is_an_error(size: int) -> None:
    with pytest.raises(AscendError, match="no memory for an output") as caught:
        allocator((size,), np.dtype(np.float32))()
    assert caught.value.code == "E40008"
