"""BatchNormalization folded into the convolution before it.

BN(conv(x)) = (W*x + b - mean) * s + B with s = scale / sqrt(var + epsilon), per output channel; computed in
float64 and rounded once to the weight's type (Ioffe and Szegedy 2015, inference form). A transposed
convolution has its output channels on the weights' second axis, those of a group beside the group's inputs.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ascend_ep.graph.facts import Array
from ascend_ep.graph.passes.rewire import add_constant, attribute, bypass, is_standard, only_consumer

FLOATS = (ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)


class FoldBatchNorm(ir.passes.InPlacePass):
    """Conv -> BatchNormalization with constant statistics becomes Conv; so for ConvTranspose."""

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        modified = False
        for node in list(model.graph):
            if is_standard(node, "BatchNormalization"):
                modified |= _fold(node, model.graph)
        return ir.passes.PassResult(model, modified)


def _constant(value: ir.Value | None) -> Array | None:
    if value is None or value.const_value is None or not value.is_initializer():
        return None
    return value.const_value.numpy()


def _with_outputs_first(conv: ir.Node, weight: Array) -> Array:
    """[M, C / group, kernel..], of a transposed convolution from [C, M / group, kernel..]."""
    if is_standard(conv, "Conv"):
        return weight
    group = attribute(conv, "group", 1)
    assert isinstance(group, int)
    apart = weight.reshape(group, weight.shape[0] // group, *weight.shape[1:]).swapaxes(1, 2)
    return apart.reshape(group * weight.shape[1], -1, *weight.shape[2:])


def _as_they_were(conv: ir.Node, split: Array, dims: tuple[int, ...]) -> Array:
    """Undoes `_with_outputs_first`, for weights of these dims."""
    if is_standard(conv, "Conv"):
        return split
    apart = split.reshape(-1, dims[1], *split.shape[1:]).swapaxes(1, 2)
    return np.ascontiguousarray(apart).reshape(dims)


def _fold(node: ir.Node, graph: ir.Graph) -> bool:
    data = node.inputs[0]
    conv = None if data is None else data.producer()
    if data is None or conv is None or not is_standard(conv, "Conv", "ConvTranspose"):
        return False
    if only_consumer(data) is not node:
        return False
    if attribute(node, "training_mode", 0) or any(o.uses() or o.is_graph_output() for o in node.outputs[1:]):
        return False
    if attribute(node, "spatial", 1) != 1 or conv.graph is not graph or len(node.inputs) < 5:
        return False
    statistics = [_constant(v) for v in node.inputs[1:5]]
    weight = _constant(conv.inputs[1])
    given = conv.inputs[2] if len(conv.inputs) > 2 else None
    bias = _constant(given)
    if weight is None or any(s is None for s in statistics) or (given is not None and bias is None):
        return False
    if conv.inputs[1] is None or conv.inputs[1].dtype not in FLOATS:
        return False
    scale, shift, mean, variance = (s.astype(np.float64) for s in statistics if s is not None)
    split = _with_outputs_first(conv, weight)
    if any(s.shape != (split.shape[0],) for s in (scale, shift, mean, variance)):
        return False
    epsilon = attribute(node, "epsilon", 1e-5)
    assert isinstance(epsilon, float)
    factor = scale / np.sqrt(variance + epsilon)
    columns = factor.reshape(-1, *(1 for _ in split.shape[1:]))
    folded = _as_they_were(conv, (split.astype(np.float64) * columns).astype(weight.dtype), weight.shape)
    start = 0.0 if bias is None else bias.astype(np.float64)
    offset = ((start - mean) * factor + shift).astype(weight.dtype)
    name = conv.inputs[1].name
    conv.replace_input_with(1, add_constant(graph, f"{name}.normalized", ir.tensor(folded)))
    if len(conv.inputs) < 3:
        conv.resize_inputs(3)
    conv.replace_input_with(2, add_constant(graph, f"{name}.bias", ir.tensor(offset)))
    return bypass(node, data)
