"""EmbedLayerNormalization and GatedRMSNorm."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from ascend_ep.bodies.body import Body, written
from ascend_ep.opdef import dtypes


@written("embed_layer_norm")
def write_embed_layer_norm(body: Body) -> None:
    """Rows of words, positions and segments, summed and normalised; how many of each row the mask has."""
    ids, segments, words, places, kinds, gamma, beta, mask, positions = (body.given(i) for i in range(9))
    positions = positions or body.counted(body.size(ids, 1))
    parts = body.add("Add", body.add("Gather", words, ids), body.add("Gather", places, positions))
    if segments:
        parts = body.add("Add", parts, body.add("Gather", kinds, segments))
    epsilon = body.number("epsilon", 1e-12)
    body.add("LayerNormalization", parts, gamma, beta, into=body.wanted(0), epsilon=epsilon)
    if body.wanted(1):
        if mask:
            ones = body.add("Cast", body.add("Equal", mask, body.constant(1, np.int32)), to=dtypes.INT32)
            body.add("ReduceSum", ones, body.constant([1]), keepdims=0, into=body.wanted(1))
        else:
            rows, zero = body.add("Shape", ids, start=0, end=1), np.zeros(1, np.int32)
            body.add("ConstantOfShape", rows, into=body.wanted(1), value=numpy_helper.from_array(zero))
    if body.wanted(2):
        body.add("Identity", parts, into=body.wanted(2))


@written("gated_rms_norm")
def write_gated_rms_norm(body: Body) -> None:
    """X by its root mean square, over as many elements as the scale has, by the gate's activation."""
    body.refuse_half_types()
    x, scale, gate = (body.given(i) for i in range(3))
    groups = body.add("Reshape", x, body.add("Concat", *_leading(body, x), body.add("Shape", scale), axis=0))
    normed = body.add("RMSNormalization", groups, scale, epsilon=body.number("epsilon", 1e-5))
    normed = body.add("Reshape", normed, body.add("Shape", x))
    name = body.text("activation", "silu")
    body.refuse(name not in ("silu", "swish", "sigmoid"), f"its activation {name!r} is not known here")
    opened = body.add("Sigmoid", gate)
    opened = opened if name == "sigmoid" else body.add("Mul", gate, opened)
    body.add("Mul", normed, opened, into=body.wanted(0))


def _leading(body: Body, x: str) -> list[str]:
    """The axes of x but the last, and -1."""
    return [body.add("Shape", x, end=-1), body.constant([-1])]
