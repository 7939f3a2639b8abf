"""The first contact: a model with operators that nobody declares, in a session of either kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest

import ascend_ep
from ascend_ep.cli.atc import main as atc
from ascend_ep.errors import AscendError

MODEL = """<ir_version: 8, opset_import: ["": 17, "ai.custom": 1]>
  layer (float[N, 4] x) => (float[N, 4] y) {
    h = MyThing(x)  k = Sigmod(h)  m = ai.custom.Swih<beta = 2.0>(k)  y = Neg(m) }"""


@pytest.fixture
def unknown(tmp_path: Path) -> str:
    path = tmp_path / "unknown.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return str(path)


def refusal(make: Any, model: str | bytes, **options: Any) -> AscendError:
    with pytest.raises(AscendError) as caught:
        make(model, providers=["AscendEP"], **options)
    return caught.value


@pytest.mark.parametrize("make", [onnxruntime.InferenceSession, ascend_ep.InferenceSession])
def test_sessions_name_every_operator_with_a_definition_to_complete(make: Any, unknown: str) -> None:
    error = refusal(make, unknown)
    said = str(error)
    assert error.code == "E19010"
    assert [op for _, op in error.nodes] == ["MyThing", "Sigmod", "Swih"]
    assert "near it: ai.onnx::Sigmoid" in said
    assert "Min" not in said, "three letters in common are no near miss"
    assert 'provider_options=[{"custom_op_info": "MyThing.json"}]' in said


def test_the_operators_are_those_of_atc(unknown: str, capsys: pytest.CaptureFixture[str]) -> None:
    error = refusal(onnxruntime.InferenceSession, unknown)
    atc([f"--model={unknown}", "--framework=5", "--output=m", "--soc_version=Ascend910B3"])
    by_atc = capsys.readouterr().out
    stubs = [line.strip() for line in error.details if "echo" in line]
    assert len(stubs) == 3
    assert all(stub in by_atc for stub in stubs)


def test_programs_that_catch_onnxruntimes_exception_still_do(unknown: str) -> None:
    raised = onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph
    with pytest.raises(raised, match="Sigmoid"):
        onnxruntime.InferenceSession(unknown, providers=["AscendEP"])


def test_models_given_as_bytes(unknown: str) -> None:
    error = refusal(onnxruntime.InferenceSession, Path(unknown).read_bytes())
    assert (error.code, error.where) == ("E19010", "the given bytes")


def test_what_is_described_is_left_out(unknown: str, tmp_path: Path) -> None:
    described = tmp_path / "thing.json"
    described.write_text(
        json.dumps(
            {"op": "MyThing", "inputs": [{"name": "x"}], "outputs": [{"name": "y"}], "formula": "2 * x"}
        )
    )
    error = refusal(
        onnxruntime.InferenceSession, unknown, provider_options=[{"custom_op_info": str(described)}]
    )
    assert [op for _, op in error.nodes] == ["Sigmod", "Swih"]


def test_sessions_without_our_provider_get_onnxruntimes_words(unknown: str) -> None:
    with pytest.raises(Exception, match="No Op registered for MyThing") as caught:
        onnxruntime.InferenceSession(unknown, providers=["CPUExecutionProvider"])
    assert not isinstance(caught.value, AscendError)
