"""Products of 16-bit floats, computed in float32: what is quantised is float32, and scales are."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ascend_ep.graph.naming import label
from ascend_ep.graph.passes.rewire import add_constant, is_standard

from .choice import PRODUCTS
from .settings import Settings

_HALVES = (ir.DataType.FLOAT16, ir.DataType.BFLOAT16)


def widen_products(graph: ir.Graph, settings: Settings) -> None:
    """Changes the graph in place: products that may be quantised get float32 constants, and a Cast before and
    behind them. Their names, and those of their results, stay."""
    widened: dict[ir.Value, ir.Value] = {}
    for node in graph:
        if not is_standard(node, *PRODUCTS) or node.op_type in settings.skip_layer_types:
            continue
        x, *constants = node.inputs
        if x is None or label(node) in settings.skip_layers or not all(map(_is_half, constants)):
            continue
        added = []
        if x not in widened:
            added = [_cast(x, ir.DataType.FLOAT, f"{x.name}_float32")]
            widened[x] = added[0].outputs[0]
        for value in constants:
            if value is not None and value not in widened and value.const_value is not None:
                wide = ir.tensor(value.const_value.numpy().astype(np.float32))
                widened[value] = add_constant(graph, f"{value.name}_float32", wide)
        operands = [widened[value] for value in node.inputs if value is not None]
        product = ir.node(node.op_type, operands, node.attributes, num_outputs=1, name=label(node))
        _describe(product.outputs[0], f"{node.outputs[0].name}_float32", ir.DataType.FLOAT, node.outputs[0])
        half = constants[0].const_value.dtype if constants[0] and constants[0].const_value else _HALVES[0]
        back = _cast(product.outputs[0], half, str(node.outputs[0].name))
        made = [*added, product, back]
        ir.convenience.replace_nodes_and_values(graph, node, [node], made, node.outputs, back.outputs)
    for value in [v for v in widened if v.is_initializer() and not v.uses()]:
        del graph.initializers[str(value.name)]


def _is_half(value: ir.Value | None) -> bool:
    return value is not None and value.const_value is not None and value.const_value.dtype in _HALVES


def _cast(value: ir.Value, dtype: ir.DataType, name: str) -> ir.Node:
    node = ir.node("Cast", [value], {"to": dtype}, num_outputs=1, name=f"{name}_cast")
    _describe(node.outputs[0], name, dtype, value)
    return node


def _describe(value: ir.Value, name: str, dtype: ir.DataType, like: ir.Value) -> None:
    value.name, value.type, value.shape = name, ir.TensorType(dtype), like.shape
