"""Shapes of ai.onnx.ml's operators are those that onnxruntime gives, and what follows them is ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import ascend_ep.provider
from ascend_ep.graph import infer_facts, load_model
from ascend_ep.opdef.dims import evaluate

COLUMNS = 3
TREE = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [1, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
}
LEAVES = {"treeids": [0, 0], "nodeids": [1, 2], "ids": [0, 1], "weights": [0.25, 1.0]}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "scaler": ("Scaler", {"offset": [0.5], "scale": [2.0]}),
    "normalizer": ("Normalizer", {"norm": "L2"}),
    "imputer": ("Imputer", {"imputed_value_floats": [1.0], "replaced_value_float": 0.0}),
    "regressor": ("LinearRegressor", {"coefficients": [1.0, 2.0, 3.0]}),
    "two targets": ("LinearRegressor", {"coefficients": [1.0] * 6, "intercepts": [0.0, 1.0], "targets": 2}),
    "vectors": (
        "SVMRegressor",
        {
            "coefficients": [1.0],
            "support_vectors": [1.0, 2.0, 3.0],
            "n_supports": 1,
            "rho": [0.5],
            "kernel_type": "LINEAR",
            "kernel_params": [0.0, 0.0, 3.0],
        },
    ),
    "features": ("FeatureVectorizer", {"inputdimensions": [COLUMNS]}),
    "tree": (
        "TreeEnsembleRegressor",
        {**TREE, **{f"target_{k}": v for k, v in LEAVES.items()}, "n_targets": 2},
    ),
    "classes": (
        "TreeEnsembleClassifier",
        {**TREE, **{f"class_{k}": v for k, v in LEAVES.items()}, "classlabels_int64s": [4, 7]},
    ),
    "texts": (
        "TreeEnsembleClassifier",
        {**TREE, **{f"class_{k}": v for k, v in LEAVES.items()}, "classlabels_strings": ["a", "b"]},
    ),
}


def model_of(op_type: str, attributes: Mapping[str, Any], dims: list[int | str]) -> onnx.ModelProto:
    outputs = ["y", "z"] if op_type.endswith("Classifier") else ["y"]
    node = helper.make_node(op_type, ["x"], outputs, domain="ai.onnx.ml", **attributes)
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], "g", given, results)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dims", [["N", COLUMNS], [5, COLUMNS]], ids=["free", "fixed"])
def test_shapes_are_those_of_onnxruntime(case: str, dims: list[int | str]) -> None:
    op_type, attributes = CASES[case]
    proto = model_of(op_type, attributes, dims)
    x = np.random.default_rng(0).normal(size=(5, COLUMNS)).astype(np.float32)
    # a result without a declared type needs one for onnxruntime; its inference gives it
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = [np.asarray(r) for r in session.run(None, {"x": x})]
    model = load_model(proto)
    facts = infer_facts(model)
    for value, array in zip(model.graph.outputs, expected, strict=True):
        fact = facts[value]
        assert fact.dims is not None
        assert tuple(evaluate(d, {"N": 5}) for d in fact.dims) == array.shape
        kind = {"f": TensorProto.FLOAT, "i": TensorProto.INT64}.get(array.dtype.kind, TensorProto.STRING)
        assert fact.dtype == kind


def test_a_scaler_and_what_follows_it_are_ours() -> None:
    """As converters write a network behind scaled features: without a shape, all of it was on the CPU."""
    text = """<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3]>
      g (float[N, 3] x) => (float[N, M] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
        s = ai.onnx.ml.Scaler <offset: floats = [0.5], scale: floats = [2.0]> (x)
        p = MatMul(s, w)
        y = Relu(p) }"""
    model = onnx.parser.parse_model(text).SerializeToString()
    x = np.array([[1, -2, 3]], np.float32)
    session = onnxruntime.InferenceSession(model, providers=["AscendEP", "CPUExecutionProvider"])
    left = [p.op_type for p in ascend_ep.provider.report(session).on_cpu]
    assert left == []
    plain = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    assert np.allclose(session.run(None, {"x": x})[0], plain.run(None, {"x": x})[0])
