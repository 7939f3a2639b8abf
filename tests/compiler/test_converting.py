"""ascend_ep.convert: what it takes, what the bundle tells, and that atc's way gives the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

import ascend_ep
from ascend_ep.errors import AscendError
from ascend_ep.opdef.loader import load_definitions

TEXT = """<ir_version: 8, opset_import: ["": 17]>
  layer (float[N, 4] x) => (float[N, 4] y) { h = WarmNeg(x)  y = Softmax(h) }"""
DEFINITION = '{"op": "WarmNeg", "inputs": [{"name": "x"}], "outputs": [{"name": "y"}], "formula": "-2 * x"}'
X = np.array([[0, 1, 2, 3]], np.float32)
WANTED = np.exp(-2.0 * X) / np.exp(-2.0 * X).sum()


@pytest.fixture
def definition(tmp_path: Path) -> Path:
    path = tmp_path / "warm.json"
    path.write_text(DEFINITION)
    return path


def forms(tmp_path: Path) -> list[Any]:
    proto = onnx.parser.parse_model(TEXT)
    onnx.save(proto, tmp_path / "m.onnx")
    return [
        tmp_path / "m.onnx",
        str(tmp_path / "m.onnx"),
        proto.SerializeToString(),
        proto,
        ir.from_proto(proto),
    ]


def test_every_form_of_a_model(tmp_path: Path, definition: Path) -> None:
    for model in forms(tmp_path):
        made = ascend_ep.convert(model, custom_ops=definition, input_shape={"x": [None, 4]})
        np.testing.assert_allclose(made.session().run(None, {"x": X})[0], WANTED, rtol=1e-5)


def test_a_bundle_is_saved_for_both_runtimes(tmp_path: Path, definition: Path) -> None:
    made = ascend_ep.convert(onnx.parser.parse_model(TEXT), custom_ops=load_definitions(definition))
    path = made.save(tmp_path / "m.om")
    assert path == tmp_path / "m.om"
    for session in (
        ascend_ep.InferenceSession(path),
        onnxruntime.InferenceSession(tmp_path / "m_ctx.onnx", providers=["AscendEP"]),
    ):
        np.testing.assert_allclose(session.run(None, {"x": X})[0], WANTED, rtol=1e-5)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.om", "m_ctx.onnx", "warm.json"]


def test_reports_of_a_bundle_and_of_sessions(definition: Path) -> None:
    outputs = "(float[N, 4] y, float[M] k) { h = WarmNeg(x)  k = Unique(h)  y = Softmax(h) }"
    host = f"{TEXT.partition('=>')[0]}=> {outputs}"
    made = ascend_ep.convert(onnx.parser.parse_model(host), custom_ops=[definition])
    report = made.report()
    assert sorted(p.op_type for p in report.placements) == ["Softmax", "Unique", "WarmNeg"]
    assert "<table>" in report._repr_html_()
    assert report.summary() in repr(made)
    of_session = ascend_ep.report(made.session())
    assert {p.op_type for p in of_session.on_cpu} == {p.op_type for p in report.on_cpu}
    assert all(p.reason for p in of_session.on_cpu)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"precision": "half"}, "E10001"),
        ({"input_shape": {"x": ["", 4]}}, "E10001"),
        ({"input_shape": {"x": [-3, 4]}}, "E10001"),
        ({"input_shape": "x:0,4"}, "E10011"),
        ({"custom_ops": "missing.json"}, "E10410"),
        ({"soc_version": "Ascend910X"}, "E10001"),
        ({}, "E19010"),
    ],
)
def test_what_is_wrong_is_said_as_atc_says_it(options: dict[str, Any], code: str) -> None:
    with pytest.raises(AscendError) as caught:
        ascend_ep.convert(onnx.parser.parse_model(TEXT), **options)
    assert caught.value.code == code


def test_other_things_are_no_models() -> None:
    with pytest.raises(ValueError, match=r"a builtins\.list is no model"):
        ascend_ep.convert([1])
