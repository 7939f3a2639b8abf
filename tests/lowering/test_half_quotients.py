"""QuantizeLinear since opset 23: x / scale has the scale's type, or `precision`; against onnxruntime."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from single_node import run_node

RANDOM = np.random.default_rng(23)
X = RANDOM.standard_normal((4, 50, 5)) * 20
ONE = np.array(0.0371, np.float16)
EACH = RANDOM.uniform(0.01, 0.1, 50).astype(np.float16)


@pytest.mark.parametrize("zero", ["uint8", "int16"])
@pytest.mark.parametrize("known", [(), (1, 2)])
@pytest.mark.parametrize(
    ("x", "scale", "attributes"),
    [
        (np.float16, ONE, {}),
        (np.float16, EACH, {"axis": 1}),
        (np.float16, ONE, {"precision": TensorProto.FLOAT}),
        (np.float32, ONE, {}),
        (np.float32, ONE, {"precision": TensorProto.FLOAT}),
        (np.float32, np.array(0.0371, np.float32), {"precision": TensorProto.FLOAT16}),
        (np.float16, np.array(0.0371, np.float32), {}),
    ],
)
def test_quotients(
    x: Any, scale: np.ndarray, attributes: dict[str, int], known: tuple[int, ...], zero: str
) -> None:
    inputs = [X.astype(x), scale, np.full(scale.shape, 3, zero)]
    made = run_node("QuantizeLinear", inputs, attributes, opset=23, known=known, reference=False)
    names = ["x", "scale", "zero"]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, inputs, strict=True)
    ]
    node = helper.make_node("QuantizeLinear", names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(made[0], session.run(None, dict(zip(names, inputs, strict=True)))[0])


def test_bfloat16() -> None:
    run_node("QuantizeLinear", [X.astype(ml_dtypes.bfloat16), ONE.astype(ml_dtypes.bfloat16)], opset=23)
