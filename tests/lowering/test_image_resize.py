"""Resize and Upsample through converter and runtime, against onnx.reference and onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper
from single_node import run_node

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

RANDOM = np.random.default_rng(23)
X = RANDOM.standard_normal((1, 2, 5, 6)).astype(np.float32)
NONE = np.array([], np.float32)


def scales(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("given", "attrs"),
    [
        ([X, NONE, scales(1, 1, 2, 3)], {"mode": "linear"}),
        ([X, None, None, np.array([1, 2, 4, 9])], {"mode": "cubic", "exclude_outside": 1}),
        ([X, None, None, np.array([7, 3])], {"mode": "linear", "axes": [2, 3], "antialias": 1}),
        (
            [X, None, None, np.array([9, 7])],
            {"mode": "nearest", "axes": [3, 2], "keep_aspect_ratio_policy": "not_larger"},
        ),
        (
            [X, scales(0, 0, 0.4, 0.6, 1, 1, 0.6, 0.8), None, np.array([1, 2, 3, 3])],
            {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"},
        ),
    ],
)
def test_against_the_reference(given: list[np.ndarray | None], attrs: dict[str, Any]) -> None:
    run_node(
        "Resize", given, attrs, opset=19, known=[i for i in range(1, len(given)) if given[i] is not None]
    )


def test_free_dimensions_and_narrow_types() -> None:
    run_node(
        "Resize", [X, NONE, scales(1, 1, 2, 2)], {"mode": "linear"}, opset=13, known=[1, 2], symbolic=True
    )
    half = X.astype(np.float16)
    run_node(
        "Resize", [half, NONE, scales(1, 1, 2, 2)], {"mode": "linear"}, opset=13, known=[1, 2],
        rtol=1e-3, atol=1e-3,  # the reference rounds every step to float16
    )  # fmt: skip
    bytes_ = RANDOM.integers(0, 255, (1, 2, 5, 6)).astype(np.uint8)
    run_node("Resize", [bytes_, NONE, scales(1, 1, 2, 2)], {"mode": "nearest"}, opset=13, known=[1, 2])


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(("op", "opset"), [("Resize", 10), ("Upsample", 9), ("Upsample", 7)])
def test_old_opsets_as_onnxruntime(op: str, opset: int, mode: str) -> None:
    factors = scales(1, 1, 2, 1.5) if op == "Upsample" else scales(1, 1, 0.6, 1.7)
    attrs = {"scales": factors.tolist()} if opset == 7 else {}
    node = helper.make_node(op, ["x"] + ["s"] * (opset > 7), ["y"], mode=mode, **attrs)
    tensors = [numpy_helper.from_array(factors, "s")] * (opset > 7)
    infos = helper.make_tensor_value_info("x", 1, X.shape), helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([node], "one", [infos[0]], [infos[1]], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    conversion = convert(model, ConvertOptions(sample_seed=None))
    assert [row.target for row in conversion.partition_table] == ["AscendEP"]
    (got,) = ascend_ep.InferenceSession(conversion.to_bytes()).run(None, {"x": X})
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(got, session.run(None, {"x": X})[0], rtol=1e-5, atol=1e-6)
