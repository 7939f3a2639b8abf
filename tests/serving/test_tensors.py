"""Tensors on the wire."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_ep.serving.tensors import array_from_raw


@pytest.mark.parametrize("offset", range(9))
def test_bytes_become_an_aligned_array_wherever_they_begin(offset: int) -> None:
    place = np.zeros(64, np.uint8)
    values = np.array([1.5, -0.0, np.nan], np.float32)
    place[offset : offset + 12] = values.view(np.uint8)
    array = array_from_raw("x", "FP32", [1, 3], memoryview(place.data)[offset : offset + 12])
    assert array.flags.aligned
    assert array.tobytes() == values.tobytes()
    assert np.shares_memory(array, place) == (offset % 4 == 0)
