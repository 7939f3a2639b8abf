"""Models whose tensors are float16 or bfloat16: every node native, values rounded between operators."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

HIDDEN = 48
TYPES = {TensorProto.FLOAT16: np.dtype(np.float16), TensorProto.BFLOAT16: np.dtype(ml_dtypes.bfloat16)}


def layers(dtype: int) -> onnx.ModelProto:
    """Products, norms, softmax, a reduction and a convolution on one half type."""
    random = np.random.default_rng(0)

    def weight(name: str, *dims: int) -> onnx.TensorProto:
        array = (random.standard_normal(dims) / dims[0] ** 0.5).astype(TYPES[dtype])
        return helper.make_tensor(name, dtype, dims, array.tobytes(), raw=True)

    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("LayerNormalization", ["h", "s"], ["n"]),
        helper.make_node("Softmax", ["n"], ["p"]),
        helper.make_node("Add", ["p", "x"], ["a"]),
        helper.make_node("Gemm", ["a", "w", "s"], ["m"], transB=1),
        helper.make_node("ReduceMean", ["m"], ["y"], axes=[1]),
        helper.make_node("Reshape", ["m", "image"], ["i"]),
        helper.make_node("Conv", ["i", "k"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("ArgMax", ["m"], ["best"], axis=1),
    ]
    shape = helper.make_tensor("image", TensorProto.INT64, [4], [-1, 3, 4, 4])
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x", dtype, ["b", HIDDEN])],
        [
            helper.make_tensor_value_info("y", dtype, ["b", 1]),
            helper.make_tensor_value_info("p", dtype, ["b", HIDDEN]),
            helper.make_tensor_value_info("c", dtype, ["b", 5, 4, 4]),
            helper.make_tensor_value_info("best", TensorProto.INT64, ["b", 1]),
        ],
        [weight("w", HIDDEN, HIDDEN), weight("s", HIDDEN), weight("k", 5, 3, 3, 3), shape],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


@pytest.mark.parametrize("dtype", sorted(TYPES))
def test_every_node_is_native_and_within_the_bound_of_its_type(dtype: int) -> None:
    conversion = convert(layers(dtype), ConvertOptions(self_check=False))
    assert {row.target for row in conversion.partition_table} == {"AscendEP"}
    convert(layers(dtype), ConvertOptions(self_check=None)).to_bytes()


def rounded(array: NDArray[np.float64], dtype: int) -> NDArray[np.float64]:
    return array.astype(np.float32).astype(TYPES[dtype]).astype(np.float64)


@pytest.mark.parametrize("dtype", sorted(TYPES))
def test_values_are_rounded_between_operators(dtype: int) -> None:
    """x + big - big, where big swallows x: exactly what storing the sum in the type leaves of it."""
    big = 2048.0 if dtype == TensorProto.FLOAT16 else 256.0
    constant = helper.make_tensor("big", dtype, [1], np.array([big], TYPES[dtype]).tobytes(), raw=True)
    eye = helper.make_tensor("eye", dtype, [8, 8], np.eye(8).astype(TYPES[dtype]).tobytes(), raw=True)
    nodes = [
        helper.make_node("Add", ["x", "big"], ["sum"]),
        helper.make_node("MatMul", ["sum", "eye"], ["same"]),
        helper.make_node("Sub", ["same", "big"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "swallowed",
        [helper.make_tensor_value_info("x", dtype, [3, 8])],
        [helper.make_tensor_value_info("y", dtype, [3, 8])],
        [constant, eye],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    session = ascend_ep.InferenceSession(convert(model, ConvertOptions(self_check=False)).to_bytes())
    x = np.random.default_rng(1).standard_normal((3, 8)).astype(TYPES[dtype])
    (y,) = session.run(None, {"x": x})
    wanted = rounded(rounded(x.astype(np.float64) + big, dtype) - big, dtype)
    assert y.dtype == TYPES[dtype]
    np.testing.assert_array_equal(y.astype(np.float64), wanted)
    assert not np.array_equal(wanted, x.astype(np.float64))


def test_overflow_is_infinite() -> None:
    """float16 overflows to infinity, as Ascend910B does in its INF_NAN mode (older chips saturate)."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "x"], ["y"])],
        "overflow",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [4, 4])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    session = ascend_ep.InferenceSession(convert(model, ConvertOptions(self_check=False)).to_bytes())
    (y,) = session.run(None, {"x": np.full((4, 4), 200, np.float16)})
    assert np.isposinf(y).all()
    (y,) = session.run(None, {"x": np.full((4, 4), 127, np.float16)})
    np.testing.assert_array_equal(y, np.full((4, 4), np.float16(4 * 127 * 127)))
