"""QuantizeLinear and DequantizeLinear around products, as every tool that reads ONNX knows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.graph.passes.rewire import add_constant, is_standard, only_consumer

from .choice import Product
from .observe import Floats
from .ranges import Scale
from .settings import Settings
from .weights import Integers, block_of, channel_scales, gptq, rounded, rounded_blocks

#: The largest bias in steps that int32 should hold.
_MOST_STEPS = 2.0**30


def quantise_values(graph: ir.Graph, roots: Mapping[ir.Value, ir.Value], scales: Mapping[str, Scale]) -> None:
    """Puts both nodes behind each of `roots`, with the scale of its root; all readers read what they give."""
    for value, root in roots.items():
        found = scales[str(root.name)]
        tables = [
            add_constant(graph, f"{value.name}_scale", ir.tensor(np.asarray(found.scale))),
            add_constant(graph, f"{value.name}_zero_point", ir.tensor(found.zero)),
        ]
        uses = list(value.uses())
        source = _before_bounds(value, found)
        kind = ir.DataType.from_numpy(found.zero.dtype)
        first = _node("QuantizeLinear", [source, *tables], f"{value.name}_quantized", kind, value.shape)
        integers = first.outputs[0]
        second = _node(
            "DequantizeLinear",
            [integers, *tables],
            f"{value.name}_dequantized",
            ir.DataType.FLOAT,
            value.shape,
        )
        producer = source.producer()
        if producer is None:
            graph.insert_before(next(iter(graph)), [first, second])
        else:
            graph.insert_after(producer, [first, second])
        for node, place in uses:
            node.replace_input_with(place, second.outputs[0])


def _before_bounds(value: ir.Value, scale: Scale) -> ir.Value:
    """What a Relu or Clip bounds, where the integers have no more than these bounds anyway; else `value`."""
    node = value.producer()
    source = None if node is None else node.inputs[0]
    if node is None or source is None or value.is_graph_output() or only_consumer(source) is not node:
        return value
    if not is_standard(node, "Relu", "Clip") or source.producer() is None:
        return value
    bounds = [0.0, None] if node.op_type == "Relu" else [_scalar(node, 1), _scalar(node, 2)]
    limits = np.iinfo(scale.zero.dtype)
    low, high = (
        None if b is None else np.rint(np.float32(b) / scale.scale) + int(scale.zero) for b in bounds
    )
    inside = (low is None or low <= limits.min) and (high is None or high >= limits.max)
    constant = all(v is None or v.const_value is not None for v in node.inputs[1:])
    return source if inside and constant else value


def _scalar(node: ir.Node, at: int) -> float | None:
    value = node.inputs[at] if at < len(node.inputs) else None
    return None if value is None or value.const_value is None else float(value.const_value.numpy())


def quantise_weights(
    graph: ir.Graph,
    product: Product,
    x: Scale | None,
    settings: Settings,
    moment: Floats | None,
) -> None:
    """The weights of a product, and its bias where its activation is quantised, as integers. `moment`: of its
    activation, for GPTQ."""
    least: Floats | float = 0.0
    bias = (
        None if product.bias is None or product.bias.const_value is None else product.bias.const_value.numpy()
    )
    if x is not None and bias is not None:
        per_channel = np.abs(bias.astype(np.float64)) / (float(x.scale) * _MOST_STEPS)
        least = per_channel if settings.channel_wise else float(per_channel.max(initial=0))
    found = _integers(product, settings, moment, least)
    bits = ml_dtypes.int4 if settings.weight_bits == 4 else np.int8
    product.node.replace_input_with(1, _dequantised(graph, str(product.weight.name), found, bits))
    if x is not None and bias is not None:
        step = (found.scale * x.scale).astype(np.float32)
        steps = np.clip(np.rint(bias.astype(np.float64) / step), -(2**31), 2**31 - 1).astype(np.int32)
        assert product.bias is not None
        made = _dequantised(graph, str(product.bias.name), Integers(steps, step, 0), np.int32)
        product.node.replace_input_with(2, made)


def _integers(product: Product, settings: Settings, moment: Floats | None, least: Floats | float) -> Integers:
    weight = product.array()
    if settings.weight_bits == 8:
        scale = channel_scales(weight, product.axis, settings.channel_wise, least)
        if moment is None or not product.is_matrix:
            return rounded(weight, product.axis, scale)
        matrix = weight if product.axis == 1 else weight.T
        row = np.broadcast_to(scale, (1, matrix.shape[1]))
        values, _ = gptq(matrix, moment, 8, len(matrix), row)
        return Integers(values if product.axis == 1 else values.T, scale, product.axis)
    matrix = weight if product.axis == 1 else weight.T
    block = block_of(len(matrix), settings.block_size)
    if moment is None:
        values, scales = rounded_blocks(matrix, block)
    else:
        values, scales = gptq(matrix, moment, 4, block, None)
    if block == len(matrix):
        return Integers(values if product.axis == 1 else values.T, scales[0], product.axis)
    if product.axis == 1:
        return Integers(values, scales, 0, block)
    return Integers(values.T, scales.T, 1, block)


def _dequantised(graph: ir.Graph, name: str, found: Integers, dtype: Any) -> ir.Value:
    """The value that a new DequantizeLinear of constants gives."""
    values: NDArray[Any] = np.ascontiguousarray(found.values).astype(dtype)
    operands = [
        add_constant(graph, f"{name}_quantized", ir.tensor(values)),
        add_constant(graph, f"{name}_scale", ir.tensor(np.ascontiguousarray(found.scale))),
    ]
    if found.values.dtype == np.int8 and dtype is np.int8:  # onnxruntime makes integer products only with it
        zeros = np.zeros(found.scale.shape, np.int8)
        operands.append(add_constant(graph, f"{name}_zero_point", ir.tensor(zeros)))
    attributes: dict[str, int] = {}
    if found.scale.ndim:
        attributes["axis"] = found.axis
    if found.block:
        attributes["block_size"] = found.block
    shape = ir.Shape(values.shape)
    node = _node(
        "DequantizeLinear", operands, f"{operands[0].name}_dequantized", ir.DataType.FLOAT, shape, attributes
    )
    graph.insert_before(next(iter(graph)), node)
    return node.outputs[0]


def _node(
    op_type: str,
    inputs: Sequence[ir.Value],
    name: str,
    kind: ir.DataType,
    shape: ir.Shape | None,
    attributes: Mapping[str, int] | None = None,
) -> ir.Node:
    node = ir.node(op_type, inputs, attributes=dict(attributes or {}), num_outputs=1, name=name)
    made = node.outputs[0]
    made.name, made.type, made.shape = name, ir.TensorType(kind), shape
    return node
