"""onnxruntime's DynamicQuantizeLSTM: X is quantised as a whole and multiplied with the 8-bit weights of both
directions side by side; the kernel quantises the state of every step (kernels/recurrent/recurrent_bytes.c).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.lower.arguments import needed
from ascend_ep.compiler.lower.matmul_integer import NO_LIMITS
from ascend_ep.compiler.lower.recurrent import (
    DIRECTIONS,
    GATES,
    Layer,
    biases,
    emit_layer,
    peephole,
    state_ref,
)
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.compiler.rewrites.packed_integers import signed
from ascend_ep.element_types import FLOAT32, UINT8

Array = NDArray[Any]
W, R, W_SCALE, W_ZERO, R_SCALE, R_ZERO = 1, 2, 8, 9, 10, 11


@lowers("dynamic_quantize_lstm")
def lower_dynamic_quantize_lstm(node: NodeView, b: PlanBuilder) -> None:
    """Inputs X, W, R, B, sequence_lens, initial_h, initial_c, P, and scales and zero points of W and R."""
    order = DIRECTIONS.get(str(node.attr("direction", "forward")))
    if order is None:
        raise Unsupported(f"direction is {node.attr('direction')!r}")
    for i in (W, R, W_SCALE, W_ZERO, R_SCALE, R_ZERO):
        if needed(node.inputs, i).const is None:
            raise Unsupported(f"its {needed(node.inputs, i).name!r} is no constant")
    layer = Layer(node, order, _const(node, R).shape[1])
    steps, batch = needed(node.inputs, 0).dims[:2]
    weights, zeros = signed(_const(node, R)), _zeros(layer, R_ZERO)
    sums: Array = np.asarray(np.sum(weights, 1, dtype=np.int32))
    lengths, (bias, _) = layer.given(4), biases(layer, b)
    ins: list[Ref | None] = [
        _input_sums(layer, b),
        b.constant(weights, "vnni4_32"),
        None,
        None if bias is None else b.view(bias, sums.shape),
        None if lengths is None else b.ref(lengths),
        *(state_ref(layer, b, i) for i in (5, 6)),
        peephole(layer, b),
        b.constant(sums),
        b.constant(_spread(layer, R_SCALE)),
    ]
    emit_layer(layer, b, [*ins, *([b.constant(zeros)] if zeros.any() else [])], steps, batch)


def _input_sums(layer: Layer, b: PlanBuilder) -> Ref:
    """X times W of both directions: [S, B, D*N]."""
    node, x = layer.node, needed(layer.node.inputs, 0)
    weights, zeros = signed(_const(node, W)), _zeros(layer, W_ZERO)
    fan_in, width = weights.shape[1], weights.shape[0] * weights.shape[2]
    matrix = np.moveaxis(weights, 1, 0).reshape(fan_in, width)
    quantised, scale, zero = b.temp(UINT8, x.dims), b.temp(FLOAT32, ()), b.temp(UINT8, ())
    b.emit("dynamic_quantize", [b.ref(x)], [quantised, scale, zero])
    tables = [
        b.constant(np.asarray(np.sum(matrix, 0, dtype=np.int32))),
        zero,
        b.constant(zeros.reshape(-1)) if zeros.any() else None,
        None,
        scale,
        b.constant(_spread(layer, W_SCALE).reshape(-1)),
    ]
    made = b.temp(FLOAT32, (*x.dims[:2], width))
    b.emit("qmatmul", [quantised, b.constant(matrix, "vnni4_32"), *tables], [made], (), NO_LIMITS)
    return made


def _const(node: NodeView, index: int) -> Array:
    const = needed(node.inputs, index).const
    assert const is not None
    return const


def _spread(layer: Layer, index: int) -> Array:
    """A scale for each column of both directions, [D, N]: given are those, or one for each direction."""
    given, columns = _const(layer.node, index), GATES["LSTM"] * layer.hidden
    return np.ascontiguousarray(
        np.broadcast_to(given.reshape(len(layer.order), -1), (len(layer.order), columns))
    )


def _zeros(layer: Layer, index: int) -> Array:
    """The zero points that go with `signed` weights, likewise."""
    return signed(_spread(layer, index))
