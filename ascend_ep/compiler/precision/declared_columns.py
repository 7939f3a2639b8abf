"""Operators whose definition declares the types that a device kernel is built for (msopgen's columns): they
compute in one of those, whatever type the model or the precision mode has."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import onnx_ir as ir

from ascend_ep.compiler.semantics import Semantics
from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.passes.retype import Choice, NodeTypes
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.declared_types import Column, column_of
from ascend_ep.opdef.definition import OpDef

_FLOATS = dtypes.COMPUTE_FLOATS


def declares_columns(model: ir.Model, facts: Facts, semantics: Semantics) -> bool:
    """Whether any node of the main graph has other types than its operator declares."""
    return any(_types_of(node, None, facts, semantics) for node in model.graph)


def with_columns(choose: Choice, facts: Facts, semantics: Semantics) -> Choice:
    """The choice, but for operators whose columns haven't those types. Warns, once an operator, of types that
    neither the model nor the choice has."""
    said: set[str] = set()

    def types_of(node: ir.Node, flowing: Sequence[int]) -> NodeTypes | None:
        asked = choose(node, flowing)
        types = _types_of(node, asked, facts, semantics)
        if types is not None and node.op_type not in said and not _has(node, types, facts):
            said.add(node.op_type)
            error = AscendError("E41014", node.op_type, dtypes.name(types.writes))
            warnings.warn(f"{error.code}: {error.text}", RuntimeWarning, stacklevel=2)
        return types or asked

    return types_of


def _has(node: ir.Node, types: NodeTypes, facts: Facts) -> bool:
    """Whether the model itself has the types for the node."""
    own = [None if v is None else facts[v].dtype for v in node.inputs]
    return all(types.read(i) == d for i, d in enumerate(own) if d in _FLOATS)


def _types_of(node: ir.Node, asked: NodeTypes | None, facts: Facts, semantics: Semantics) -> NodeTypes | None:
    """The types of the column that serves a node; None where it has them anyway, or none serves."""
    opdef = semantics.definition(node)
    if opdef is None or not opdef.paired:
        return None
    own = [None if v is None else facts[v].dtype for v in node.inputs]
    given = [asked.read(i) if asked and d in _FLOATS else d for i, d in enumerate(own)]
    column = column_of(opdef, given)
    if column is None or all(t in (None, d) for t, d in zip(column.inputs, given, strict=True)):
        return None
    reads = tuple(d if t is None else t for t, d in zip(column.inputs, given, strict=True))
    return NodeTypes(tuple(t or dtypes.FLOAT32 for t in reads), _written(opdef, column, reads))


def _written(opdef: OpDef, column: Column, reads: Sequence[int | None]) -> int:
    """The widest of the float types that it writes."""
    first = next((t for t in reads if t in _FLOATS), dtypes.FLOAT32)
    written = [first if t is None else t for t in column.outputs if t is None or t in _FLOATS]
    same = len(set(written)) == 1
    return written[0] if same else dtypes.FLOAT32
