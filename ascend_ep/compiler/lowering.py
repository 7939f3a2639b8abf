"""From one ONNX node to kernel calls: what a lowering function sees, and what it builds with.

    @lowers("softmax")
    def lower_softmax(node: NodeView, b: PlanBuilder) -> None: ...

A lowering translates one node or raises `Unsupported(sentence)`; the node then runs on the host
partition, with that sentence as the reason. Partitioning is lowering into a builder that is thrown
away, so a claim can't promise what lowering doesn't keep.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ascend_ep.opdef.dims import Dim
from ascend_ep.plan.node_view import NodeView, Operand, Unsupported
from ascend_ep.plan.plan import Ref
from ascend_ep.plan.plan_builder import PlanBuilder

from .half_types import has_half_types, lower_in_float32

__all__ = [
    "Dim",
    "Lowering",
    "NodeView",
    "Operand",
    "PlanBuilder",
    "Ref",
    "Unsupported",
    "lower_node",
    "lowers",
    "registered",
]

Lowering = Callable[[NodeView, PlanBuilder], None]
_LOWERINGS: dict[str, Lowering] = {}


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Registers a lowering under the names that op_schemas files give as `kernel`."""

    def register(function: Lowering) -> Lowering:
        for name in names:
            if name in _LOWERINGS:
                raise ValueError(f"two lowerings are named {name!r}")
            _LOWERINGS[name] = function
        return function

    return register


def registered(name: str) -> Lowering | None:
    """The lowering of that name, of those that are loaded."""
    return _LOWERINGS.get(name)


def lower_node(node: NodeView, function: Lowering, b: PlanBuilder) -> None:
    """Runs a lowering; every wanted output must have a value afterwards. What has no kernel for float16 or
    bfloat16 is computed in float32 between casts."""
    reason = b.attempt(node, function)
    if reason is not None and has_half_types(node):
        reason = b.attempt(node, partial(lower_in_float32, function))
    if reason is not None:
        raise reason
    for operand in node.outputs:
        if operand is not None and not b.has(operand):
            raise Unsupported(f"its lowering makes no output {operand.name!r}")
