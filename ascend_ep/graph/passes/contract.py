"""What a pass is, and what must hold between passes.

A pass is an `onnx_ir` in-place pass: `requires`, `call`, `ensures`; its result says whether it modified the
model. With ASCEND_EP_VERIFY=1 the graph is verified before the first pass and after every one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import onnx_ir as ir

from ascend_ep.errors import AscendError
from ascend_ep.graph.partition import used_values
from ascend_ep.graph.setbacks import optional

VERIFY_VARIABLE = "ASCEND_EP_VERIFY"


def is_verifying() -> bool:
    """Whether ASCEND_EP_VERIFY asks for checks between passes."""
    return os.environ.get(VERIFY_VARIABLE, "0") not in ("", "0")


def run_in_order(
    model: ir.Model,
    passes: Sequence[ir.passes.PassBase],
    on_change: Callable[[ir.passes.PassBase], None] = lambda _: None,
) -> bool:
    """Runs `passes` once each, `on_change` with each that modified the model; whether any did."""
    verifying = is_verifying()
    boundary = _boundary(model.graph)
    if verifying:
        verify(model, "before the passes")
    modified = False
    for step in passes:
        name = f"pass {type(step).__name__}"

        def run(step: ir.passes.PassBase = step, name: str = name) -> bool:
            changed = bool(step(model).modified)
            if changed:
                on_change(step)
            if verifying:
                verify(model, f"after {name}")
                if _boundary(model.graph) != boundary:
                    raise _invalid(f"after {name}", "the graph's inputs or outputs changed")
            return changed

        modified |= optional(name, run, otherwise=False)
    return modified


def _boundary(graph: ir.Graph) -> tuple[list[str | None], list[str | None]]:
    return [v.name for v in graph.inputs], [v.name for v in graph.outputs]


def verify(model: ir.Model, when: str) -> None:
    """AscendError E19999, saying `when`, unless the graph is legal.

    Every value has one definition, by name too, which a graph inside may hide; it is used only after it,
    within its graph or one inside; initializers have data; nodes are in topological order.
    """
    _verify_graph(model.graph, set(), set(), when)


def _verify_graph(graph: ir.Graph, outer: set[ir.Value], names: set[str], when: str) -> None:
    visible = set(outer)

    def define(value: ir.Value, what: str) -> None:
        if not value.name:
            raise _invalid(when, f"{what} has no name")
        if value in visible or value.name in names:
            raise _invalid(when, f"value {value.name!r} is defined twice")
        visible.add(value)
        names.add(value.name)

    for value in graph.inputs:
        if value.producer() is not None:
            raise _invalid(when, f"input {value.name!r} is produced by a node")
        define(value, "an input")
    for name, value in graph.initializers.items():
        if value.const_value is None or value.name != name or value.producer() is not None:
            raise _invalid(when, f"initializer {name!r} has no data, another name, or a producer")
        define(value, "an initializer")
    for node in graph:
        what = f"node {node.name!r} ({node.op_type})"
        if node.graph is not graph:
            raise _invalid(when, f"{what} belongs to another graph")
        for value in used_values(node):
            if value not in visible:
                raise _invalid(when, f"{what} uses {value.name!r} before its definition")
        for attribute in node.attributes.values():
            if attribute.type == ir.AttributeType.GRAPH:
                _verify_graph(attribute.as_graph(), visible, set(), when)
        for value in node.outputs:
            if value.producer() is not node:
                raise _invalid(when, f"output {value.name!r} of {what} has another producer")
            if value.name:
                define(value, what)
    for value in graph.outputs:
        if value not in visible:
            raise _invalid(when, f"output {value.name!r} is produced by no node")


def _invalid(when: str, reason: str) -> AscendError:
    return AscendError("E19999", details=[f"the graph is illegal {when}: {reason}"])
