"""`import ascend_ep as ort`: what programs that only make sessions use; and errors as the built-in ones."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import ascend_ep as ort
from ascend_ep.errors import AscendError

MODEL = """<ir_version: 8, opset_import: ["": 17]>
  layer (float[N, 4] x, int8[2] k) => (float[N, 4] y, int8[2] l) { y = Neg(x)  l = Identity(k) }"""


@pytest.fixture(scope="module")
def bundle() -> ort.converting.Bundle:
    return ort.convert(onnx.parser.parse_model(MODEL))


def test_the_names() -> None:
    for name in ("GraphOptimizationLevel", "ExecutionMode"):
        ours, theirs = getattr(ort, name), getattr(onnxruntime, name)
        assert {m.name: m.value for m in ours} == {k: int(v) for k, v in theirs.__members__.items()}
    assert ort.get_available_providers() == ["AscendEP", "CPUExecutionProvider"]
    assert ort.get_device() == onnxruntime.get_device()


def test_options_with_our_enumerations_on_a_model(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "m.onnx")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    session = ort.InferenceSession(tmp_path / "m.onnx", options)
    made = session.get_session_options()
    assert made.graph_optimization_level == onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL


def test_lists_are_inputs(bundle: ort.converting.Bundle) -> None:
    session = bundle.session()
    negated, same = session.run(None, {"x": [[1, 2, 3, 4.5]], "k": [3, -4]})
    assert negated.tolist() == [[-1, -2, -3, -4.5]]
    assert same.tolist() == [3, -4]
    for wrong in ([300, 1], [0.5, 1], [[1], [1, 2]]):
        with pytest.raises(AscendError, match=r"\[k\]"):
            session.run(None, {"x": [[1, 2, 3, 4]], "k": wrong})
    with pytest.raises(AscendError, match=r"astype\('float32'\)"):  # an array's type was chosen
        session.run(None, {"x": np.ones((1, 4)), "k": [1, 2]})


def test_values_are_arrays(bundle: ort.converting.Bundle) -> None:
    value = ort.OrtValue.ortvalue_from_numpy(np.arange(4, dtype=np.float32))
    assert np.shares_memory(np.asarray(value), value.numpy())
    assert np.asarray(value, dtype=np.int64).dtype == np.int64


def test_errors_are_the_built_in_ones_that_they_mean(bundle: ort.converting.Bundle, tmp_path: Path) -> None:
    for path in (tmp_path / "no.om", tmp_path / "no.onnx"):
        with pytest.raises(FileNotFoundError, match="E") as caught:
            ort.InferenceSession(path)
        assert isinstance(caught.value, AscendError)
        assert str(caught.value).count(str(path)) == 1, "named once"
        again = pickle.loads(pickle.dumps(caught.value))
        assert (type(again), str(again)) == (type(caught.value), str(caught.value))
    with pytest.raises(ValueError, match="E40001"):
        bundle.session().run(None, {})


def test_no_error_of_ours_makes_onnxruntime_go_on_without_us(tmp_path: Path) -> None:
    """It takes a ValueError of a provider for a reason to fall back on the CPU."""
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "m.onnx")
    wrong = [{"num_threads": "many"}]
    with pytest.raises(AscendError, match="num_threads"):
        onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["AscendEP"], provider_options=wrong)
