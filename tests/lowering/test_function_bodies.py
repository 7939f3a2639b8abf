"""Operators that run as ONNX's own function body of them: against onnx.reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper
from single_node import run_node

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
