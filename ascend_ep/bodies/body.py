"""Nodes of ONNX's that are written for the ranks and attributes of one node, and run in its place as a
function body does.

    @written("gated_rms_norm")
    def write_gated_rms_norm(body: Body) -> None: ...

The name is what a definition gives as `kernel`. A body that can't be written raises `Unsupported(sentence)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

from ascend_ep.opdef import dtypes
from ascend_ep.plan.node_view import NodeView, Operand, Unsupported

OPSET = 23

Writer = Callable[["Body"], None]
BODIES: dict[str, Writer] = {}


def written(name: str) -> Callable[[Writer], Writer]:
    def register(function: Writer) -> Writer:
        BODIES[name] = function
        return function

    return register


class Body:
    """Nodes that make a node's outputs of its inputs; values are named, "" is an absent one."""

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
        given, made = list(inputs), list(outputs)
        for names in (given, made):
            while names and not names[-1]:
                names.pop()
        self.nodes.append(helper.make_node(op_type, given, made, **attributes))
        return list(outputs)

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        name = f"body.constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    # --- the node ---------------------------------------------------------------------------------

    def operand(self, index: int) -> Operand | None:
        return self.node.inputs[index] if index < len(self.node.inputs) else None

    def needed(self, index: int) -> Operand:
        found = self.operand(index)
        if found is None:
            raise Unsupported(f"its input {index} is missing")
        return found

    def given(self, index: int) -> str:
        found = self.operand(index)
        return found.name if found is not None else ""

    def wanted(self, index: int) -> str:
        found = self.node.outputs[index] if index < len(self.node.outputs) else None
        return found.name if found is not None else ""

    def number(self, name: str, default: float) -> float:
        return float(self.node.attr(name, default))

    def integer(self, name: str, default: int = 0) -> int:
        return int(self.node.attr(name, default))

    def text(self, name: str, default: str = "") -> str:
        found = self.node.attr(name, default)
        return found.decode() if isinstance(found, bytes) else str(found)

    def refuse(self, refused: bool, why: str) -> None:
        if refused:
            raise Unsupported(why)

    def refuse_half_types(self) -> None:
        """Whoever lowers the node then asks for it in float32, between casts."""
        halves = (dtypes.FLOAT16, dtypes.BFLOAT16)
        operands = (*self.node.inputs, *self.node.outputs)
        self.refuse(any(o is not None and o.dtype in halves for o in operands), "it has half types")

    # --- what bodies are made of -------------------------------------------------------------------

    def size(self, name: str, axis: int) -> str:
        """A size of a value, as a scalar."""
        shape = self.add("Shape", name, start=axis, end=axis + 1)
        return self.add("Squeeze", shape, self.constant([0]))

    def counted(self, count: str) -> str:
        """0, 1, ... below a scalar."""
        return self.add("Range", self.constant(0), count, self.constant(1))

    def along(self, vector: str, axes: Sequence[int]) -> str:
        """With axes of 1 at these places of the result."""
        return self.add("Unsqueeze", vector, self.constant(list(axes)))

    def model(self) -> ir.Model:
        sources = {o.name: o for o in self.node.inputs if o is not None}
        inputs = [helper.make_tensor_value_info(n, o.dtype, None) for n, o in sources.items()]
        outputs = [helper.make_empty_tensor_value_info(o.name) for o in self.node.outputs if o is not None]
        graph = helper.make_graph(self.nodes, "body", inputs, outputs, self.constants)
        return ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)]))
