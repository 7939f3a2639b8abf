"""onnxruntime's own tools and libraries of operators beside AscendEP."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

import ascend_ep
import ascend_ep.provider

PROVIDERS = ["AscendEP", "CPUExecutionProvider"]
#: NegPos of onnxruntime-extensions gives what is below 0 of a tensor, and what is above.
WITH_A_LIBRARY = """<ir_version: 8, opset_import: ["": 17, "ai.onnx.contrib": 1]>
 g (float[n,4] x, float[4,4] w) => (float[n,4] y) {
   h = MatMul(x, w)  p, q = ai.onnx.contrib.NegPos(h)  y = Sub(p, q) }"""


def test_operators_of_onnxruntime_extensions_beside_ours() -> None:
    library = pytest.importorskip("onnxruntime_extensions").get_library_path()
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(library)
    model = onnx.parser.parse_model(WITH_A_LIBRARY).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=PROVIDERS)
    placed = {p.op_type: p for p in ascend_ep.provider.report(session).placements}
    assert placed["MatMul"] not in ascend_ep.provider.report(session).on_cpu
    x, w = np.random.default_rng(0).standard_normal((2, 4, 4)).astype(np.float32)
    (y,) = session.run(None, {"x": x, "w": w})
    np.testing.assert_allclose(y, -np.abs(x @ w), rtol=1e-5, atol=1e-6)
