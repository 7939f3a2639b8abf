"""Operators that run as ONNX's own function body of them: against onnx.reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import helper
from single_node import run_node

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

RANDOM = np.random.default_rng(17)
X = RANDOM.standard_normal((3, 5, 2, 4)).astype(np.float32)
LABELS = RANDOM.integers(0, 5, (3, 2, 4))
WEIGHTS = RANDOM.random(5).astype(np.float32)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "opset", "n_outputs"),
    [
        ("NegativeLogLikelihoodLoss", [X, LABELS, WEIGHTS], {"reduction": "mean", "ignore_index": 2}, 13, 1),
        ("NegativeLogLikelihoodLoss", [X, LABELS], {"reduction": "none"}, 13, 1),
        ("SoftmaxCrossEntropyLoss", [X, LABELS, WEIGHTS], {"reduction": "sum"}, 13, 2),
        ("MeanVarianceNormalization", [X], {}, 13, 1),  # the axes are the schema's default
        ("Shrink", [X], {"lambd": 0.5, "bias": 0.25}, 9, 1),  # the body is written for opset 18
    ],
)
def test_against_the_reference(
    op: str, inputs: list[np.ndarray], attrs: dict[str, Any], opset: int, n_outputs: int, symbolic: bool
) -> None:
    run_node(op, inputs, attrs, opset=opset, n_outputs=n_outputs, symbolic=symbolic)


def test_values_known_at_conversion_are_known_in_the_body() -> None:
    sizes = np.array([5, 3])
    run_node("CenterCropPad", [X[0], sizes], {"axes": [0, -1]}, opset=18, known=[1])
    run_node("HannWindow", [np.array(9)], {"periodic": 0}, opset=17, known=[0])


def test_two_of_one_kind_keep_apart() -> None:
    nodes = [
        helper.make_node("Shrink", ["x"], ["a"], lambd=0.5),
        helper.make_node("Shrink", ["a"], ["y"], lambd=0.75, bias=0.5),
    ]
    x, y = (helper.make_tensor_value_info(n, 1, [8]) for n in "xy")
    model = helper.make_model(
        helper.make_graph(nodes, "two", [x], [y]), opset_imports=[helper.make_opsetid("", 18)], ir_version=10
    )
    conversion = convert(model, ConvertOptions(self_check=True))
    assert {row.target for row in conversion.partition_table} == {"AscendEP"}
    conversion.to_bytes()  # compares with the reference


def test_a_body_that_is_not_wholly_native_names_the_node() -> None:
    node = helper.make_node("Bernoulli", ["x"], ["y"])
    x, y = (helper.make_tensor_value_info(n, 1, [8]) for n in "xy")
    graph = helper.make_graph([node], "one", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    (row,) = convert(model, ConvertOptions(sample_seed=None)).partition_table
    assert row.target == "CPU"
    assert row.reason.startswith("RandomUniformLike in its function body: ")


ROWS = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
SCALES = [(4,), (1,), (1, 4), (3, 4), (3, 1), (1, 1, 4), (2, 1, 4), (2, 3, 4)]
NORMS = [("LayerNormalization", 17), ("RMSNormalization", 23)]


def _answers(text: str, **feeds: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The providers of a bundle, what it computes, and what onnxruntime does."""
    model = onnx.parser.parse_model(text)
    session = ascend_ep.InferenceSession(convert(model, ConvertOptions(codegen="off")).to_bytes())
    rival = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.get_providers(), session.run(None, feeds)[0], rival.run(None, feeds)[0]


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(("operator", "opset"), NORMS)
@pytest.mark.parametrize("axis", [-1, 1])
def test_a_scale_that_broadcasts_to_the_whole_input(operator: str, opset: int, axis: int, free: bool) -> None:
    """ONNX lets it have the input's rank, and axes of 1 anywhere; LayerNormalization's body knows less."""
    for shape in SCALES:
        x, s = (
            ("n, m, k", ", ".join("abc"[: len(shape)])) if free else ("2, 3, 4", ", ".join(map(str, shape)))
        )
        text = f"""<ir_version: 10, opset_import: ["": {opset}]> g (float[{x}] x, float[{s}] s) =>
            (float[{x}] y) {{ y = {operator}<axis = {axis}>(x, s) }}"""
        scale = RANDOM.standard_normal(shape).astype(np.float32)
        providers, ours, theirs = _answers(text, x=ROWS, s=scale)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6, err_msg=str(shape))
        if operator == "RMSNormalization" or (len(shape) == 1 and axis == -1):
            assert providers == ["AscendEP"], shape


@pytest.mark.parametrize(
    ("mask", "attributes"),
    [("s, t", ""), ("b, 1, s, t", ""), ("s, t", "is_causal = 1,"), ("s, t", "softcap = 2.0,")],
)
def test_attention_is_native_whatever_the_mask_calls_its_length(mask: str, attributes: str) -> None:
    heads = f"<{attributes} q_num_heads = 2, kv_num_heads = 2>"
    text = f"""<ir_version: 10, opset_import: ["": 23]> g (float[b, s, 8] q, float[b, u, 8] k,
        float[b, u, 8] v, float[{mask}] m) => (float[b, s, 8] y) {{ y = Attention {heads} (q, k, v, m) }}"""
    q, k, v = (RANDOM.standard_normal((2, n, 8)).astype(np.float32) for n in (3, 5, 5))
    m = RANDOM.standard_normal((3, 5) if mask[0] == "s" else (2, 1, 3, 5)).astype(np.float32)
    providers, ours, theirs = _answers(text, q=q, k=k, v=v, m=m)
    assert providers == ["AscendEP"]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
