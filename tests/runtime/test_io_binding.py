"""InferenceSession's io_binding: memory of the caller, what may not be written, and values of onnxruntime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from small_models import assert_projected, rows

import ascend_ep
from ascend_ep.errors import AscendError


def test_io_binding_writes_into_the_callers_memory(session: ascend_ep.InferenceSession) -> None:
    x, out = rows(4), np.zeros((8, 4), np.float32)
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, out.shape, out.ctypes.data)
    session.run_with_iobinding(binding)
    assert_projected(out, x)
    assert binding.get_outputs()[0].data_ptr() == out.ctypes.data
    copied = binding.copy_outputs_to_cpu()[0]
    out[:] = 0
    assert_projected(copied, x)
    binding.clear_binding_outputs()
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert_projected(binding.copy_outputs_to_cpu()[0], x)


def test_io_binding_to_memory_that_runs_cant_write(session: ascend_ep.InferenceSession) -> None:
    x = rows(4)
    expected = session.run(None, {"x": x})[0]
    whole = np.zeros((8, 8), np.float32)
    strided, fixed = whole[:, ::2], np.zeros((8, 4), np.float32)
    fixed.flags.writeable = False
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_ortvalue_output("y", ascend_ep.OrtValue.ortvalue_from_numpy(strided))
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(strided, expected)
    binding.bind_ortvalue_output("y", ascend_ep.OrtValue.ortvalue_from_numpy(fixed))
    with pytest.raises(ValueError, match="read-only"):
        session.run_with_iobinding(binding)
    assert not fixed.any()
    binding.bind_output("y")
    for _ in range(2):
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), expected)


def test_io_binding_to_their_ortvalue(session: ascend_ep.InferenceSession) -> None:
    out = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros((8, 2), np.float32))
    binding = session.io_binding()
    binding.bind_cpu_input("x", rows(2))
    binding.bind_ortvalue_output("y", out)
    session.run_with_iobinding(binding)
    assert_projected(out.numpy(), rows(2))


def test_io_binding_refuses_a_buffer_of_another_shape(session: ascend_ep.InferenceSession) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", rows(3))
    binding.bind_ortvalue_output("y", ascend_ep.OrtValue.ortvalue_from_shape_and_type([8, 2], np.float32))
    with pytest.raises(AscendError, match=r"\[8, 3\].*\[8, 2\]"):
        session.run_with_iobinding(binding)
    with pytest.raises(AscendError, match=r"\[q\] is no output"):
        binding.bind_output("q")
    with pytest.raises(AscendError, match="no device"):
        binding.bind_output("y", "cuda")
