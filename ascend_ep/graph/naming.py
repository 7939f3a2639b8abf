"""Names that the converter gives: to nodes in messages, and to sizes that nothing declares."""

from __future__ import annotations

import onnx_ir as ir

from ascend_ep.opdef.dims import DimExpr, symbol


def label(node: ir.Node) -> str:
    """What to call a node in messages: its name, or its first output."""
    return node.name or next((v.name for v in node.outputs if v.name), None) or node.op_type


def fresh_symbol(value: ir.Value, axis: int) -> DimExpr:
    """The size of a value's axis that is known of by nothing but itself."""
    return symbol(f"{value.name}:{axis}")


def named_value(name: str) -> str:
    """The name of the value after which `fresh_symbol` named a size; of no value for other sizes."""
    return name.rpartition(":")[0]
