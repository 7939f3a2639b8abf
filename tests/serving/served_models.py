"""Models that the tests serve."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions


def rows(seed: int = 1) -> onnx.ModelProto:
    """x [N, 8] -> y [N, 4]: rows are independent of each other. seed: of the weights."""
    weight = numpy_helper.from_array(np.random.default_rng(seed).standard_normal((8, 4)).astype("f"), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])
    graph = helper.make_graph(nodes, "rows", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def scaled(factor: float) -> onnx.ModelProto:
    """x [N, 4] -> y = factor * x."""
    weight = numpy_helper.from_array(np.full(4, factor, "f"), "w")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])
    graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "scaled", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def columns(factor: float = 2.5) -> onnx.ModelProto:
    """a [N, 3], b [N, 3] -> sum [N, 3], scaled [N, 3] in float64: two inputs, two outputs, two types."""
    two = numpy_helper.from_array(np.array(factor), "two")
    nodes = [
        helper.make_node("Add", ["a", "b"], ["sum"]),
        helper.make_node("Cast", ["a"], ["wide"], to=TensorProto.DOUBLE),
        helper.make_node("Mul", ["wide", "two"], ["scaled"]),
    ]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", 3]) for n in "ab"]
    outputs = [
        helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["N", 3]),
        helper.make_tensor_value_info("scaled", TensorProto.DOUBLE, ["N", 3]),
    ]
    graph = helper.make_graph(nodes, "columns", inputs, outputs, [two])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def wide_rows(seed: int = 1) -> onnx.ModelProto:
    """x [N, 64] -> y [N, 32]: two layers and a softmax of each row. seed: of the weights."""
    random = np.random.default_rng(seed)
    weights = [
        numpy_helper.from_array(random.standard_normal(shape).astype("f") / 8, name)
        for name, shape in (("a", (64, 256)), ("b", (256, 32)))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["h"]),
        helper.make_node("Sigmoid", ["h"], ["s"]),
        helper.make_node("MatMul", ["s", "b"], ["m"]),
        helper.make_node("Softmax", ["m"], ["y"], axis=-1),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 32])
    graph = helper.make_graph(nodes, "wide_rows", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


#: The protocol's datatypes, and ONNX's.
TYPES = {
    "BOOL": TensorProto.BOOL,
    "UINT8": TensorProto.UINT8,
    "UINT16": TensorProto.UINT16,
    "UINT32": TensorProto.UINT32,
    "UINT64": TensorProto.UINT64,
    "INT8": TensorProto.INT8,
    "INT16": TensorProto.INT16,
    "INT32": TensorProto.INT32,
    "INT64": TensorProto.INT64,
    "FP16": TensorProto.FLOAT16,
    "FP32": TensorProto.FLOAT,
    "FP64": TensorProto.DOUBLE,
    "BF16": TensorProto.BFLOAT16,
    "BYTES": TensorProto.STRING,
}


def every_type() -> onnx.ModelProto:
    """Of each datatype T an input in_T [N, 2] that comes back as out_T; BYTES by a host partition."""
    nodes = [helper.make_node("Identity", [f"in_{name}"], [f"out_{name}"]) for name in TYPES]
    ins, outs = (
        [helper.make_tensor_value_info(f"{side}_{name}", number, ["N", 2]) for name, number in TYPES.items()]
        for side in ("in", "out")
    )
    graph = helper.make_graph(nodes, "every_type", ins, outs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def put(
    root: Path, name: str, version: int, build: Callable[[], onnx.ModelProto], codegen: str = "auto"
) -> Path:
    """Writes a bundle into a repository, all versions of which are served, and returns its path."""
    folder = root / name / str(version)
    folder.mkdir(parents=True)
    (root / name / "config.pbtxt").write_text("version_policy { all {} }")
    path = folder / "model.om"
    options = ConvertOptions(precision="must_keep_origin_dtype", codegen=codegen)
    path.write_bytes(convert(build(), options).to_bytes())
    return path
