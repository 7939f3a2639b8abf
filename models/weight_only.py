"""The float32 matrices of a model as int8 with a scale per column: weight-only quantisation."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper


def quantize_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in which the second operand of every MatMul that is a float32 initializer [K, N] comes from
    DequantizeLinear of int8, symmetric, one scale per column."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    weights = {t.name: t for t in copy.graph.initializer if t.data_type == onnx.TensorProto.FLOAT}
    chosen = {n.input[1] for n in copy.graph.node if n.op_type == "MatMul" and n.input[1] in weights}
    nodes = [_replace(copy.graph, weights[name]) for name in sorted(chosen)]
    others = list(copy.graph.node)
    del copy.graph.node[:]
    copy.graph.node.extend([*nodes, *others])
    return copy


def _replace(graph: onnx.GraphProto, tensor: onnx.TensorProto) -> onnx.NodeProto:
    """Puts the int8 form and its scales in the place of `tensor`; returns the node that restores it."""
    name, weight = tensor.name, numpy_helper.to_array(tensor)
    scale = np.maximum(np.abs(weight).max(axis=0), np.finfo(np.float32).tiny) / np.float32(127)
    whole = np.clip(np.rint(weight / scale), -127, 127).astype(np.int8)
    tensor.CopyFrom(numpy_helper.from_array(whole, f"{name}.int8"))
    graph.initializer.append(numpy_helper.from_array(scale.astype(np.float32), f"{name}.scale"))
    operands = [f"{name}.int8", f"{name}.scale"]
    return helper.make_node("DequantizeLinear", operands, [name], name=f"/{name}/DequantizeLinear", axis=1)
