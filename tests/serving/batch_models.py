"""Models whose batches are a question: rows that mix, sizes that aren't free, runs that take long."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def _model(
    nodes: Sequence[onnx.NodeProto],
    x: Sequence[int | str | None],
    y: Sequence[int | str | None],
    **constants: np.ndarray,
) -> onnx.ModelProto:
    boundary = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", x), ("y", y))]
    weights = [numpy_helper.from_array(a, n) for n, a in constants.items()]
    graph = helper.make_graph(nodes, "model", boundary[:1], boundary[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _weight(*shape: int) -> np.ndarray:
    scale = shape[0] ** -0.5
    return (np.random.default_rng(3).standard_normal(shape) * scale).astype(np.float32)


def wide() -> onnx.ModelProto:
    """x [N, 512] -> y [N, 512], by weights that one row reads as all rows do: batches pay."""
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "b"], ["y"]),
    ]
    return _model(nodes, ["N", 512], ["N", 512], a=_weight(512, 2048), b=_weight(2048, 512))


def column_softmax() -> onnx.ModelProto:
    """x [N, 8] -> y [N, 8], where every row depends on all."""
    return _model([helper.make_node("Softmax", ["x"], ["y"], axis=0)], ["N", 8], ["N", 8])


def centred() -> onnx.ModelProto:
    """x [N, 8] -> y [N, 8]: less the mean of the rows."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[0], keepdims=1),
        helper.make_node("Sub", ["x", "m"], ["y"]),
    ]
    return _model(nodes, ["N", 8], ["N", 8])


def regrouped() -> onnx.ModelProto:
    """x [N, 8] -> y [N, 8]: the transpose of the rows, in rows again."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("Reshape", ["t", "shape"], ["y"]),
    ]
    return _model(nodes, ["N", 8], ["N", 8], shape=np.array([-1, 8], np.int64))


def sequences() -> onnx.ModelProto:
    """x [N, S, 4] -> y [N, S, 4], a softmax along S."""
    return _model([helper.make_node("Softmax", ["x"], ["y"], axis=1)], ["N", "S", 4], ["N", "S", 4])


def unnamed() -> onnx.ModelProto:
    """x [?, 8] -> y [?, 8]: no size has a name."""
    return _model([helper.make_node("Tanh", ["x"], ["y"])], [None, 8], [None, 8])
