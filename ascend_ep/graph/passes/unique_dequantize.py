"""A DequantizeLinear for each of its readers, with a zero point, so that each may become part of a product of
integers."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ascend_ep.graph.passes.rewire import add_constant, is_standard


class UniqueDequantize(ir.passes.InPlacePass):
    """Copies every DequantizeLinear that has more than one reader; constants of 8 bits get a zero point of 0
    where they have none."""

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        modified = False
        for node in list(model.graph):
            if not is_standard(node, "DequantizeLinear"):
                continue
            modified |= _complete(node, model.graph)
            uses = list(node.outputs[0].uses())
            for number, (user, index) in enumerate(uses[0 if node.outputs[0].is_graph_output() else 1 :], 1):
                name = f"{node.name}/{number}" if node.name else None  # onnxruntime wants them to differ
                copy = ir.node("DequantizeLinear", list(node.inputs), dict(node.attributes), name=name)
                copy.outputs[0].type, copy.outputs[0].shape = node.outputs[0].type, node.outputs[0].shape
                node.graph.insert_after(node, copy) if node.graph is not None else None
                user.replace_input_with(index, copy.outputs[0])
                modified = True
        return ir.passes.PassResult(model, modified)


def _complete(node: ir.Node, graph: ir.Graph) -> bool:
    x, scale = node.inputs[:2]
    if x is None or scale is None or x.const_value is None or scale.const_value is None:
        return False
    if len(node.inputs) > 2 or x.const_value.dtype not in (ir.DataType.INT8, ir.DataType.UINT8):
        return False
    zeros = np.zeros(scale.const_value.shape.numpy(), x.const_value.dtype.numpy())
    node.resize_inputs(3)
    node.replace_input_with(2, add_constant(graph, f"{x.name}.zero_point", ir.tensor(zeros)))
    return True
