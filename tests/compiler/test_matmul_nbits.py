"""MatMulNBits natively, against the float64 reference, onnxruntime, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph.reference import reference_run

N = 70


def model(
    bits: int = 4,
    block: int = 32,
    k: int = 96,
    zero: str = "",
    bias: bool = False,
    flat: bool = False,
    **a: Any,
) -> onnx.ModelProto:
    """`zero`: "" none, "packed", "float"."""
    rng, blocks = np.random.default_rng(bits), -(-k // block)
    arrays = {
        "B": rng.integers(0, 256, (N, blocks, block * bits // 8), np.uint8),
        "scales": rng.uniform(0.001, 0.01, (N, blocks)).astype(np.float32),
    }
    names = ["A", "B", "scales", "zero" if zero else "", "", "bias" if bias else ""]
    if zero:
        packed = rng.integers(0, 256, (N, -(-blocks * bits // 8)), np.uint8)
        arrays["zero"] = packed if zero == "packed" else rng.uniform(0, 9, (N, blocks)).astype(np.float32)
    if bias:
        arrays["bias"] = rng.standard_normal(N).astype(np.float32)
    if flat:
        arrays["scales"] = arrays["scales"].reshape(-1)
    attributes = {"K": k, "N": N, "bits": bits, "block_size": block, **a}
    node = helper.make_node("MatMulNBits", names, ["Y"], domain="com.microsoft", **attributes)
    graph = helper.make_graph(
        [node],
        "nbits",
        [helper.make_tensor_value_info("A", TensorProto.FLOAT, ["m", k])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, ["m", N])],
        [numpy_helper.from_array(a, n) for n, a in arrays.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"bits": 8}, {"bits": 2}, {"block": 128}, {"k": 100, "block": 16, "zero": "packed"},
        {"bits": 8, "block": 16, "zero": "packed", "flat": True}, {"accuracy_level": 4},
        {"bits": 2, "block": 16, "zero": "packed"}, {"zero": "float", "bias": True},
    ],
    ids=str,
)  # fmt: skip
def test_both_runtimes_against_float64(arguments: dict[str, Any]) -> None:
    given = model(**arguments)
    own = ascend_ep.InferenceSession(convert(given, ConvertOptions(self_check=True)).to_bytes())
    stock = onnxruntime.InferenceSession(given.SerializeToString(), providers=["AscendEP"])
    assert own.get_providers() == ["AscendEP"]
    for m in (1, 6):
        feeds = {
            "A": np.random.default_rng(m).standard_normal((m, arguments.get("k", 96))).astype(np.float32)
        }
        wanted = reference_run(given, feeds)["Y"]
        (y,) = own.run(None, feeds)
        # 100 products and additions of float32, each within 2^-24 of sums that stay below 100 max |y|
        np.testing.assert_allclose(y, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
        np.testing.assert_array_equal(stock.run(None, feeds)[0], y)


def test_the_reference_is_onnxruntimes_operator() -> None:
    given = model(bits=4, zero="packed", k=128, bias=True)
    feeds = {"A": np.random.default_rng(0).standard_normal((3, 128)).astype(np.float32)}
    session = onnxruntime.InferenceSession(given.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = reference_run(given, feeds)["Y"]
    np.testing.assert_allclose(session.run(None, feeds)[0], wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_weights_that_are_inputs_stay_with_the_host() -> None:
    given = model()
    (packed,) = (t for t in given.graph.initializer if t.name == "B")
    given.graph.initializer.remove(packed)
    given.graph.input.append(helper.make_tensor_value_info("B", TensorProto.UINT8, list(packed.dims)))
    (row,) = convert(given).partition_table
    assert row.target == "CPU"
    assert "no constant" in row.reason
