"""What AscendEP takes of the bodies of If, Loop and Scan: what it does faster, or what nobody else does."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

import ascend_ep.provider
from ascend_ep.compiler.weighing import NO_GAIN

WEIGHTS = "<int64 n = {3}, bool on = {1}, float[2,2] w = {1, 2, 3, 4}>"
LOOP = """g (float[2,2] x, float[2,2] m) => (float[2,2] y) WEIGHTS { y = Loop(n, on, x) <body =
    b (int64 i, bool c, float[2,2] s) => (bool d, float[2,2] t) { d = Identity(c) NODES }> }"""
#: the nodes of a loop's body, and whether one of them is worth a hand-over
BODIES = {
    "h = Tanh(s) t = Mul(h, h)": False,
    "h = MatMul(s, m) t = Sigmoid(h)": False,
    "h = MatMul(s, k) t = Sigmoid(h)": True,
    "h = Cast<to = 16>(s) a = Add(h, h) t = Cast<to = 1>(a)": True,
    "h = Gelu(s) t = Neg(h)": False,
}


@pytest.mark.parametrize("nodes", BODIES)
def test_what_a_body_hands_over(nodes: str) -> None:
    body = LOOP.replace("NODES", nodes).replace("WEIGHTS", WEIGHTS)
    constant = "k = Constant<value = float[2,2] {0.5, 0.25, 0.125, 1}>()"
    text = body.replace("d = Identity(c)", f"d = Identity(c) {constant}") if "k)" in nodes else body
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 20]> {text}').SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["AscendEP", "CPUExecutionProvider"])
    placed = [
        p for p in ascend_ep.provider.report(session).placements if p.graph == "b" and p.op_type != "Identity"
    ]
    assert any(p.target == "AscendEP" for p in placed) == BODIES[nodes]
    assert BODIES[nodes] or {p.reason for p in placed} == {NO_GAIN}
    x = np.array([[0.5, -1], [0.25, 2]], np.float32)
    result = session.run(None, {"x": x, "m": x})[0]
    if "16" not in nodes:  # onnxruntime has no sum of bfloat16
        plain = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        np.testing.assert_allclose(result, plain.run(None, {"x": x, "m": x})[0], rtol=1e-5)


NESTED = """<ir_version: 10, opset_import: ["": 20]> g (bool on, float[2] x) => (float[2] y) {
    y = If (on) <then_branch = a () => (float[2] p) {
        p = If (on) <then_branch = c () => (float[2] q) { q = Neg(x) },
                     else_branch = d () => (float[2] r) { r = Abs(x) }> },
        else_branch = e () => (float[2] s) { s = Exp(x) }> }"""


def test_a_session_warns_once_however_many_bodies_it_has(capfd: pytest.CaptureFixture[str]) -> None:
    model = onnx.parser.parse_model(NESTED).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["AscendEP", "CPUExecutionProvider"])
    assert len(ascend_ep.provider.report(session).on_cpu) == 5
    (warning,) = [line for line in capfd.readouterr().err.splitlines() if "next provider" in line]
    assert "AscendEP: 5 of 5 nodes run on the next provider" in warning
