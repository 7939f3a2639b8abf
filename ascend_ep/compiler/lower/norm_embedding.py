"""EmbedLayerNormalization, which onnxruntime contributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from ascend_ep.compiler.lower.function_body_written import Body
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, Unsupported, lowers


@lowers("embed_layer_norm")
def lower_embed_layer_norm(node: NodeView, b: PlanBuilder) -> None:
    """Rows of words, positions and segments, summed and normalised; how many of each row the mask has."""
    body = Body(node)
    ids, segments, words, places, kinds, gamma, beta, mask, positions = (body.given(i) for i in range(9))
    if int(node.attr("mask_index_type", 0)):
        raise Unsupported(f"its mask_index_type is {node.attr('mask_index_type')}")
    if not positions:
        length = body.add("Squeeze", body.add("Shape", ids, start=1, end=2), body.constant([0]))
        positions = body.add("Range", body.constant(0), length, body.constant(1))
    parts = body.add("Add", body.add("Gather", words, ids), body.add("Gather", places, positions))
    if segments:
        parts = body.add("Add", parts, body.add("Gather", kinds, segments))
    epsilon = body.number("epsilon", 1e-12)
    body.add("LayerNormalization", parts, gamma, beta, into=body.wanted(0), epsilon=epsilon)
    if body.wanted(1):
        if mask:
            body.add("ReduceSum", mask, body.constant([1]), keepdims=0, into=body.wanted(1))
        else:
            rows = body.add("Shape", ids, start=0, end=1)
            body.add("ConstantOfShape", rows, into=body.wanted(1), value=_zero(np.int32))
    if body.wanted(2):
        body.add("Identity", parts, into=body.wanted(2))
    body.lower(b)


def _zero(dtype: Any) -> onnx.TensorProto:
    return numpy_helper.from_array(np.zeros(1, dtype))
