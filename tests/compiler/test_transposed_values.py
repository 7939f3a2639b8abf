"""A transposition whose last axis has no neighbours is copied for readers that want them, no others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from fused_kernels import fused_kernels
from onnx import TensorProto, helper, numpy_helper

HEADS, POSITIONS, SIZE = 2, 5, 8
RNG = np.random.default_rng(11)


def attention(*more: onnx.NodeProto, outputs: Sequence[str] = ("y",)) -> onnx.ModelProto:
    """Of q, k and v [1, POSITIONS, HEADS, SIZE], whose keys are transposed in one step, and `more` nodes."""
    nodes = [
        helper.make_node("Transpose", ["q"], ["qh"], perm=[0, 2, 1, 3]),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 3, 1]),
        helper.make_node("Transpose", ["v"], ["vh"], perm=[0, 2, 1, 3]),
        helper.make_node("MatMul", ["qh", "kt"], ["qk"]),
        helper.make_node("Mul", ["qk", "scale"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "vh"], ["y"]),
        *more,
    ]
    shape = [1, POSITIONS, HEADS, SIZE]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "qkv"]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    scale = numpy_helper.from_array(np.array(SIZE**-0.5, np.float32), "scale")
    graph = helper.make_graph(nodes, "attention", inputs, results, [scale])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def kernels_of(model: onnx.ModelProto) -> list[str]:
    feeds = {n: RNG.standard_normal((1, POSITIONS, HEADS, SIZE)).astype(np.float32) for n in "qkv"}
    return fused_kernels(model, feeds)


def test_attention_reads_transposed_keys_where_they_lie() -> None:
    assert kernels_of(attention()) == ["attention"]


def test_other_readers_of_transposed_keys_share_a_copy() -> None:
    more = [
        helper.make_node("MatMul", ["kt", "k2"], ["products"]),
        helper.make_node("Relu", ["kt"], ["positive"]),
    ]
    more.insert(0, helper.make_node("Transpose", ["q"], ["k2"], perm=[0, 2, 1, 3]))
    found = kernels_of(attention(*more, outputs=("y", "products", "positive")))
    assert sorted(found) == ["attention", "copy", "elementwise", "matmul"]


def test_transposed_keys_that_leave_the_model_are_copied_once() -> None:
    found = kernels_of(attention(outputs=("y", "kt")))
    assert sorted(found) == ["attention", "copy"]


def product(perm: Sequence[int], dims: Sequence[int], columns: int) -> list[str]:
    """The kernels of a transposition whose rows a matrix of so many columns multiplies."""
    weights = RNG.standard_normal((dims[-1], columns)).astype(np.float32)
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=perm),
        helper.make_node("MatMul", ["t", "w"], ["y"]),
    ]
    info = helper.make_tensor_value_info
    boundary = [info("x", TensorProto.FLOAT, dims)], [info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "product", *boundary, [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    return fused_kernels(model, {"x": RNG.standard_normal(dims).astype(np.float32)})


def test_few_rows_of_many_matrices_are_copied_into_one() -> None:
    assert product([1, 0, 2], (3, 14, 40), 64) == ["copy", "matmul"]


def test_rows_that_lie_in_order_or_are_many_are_read_where_they_lie() -> None:
    assert product([1, 0, 2], (1, 14, 40), 64) == ["matmul"]
    assert product([1, 0, 2], (40, 14, 40), 64) == ["matmul"]
    assert product([1, 0, 2], (3, 14, 40), 8) == ["matmul"]
