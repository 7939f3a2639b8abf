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
PROJECTIONS = {
    "weights": RANDOM.standard_normal((16, 48)).astype(np.float32) / 4,
    "biases": RANDOM.standard_normal(48).astype(np.float32),
    "words": RANDOM.standard_normal((30, 16)).astype(np.float32),
    "places": RANDOM.standard_normal((9, 16)).astype(np.float32),
    "kinds": RANDOM.standard_normal((2, 16)).astype(np.float32),
}
FILTERS = {"filters": RANDOM.standard_normal((4, 3, 3, 3)).astype(np.float32)}
TABLES = {"cos": np.cos(ANGLES), "sin": np.sin(ANGLES)}
SHAPES = {
    **dict.fromkeys(("x", "skip", "other"), ROWS),
    **{name: ["b", 2, "s", 8] for name in ("heads", "keys", "values")},
    **{name: ["b", 2, "p", 8] for name in ("past_key", "past_value")},
    **{name: ["b", "s"] for name in ("positions", "mask", "ids", "segments")},
    "scores": [1, 2, "s", "s"],
    "lengths": ["b"],
    "flat": ["b", 16],
    "image": ["b", 3, "s", 7],
    "added": ["b", 4, "t", 5],
}
WHOLE = {
    "positions": TensorProto.INT64,
    **dict.fromkeys(("count", "mask", "lengths", "ids", "segments"), TensorProto.INT32),
}


def model(
    op_type: str, inputs: str, outputs: str, domain: str = "com.microsoft", **attributes: Any
) -> onnx.ModelProto:
    """One node of those inputs in SHAPES that it names; all others are constants; "-" is none."""
    names = ["" if n == "-" else n for n in inputs.split()]
    results = ["" if n == "-" else n for n in outputs.split()]
    node = helper.make_node(op_type, names, results, domain=domain, **attributes)
    constants = {n: a for n, a in (WEIGHTS | TABLES | PROJECTIONS | FILTERS).items() if n in names}
    graph = helper.make_graph(
        [node],
        "contributed",
        [
            helper.make_tensor_value_info(n, WHOLE.get(n, TensorProto.FLOAT), d)
            for n, d in SHAPES.items()
            if n in names
        ],
        [helper.make_tensor_value_info(n, WHOLE.get(n, TensorProto.FLOAT), None) for n in results if n],
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
        model("FusedMatMul", "x skip", "y", transB=1, alpha=0.5),
        model("FusedMatMul", "heads keys", "y", transA=1),
        model("FusedGemm", "flat weights biases", "y", activation="LeakyRelu", activation_alpha=0.2),
        model("FusedConv", "image filters - added", "y", activation="Relu"),
        model("FusedConv", "image filters", "y", activation="Tanh", strides=[2, 2], auto_pad="SAME_UPPER"),
        model(
            "FusedConv", "image filters", "y", activation="Clip", activation_params=[-0.5, 0.25], pads=[1] * 4
        ),
        model(
            "FusedConv",
            "image filters",
            "y",
            activation="HardSigmoid",
            activation_params=[0.3, 0.4],
            pads=[1] * 4,
        ),
        model("EmbedLayerNormalization", "ids segments words places kinds gamma beta mask", "y count sum"),
        model("EmbedLayerNormalization", "ids - words places - gamma beta", "y count", epsilon=1e-5),
        model("Attention", "x weights biases mask", "y", num_heads=2),
        model("Attention", "x weights biases lengths", "y", num_heads=2, scale=0.3),
        model("Attention", "x weights biases - - scores", "y", num_heads=2, unidirectional=1),
        model("MultiHeadAttention", "x skip other biases mask scores", "y", num_heads=2),
        model("MultiHeadAttention", "x keys values", "y", num_heads=2, mask_filter_value=-100.0),
        model("MultiHeadAttention", "x skip other", "y", num_heads=2, unidirectional=1),
        model("MultiHeadAttention", "x skip other - - - past_key past_value", "y k v", num_heads=2),
    ],
    ids=lambda proto: f"{proto.graph.node[0].op_type}-{len(proto.graph.node[0].input)}",
)
def test_native_as_the_cpu_provider(proto: onnx.ModelProto) -> None:
    feeds = {
        "x": RANDOM.standard_normal((2, 5, 16)).astype(np.float32),
        "skip": RANDOM.standard_normal((2, 5, 16)).astype(np.float32),
        "heads": RANDOM.standard_normal((2, 2, 5, 8)).astype(np.float32),
        "other": RANDOM.standard_normal((2, 5, 16)).astype(np.float32),
        "keys": RANDOM.standard_normal((2, 2, 5, 8)).astype(np.float32),
        "values": RANDOM.standard_normal((2, 2, 5, 8)).astype(np.float32),
        "past_key": RANDOM.standard_normal((2, 2, 3, 8)).astype(np.float32),
        "past_value": RANDOM.standard_normal((2, 2, 3, 8)).astype(np.float32),
        "scores": RANDOM.standard_normal((1, 2, 5, 5)).astype(np.float32),
        "ids": RANDOM.integers(0, 30, (2, 5), np.int32),
        "segments": RANDOM.integers(0, 2, (2, 5), np.int32),
        "mask": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32),
        "image": RANDOM.standard_normal((2, 3, 5, 7)).astype(np.float32),
        "added": RANDOM.standard_normal((2, 4, 3, 5)).astype(np.float32),
        "flat": RANDOM.standard_normal((3, 16)).astype(np.float32),
        "lengths": np.array([3, 5], np.int32),
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
