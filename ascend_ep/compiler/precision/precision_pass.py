"""A precision mode applied to a simplified graph."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from ascend_ep.compiler.claims import Claims
from ascend_ep.compiler.semantics import Semantics
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.passes.retype import NodeTypes, retype
from ascend_ep.opdef.registry import Registry

from .declared_columns import declares_columns, with_columns
from .precision import PrecisionLists, changes_types, choice


def is_needed(model: ir.Model, facts: Facts, registry: Registry, mode: str, lists: PrecisionLists) -> bool:
    """Whether any node may get other types than it has."""
    return changes_types(mode, lists) or declares_columns(model, facts, Semantics(model, registry))


def apply_precision(
    model: ir.Model, facts: Facts, registry: Registry, mode: str, lists: PrecisionLists, clip: bool
) -> int:
    """Gives nodes the types of the mode and the lists, or those that their operator declares.

    What runs on the host keeps its own. The number of nodes that have other types now.
    """
    semantics = Semantics(model, registry)
    native = Claims(semantics, facts)
    types = with_columns(choice(mode, lists), facts, semantics)

    def of_native(node: ir.Node, flowing: Sequence[int]) -> NodeTypes | None:
        found = types(node, flowing)
        return None if found is None or native(node) is not None else found

    return retype(model, facts, of_native, registry, clip)


def node_names(model: ir.Model) -> set[str]:
    """What nodes may be called in files: their names, and those of outputs of nodes without one."""
    return {n for node in model.graph for n in (node.name, *(v.name for v in node.outputs)) if n}
