"""A DequantizeLinear for each of its readers, so that each may become part of a product of integers."""

from __future__ import annotations

import onnx_ir as ir

from ascend_ep.graph.passes.rewire import is_standard


class UniqueDequantize(ir.passes.InPlacePass):
    """Copies every DequantizeLinear that has more than one reader."""

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        modified = False
        for node in list(model.graph):
            if not is_standard(node, "DequantizeLinear"):
                continue
            uses = list(node.outputs[0].uses())
            for user, index in uses[0 if node.outputs[0].is_graph_output() else 1 :]:
                copy = ir.node("DequantizeLinear", list(node.inputs), dict(node.attributes), name=node.name)
                copy.outputs[0].type, copy.outputs[0].shape = node.outputs[0].type, node.outputs[0].shape
                node.graph.insert_after(node, copy) if node.graph is not None else None
                user.replace_input_with(index, copy.outputs[0])
                modified = True
        return ir.passes.PassResult(model, modified)
