"""Operators computed by a shared library (--custom_op=Type:./lib.so): one call of asc_custom_op."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascend_ep.opdef.definition import Library

from .lowering import NodeView, PlanBuilder, Unsupported
from .plan import AttrValue, Native


def lower_library(node: NodeView, b: PlanBuilder) -> None:
    """Hands the node's tensors and attributes to the library as they are."""
    opdef = node.opdef
    if opdef is None or not isinstance(opdef.semantics, Library):
        raise Unsupported("its definition names no library")
    path = str(opdef.semantics.path)
    native = Native(opdef.semantics.path.name, path)
    ins = [None if operand is None else b.ref(operand) for operand in node.inputs]
    wanted = [operand for operand in node.outputs if operand is not None]
    if len(wanted) != len(node.outputs):
        raise Unsupported("a library writes all its outputs, and one of them has no name")
    b.emit_native(native, node.op_type, ins, [b.out(o) for o in wanted], attributes(node.attributes))


def attributes(given: Mapping[str, Any]) -> dict[str, AttrValue]:
    """Attributes as a library reads them: integers, doubles or one string."""
    found: dict[str, AttrValue] = {}
    for name, value in given.items():
        if isinstance(value, str):
            found[name] = value
        elif isinstance(value, int | float):
            found[name] = [value] if isinstance(value, float) else [int(value)]
        elif isinstance(value, list | tuple) and all(isinstance(v, int | float) for v in value):
            whole = all(isinstance(v, int) for v in value)
            found[name] = [int(v) for v in value] if whole else [float(v) for v in value]
        else:
            raise Unsupported(f"a library can't be given its attribute {name!r}")
    return found
