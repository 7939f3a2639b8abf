"""Programs of onnxruntime on an ONNX model, whose import line alone is another."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import ascend_ep

MODEL = """<ir_version: 8, opset_import: ["": 17]> g (float[N, 4] x) => (float[N, 4] y) { y = Sigmoid(x) }"""


def _program(ort: Any, model: str) -> list[Any]:
    """What it prints."""
    ort.set_default_logger_severity(3)
    options = ort.SessionOptions()
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    runs = ort.RunOptions()
    runs.log_severity_level = 3
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    found = [session.run(None, {"x": x}, runs)[0].tolist()]
    value = ort.OrtValue.ortvalue_from_numpy(x, "cpu", 0)
    found.append(session.run_with_ort_values(["y"], {"x": value}, runs)[0].numpy().tolist())
    made = ort.OrtValue.ortvalue_from_shape_and_type([2, 4], np.float32, "cpu", 0)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_output("y", made)
    session.run_with_iobinding(binding, runs)
    found += [made.numpy().tolist(), binding.copy_outputs_to_cpu()[0].tolist()]
    done = threading.Event()
    session.run_async(
        None, {"x": x}, lambda *given: (found.append(given[0][0].tolist()), done.set()), 0, runs
    )
    assert done.wait(60)
    return [*found, ort.get_all_providers(), ort.get_version_string()]


def test_a_program_runs_with_another_import(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(MODEL), path := tmp_path / "m.onnx")
    assert _program(ascend_ep, str(path)) == _program(onnxruntime, str(path))


def test_a_run_that_is_to_end_ends(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(MODEL), path := tmp_path / "m.onnx")
    runs = ascend_ep.RunOptions()
    runs.terminate = True
    session = ascend_ep.InferenceSession(str(path))
    with pytest.raises(Exception, match="terminate"):
        session.run(None, {"x": np.zeros((1, 4), np.float32)}, runs)


def test_other_names_are_absent() -> None:
    with pytest.raises(AttributeError, match="no attribute 'InferenceSessions'"):
        ascend_ep.InferenceSessions  # noqa: B018
