"""Nodes of ONNX's that a lowering writes for the ranks and attributes of one node, and that run in its place
as a function body does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

from ascend_ep.compiler.lower.arguments import operand
from ascend_ep.compiler.lower.function_body import lower_body
from ascend_ep.compiler.lowering import NodeView, PlanBuilder

OPSET = 23


class Body:
    """Nodes that make a node's outputs of its inputs; values are named."""

    def __init__(self, node: NodeView) -> None:
        self.node = node
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, op_type: str, *inputs: str, into: str = "", **attributes: Any) -> str:
        """The name of the node's only output."""
        return self.several(op_type, inputs, [into or f"body.{len(self.nodes)}"], **attributes)[0]

    def several(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any
    ) -> list[str]:
        self.nodes.append(helper.make_node(op_type, list(inputs), list(outputs), **attributes))
        return list(outputs)

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        name = f"body.constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def given(self, index: int) -> str:
        """The name of an input, "" for one that the node lacks."""
        found = operand(self.node.inputs, index)
        return found.name if found is not None else ""

    def wanted(self, index: int) -> str:
        found = operand(self.node.outputs, index)
        return found.name if found is not None else ""

    def number(self, name: str, default: float) -> float:
        return float(self.node.attr(name, default))

    def model(self) -> ir.Model:
        sources = {o.name: o for o in self.node.inputs if o is not None}
        inputs = [helper.make_tensor_value_info(n, o.dtype, None) for n, o in sources.items()]
        outputs = [helper.make_empty_tensor_value_info(o.name) for o in self.node.outputs if o is not None]
        graph = helper.make_graph(self.nodes, "body", inputs, outputs, self.constants)
        return ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)]))

    def lower(self, b: PlanBuilder) -> None:
        lower_body(self.node, b, self.model())
