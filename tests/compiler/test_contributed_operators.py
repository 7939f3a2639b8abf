"""Operators that onnxruntime contributes and its optimizer writes, natively, against the CPU provider."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
import ascend_ep.provider
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

RANDOM = np.random.default_rng(7)
ROWS = ["b", "s", 16]
WEIGHTS = {name: RANDOM.standard_normal(16).astype(np.float32) for name in ("gamma", "beta", "bias")}
ANGLES = RANDOM.uniform(0, 6, (12, 4)).astype(np.float32)
TABLES = {"cos": np.cos(ANGLES), "sin": np.sin(ANGLES)}


def model(
    op_type: str, inputs: str, outputs: str, domain: str = "com.microsoft", **attributes: Any
) -> onnx.ModelProto:
    """One node; x, skip [b, s, 16] and positions [b, s] are inputs, all others constants; "-" is none."""
    names = ["" if n == "-" else n for n in inputs.split()]
    results = ["" if n == "-" else n for n in outputs.split()]
    shapes = {"x": ROWS, "skip": ROWS, "heads": ["b", 2, "s", 8], "positions": ["b", "s"]}
    node = helper.make_node(op_type, names, results, domain=domain, **attributes)
    constants = {n: a for n, a in (WEIGHTS | TABLES).items() if n in names}
    graph = helper.make_graph(
        [node],
        "contributed",
        [
            helper.make_tensor_value_info(n, TensorProto.INT64 if n == "positions" else TensorProto.FLOAT, d)
            for n, d in shapes.items()
            if n in names
        ],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in results if n],
        [numpy_helper.from_array(a, n) for n, a in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize(
    "proto",
    [
        model("SkipLayerNormalization", "x skip gamma beta bias", "y - - sum", epsilon=1e-5),
        model("SkipLayerNormalization", "x skip gamma", "y"),
        model("SkipSimplifiedLayerNormalization", "x skip gamma bias", "y - - sum", epsilon=1e-6),
        model("SkipSimplifiedLayerNormalization", "x skip gamma", "y", epsilon=1e-6),
        model("SimplifiedLayerNormalization", "x gamma", "y", domain="", axis=-1, epsilon=1e-6),
        model("RotaryEmbedding", "x positions cos sin", "y"),
        model("RotaryEmbedding", "x positions cos sin", "y", num_heads=2, interleaved=1),
        model("RotaryEmbedding", "heads positions cos sin", "y"),
        model("RotaryEmbedding", "x positions cos sin", "y", num_heads=1, rotary_embedding_dim=8),
    ],
    ids=lambda proto: f"{proto.graph.node[0].op_type}-{len(proto.graph.node[0].input)}",
)
def test_native_as_the_cpu_provider(proto: onnx.ModelProto) -> None:
    feeds = {
        "x": RANDOM.standard_normal((2, 5, 16)).astype(np.float32),
        "skip": RANDOM.standard_normal((2, 5, 16)).astype(np.float32),
        "heads": RANDOM.standard_normal((2, 2, 5, 8)).astype(np.float32),
        "positions": np.array([[0, 1, 2, 3, 4], [7, 3, 11, 0, 1]]),
    }
    given = {i.name: feeds[i.name] for i in proto.graph.input}
    serialized = proto.SerializeToString()
    expected = onnxruntime.InferenceSession(serialized, providers=["CPUExecutionProvider"]).run(None, given)
    conversion = convert(proto, ConvertOptions(self_check=True))
    assert {row.target for row in conversion.partition_table} == {"AscendEP"}
    own = ascend_ep.InferenceSession(conversion.to_bytes()).run(None, given)
    session = onnxruntime.InferenceSession(serialized, providers=["AscendEP", "CPUExecutionProvider"])
    assert not ascend_ep.provider.report(session).on_cpu
    for found in (own, session.run(None, given)):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
