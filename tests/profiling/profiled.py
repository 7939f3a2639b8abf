"""The model that the tests of profiles run, and a program that does."""

from __future__ import annotations

import numpy as np
import onnx

RUNS = 40
PROGRAM = """
import sys, numpy as np, ascend_ep
session = ascend_ep.InferenceSession(sys.argv[1])
for i in range(int(sys.argv[2])):
    session.run(None, {"x": np.ones((i % 3 + 1, 64), np.float32)})
"""


def model() -> onnx.ModelProto:
    """A product with an activation, a softmax, and a sum with tanh: three kernels."""
    made = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        small (float[N, 64] x) => (float[N, 64] y) {
            a = MatMul(x, w)  b = Relu(a)  c = Softmax(b)  d = Add(c, x)  y = Tanh(d) }""")
    weights = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    made.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    return made
