"""Preprocessing and linear models of ai.onnx.ml beside onnxruntime's CPU provider."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph.reference import reference_run

COLUMNS = 3
WEIGHTS = [0.5, -1.5, 2.0, 1.0, 0.25, -0.75, -0.5, 1.25, 0.0]
FLOAT, DOUBLE, INT32, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64
ELEMENTS = {FLOAT: np.float32, DOUBLE: np.float64, INT32: np.int32, INT64: np.int64}
LINEAR = {"coefficients": WEIGHTS, "intercepts": [0.5, -0.25, 0.0], "classlabels_ints": [4, 2, 9]}
TWO = {"coefficients": WEIGHTS[:6], "intercepts": [0.1, -0.1], "classlabels_ints": [0, 1]}
EACH = {"offset": [0.5, 1.0, -1.0], "scale": [2.0, 0.1, -3.0]}

KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]
VECTORS = {"support_vectors": [*WEIGHTS, 1.0, 0.0, -1.0], "kernel_params": [0.4, 0.5, 3.0]}
VOTES = VECTORS | {
    "coefficients": [1.0, -0.5, 0.5, -1.0, 0.75, 0.25, -0.75, -0.25],
    "rho": [0.1, -0.2, 0.3],
    "vectors_per_class": [1, 2, 1],
    "classlabels_ints": [4, 2, 9],
}
ONE = VECTORS | {"coefficients": [1.0, -0.5, 2.0, 0.5], "rho": [0.25], "n_supports": 4}
COUPLED = {"prob_a": [-1.5, -2.0, -1.0], "prob_b": [0.1, 0.0, -0.2]}

#: name -> operator, attributes, element types that onnxruntime has
CASES: dict[str, tuple[str, dict[str, Any], tuple[int, ...]]] = {
    "scaler": ("Scaler", {"offset": [0.3], "scale": [2.0]}, (FLOAT, DOUBLE, INT32, INT64)),
    "scaler of columns": ("Scaler", EACH, (FLOAT, DOUBLE, INT32, INT64)),
    "imputer": ("Imputer", {"imputed_value_floats": [7.0], "replaced_value_float": 1.0}, (FLOAT,)),
    "imputer of NaN": (
        "Imputer",
        {"imputed_value_floats": [7.0, 8.0, 9.0], "replaced_value_float": float("nan")},
        (FLOAT,),
    ),
    "imputer of integers": (
        "Imputer",
        {"imputed_value_int64s": [7, 8, 9], "replaced_value_int64": 1},
        (INT64,),
    ),
    "binarizer": ("Binarizer", {"threshold": 0.5}, (FLOAT,)),
    "normalizer": ("Normalizer", {"norm": "MAX"}, (FLOAT, DOUBLE, INT32, INT64)),
    "normalizer L1": ("Normalizer", {"norm": "L1"}, (FLOAT, DOUBLE, INT64)),
    "normalizer L2": ("Normalizer", {"norm": "L2"}, (FLOAT, DOUBLE, INT64)),
    "one hot": ("OneHotEncoder", {"cats_int64s": [0, 2, -1, 1], "zeros": 1}, (FLOAT, DOUBLE, INT64)),
    "regressor": ("LinearRegressor", {"coefficients": WEIGHTS[:3], "intercepts": [0.5]}, (FLOAT,)),
    "regressors": ("LinearRegressor", {"coefficients": WEIGHTS, "targets": 3}, (FLOAT,)),
    "classes": ("LinearClassifier", LINEAR | {"post_transform": "SOFTMAX"}, (FLOAT, INT64)),
    "classes alone": ("LinearClassifier", LINEAR | {"post_transform": "NONE"}, (FLOAT,)),
    **{f"vectors {k}": ("SVMRegressor", ONE | {"kernel_type": k}, (FLOAT,)) for k in KERNELS},
    "vectors of one class": ("SVMRegressor", ONE | {"kernel_type": "RBF", "one_class": 1}, (FLOAT,)),
    "linear vectors": (
        "SVMRegressor",
        {
            "coefficients": WEIGHTS[:3],
            "rho": [0.5],
            "kernel_type": "LINEAR",
            "kernel_params": [0.0, 0.0, 3.0],
        },
        (FLOAT,),
    ),
    **{f"votes {k}": ("SVMClassifier", VOTES | {"kernel_type": k}, (FLOAT, INT64)) for k in KERNELS},
    "coupled votes": ("SVMClassifier", VOTES | COUPLED | {"kernel_type": "RBF"}, (FLOAT, DOUBLE)),
    "coupled votes of two": (
        "SVMClassifier",
        VECTORS
        | {"coefficients": [1.0, 0.5, -1.0, -0.5], "rho": [0.1], "vectors_per_class": [2, 2]}
        | {"classlabels_ints": [0, 1], "prob_a": [-1.5], "prob_b": [0.1], "kernel_type": "POLY"},
        (FLOAT,),
    ),
    "labels": (
        "LabelEncoder",
        {"keys_int64s": [3, 1, 0, 1], "values_floats": [0.5, 1.5, 2.5, 3.5], "default_float": -1.0},
        (INT64,),
    ),
    "labels of floats": (
        "LabelEncoder",
        {"keys_floats": [1.0, float("nan"), 0.0], "values_int64s": [7, 8, 9]},
        (FLOAT,),
    ),
    "two classes": ("LinearClassifier", TWO | {"post_transform": "LOGISTIC"}, (FLOAT, DOUBLE)),
}


def table(rows: int, element: int) -> np.ndarray:
    rng = np.random.default_rng(rows)
    x = (rng.normal(size=(rows, COLUMNS)) * 2).astype(ELEMENTS[element])
    x[rng.random(x.shape) < 0.2] = 1
    x[:1] = 0
    if element in (FLOAT, DOUBLE):
        x[-1:, 0] = np.nan
    return x


def model_of(
    nodes: list[onnx.NodeProto], element: int, dims: list[int | str], outputs: list[str]
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", element, dims)],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def check(model: onnx.ModelProto, x: np.ndarray, native: bool = True) -> None:
    plain = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = plain.run(None, {"x": x})
    made = convert(model, ConvertOptions(passes=False, sample_seed=None, self_check=False))
    if native:
        assert {(row.target, row.reason) for row in made.partition_table} == {("AscendEP", "")}
    for true, want in zip(reference_run(model, {"x": x}).values(), wanted, strict=True):
        np.testing.assert_allclose(true, want, rtol=2e-5, atol=2e-6)  # float32 beside float64
    for got, want in zip(
        ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": x}), wanted, strict=True
    ):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=5e-6, atol=2e-6)


@pytest.mark.parametrize("case", CASES)
def test_as_onnxruntime(case: str) -> None:
    op_type, attributes, elements = CASES[case]
    outputs = ["y", "z"] if op_type.endswith("Classifier") else ["y"]
    node = helper.make_node(op_type, ["x"], outputs, domain="ai.onnx.ml", **attributes)
    for element in elements:
        for rows in (1, 6):
            x = table(rows, element)
            x = np.nan_to_num(x) if op_type == "Binarizer" else x  # which onnxruntime refuses
            check(model_of([node], element, ["N", COLUMNS], outputs), x)


@pytest.mark.parametrize("dims", [["N", 3], [3], ["A", "B", 3]])
def test_columns_are_chosen(dims: list[int | str]) -> None:
    """The numbers of columns come with the data; a vector is one row."""
    numbers = helper.make_tensor("numbers", INT64, [1, 4], [2, 0, 2, 1])
    node = helper.make_node("ArrayFeatureExtractor", ["x", "numbers"], ["y"], domain="ai.onnx.ml")
    model = model_of([node], FLOAT, dims, ["y"])
    model.graph.initializer.append(numbers)
    shape = [2 if isinstance(d, str) else d for d in dims]
    check(model, np.random.default_rng(1).normal(size=shape).astype(np.float32))


def test_a_pipeline_is_one_partition() -> None:
    """Imputed, scaled and normalised columns, then classes: nothing of it leaves the plan."""
    ml: dict[str, Any] = {"domain": "ai.onnx.ml"}
    nodes = [
        helper.make_node(
            "Imputer",
            ["x"],
            ["a"],
            imputed_value_floats=[1.0, 2.0, 3.0],
            replaced_value_float=float("nan"),
            **ml,
        ),
        helper.make_node("Scaler", ["a"], ["b"], **EACH, **ml),
        helper.make_node(
            "LinearClassifier", ["b"], ["label", "c"], **LINEAR, post_transform="LOGISTIC", **ml
        ),
        helper.make_node("Normalizer", ["c"], ["y"], norm="L1", **ml),
    ]
    model = model_of(nodes, FLOAT, ["N", COLUMNS], ["label", "y"])
    check(model, table(9, FLOAT))
    check(model, table(0, FLOAT))


def test_labels_that_are_strings_stay_with_the_host() -> None:
    strings = {k: v for k, v in LINEAR.items() if k != "classlabels_ints"} | {
        "classlabels_strings": ["a", "b", "c"]
    }
    node = helper.make_node("LinearClassifier", ["x"], ["y", "z"], domain="ai.onnx.ml", **strings)
    model = model_of([node], FLOAT, ["N", COLUMNS], ["z"])
    made = convert(model, ConvertOptions(sample_seed=None, self_check=False))
    assert "strings" in made.partition_table[0].reason


def test_what_onnx_leaves_open_passes_the_check() -> None:
    """onnx.reference couples pairs of classes otherwise than onnxruntime."""
    attributes = VOTES | COUPLED | {"kernel_type": "RBF"}
    node = helper.make_node("SVMClassifier", ["x"], ["y", "z"], domain="ai.onnx.ml", **attributes)
    made = convert(model_of([node], FLOAT, ["N", COLUMNS], ["y", "z"]), ConvertOptions())
    assert made.to_bytes()
