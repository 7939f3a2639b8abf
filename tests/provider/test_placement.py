"""Which nodes a session hands over, when some of what looked native turns out not to compile."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest

import ascend_ep.provider
from ascend_ep.provider import placement

GRAPH = """<ir_version: 8, opset_import: ["": 17]>
g (float[N,8] x, float[8,8] w) => (float[N,8] y, int64[2,M] found, float[N,8] z) {
  a = MatMul(x, w)
  y = Relu(a)
  found = NonZero(y)
  b = MatMul(y, w)
  z = Sigmoid(b)
}"""


class Credulous:
    """Claims every node, as the real ones do where only the conversion of a group knows better."""

    def __init__(self, *_: object) -> None: ...

    def __call__(self, node: object) -> None:
        return None


@pytest.mark.parametrize("named", [False, True])
def test_what_does_not_compile_is_left_out_and_the_rest_stays(
    named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exporters name nodes; the name is another than that of the output."""
    model = onnx.parser.parse_model(GRAPH)
    for i, node in enumerate(model.graph.node):
        node.name = f"/layer/{i}" if named else ""
    monkeypatch.setattr(placement, "Claims", Credulous)
    session = ort.InferenceSession(model.SerializeToString(), providers=["AscendEP"])
    places = {p.op_type: (p.target, p.reason) for p in ascend_ep.provider.report(session).placements}
    target, reason = places.pop("NonZero")
    assert target == "CPU"
    assert reason == "no definition gives it a native kernel"
    assert {target for target, _ in places.values()} == {"AscendEP"}
    x, w = np.random.default_rng(0).standard_normal((2, 8, 8)).astype(np.float32)
    y, found, z = session.run(None, {"x": x, "w": w})
    np.testing.assert_allclose(y, np.maximum(x @ w, 0), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found, np.nonzero(y))
    np.testing.assert_allclose(z, 1 / (1 + np.exp(-(y @ w))), rtol=1e-5, atol=1e-5)
