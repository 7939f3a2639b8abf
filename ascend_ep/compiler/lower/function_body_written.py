"""Operators whose bodies `ascend_ep.bodies` writes: they run as function bodies do."""

from __future__ import annotations

from ascend_ep.bodies import BODIES, Body
from ascend_ep.bodies.body import Writer
from ascend_ep.compiler.lower.function_body import lower_body
from ascend_ep.compiler.lowering import Lowering, NodeView, PlanBuilder, lowers


def _lowering(write: Writer) -> Lowering:
    def lower(node: NodeView, b: PlanBuilder) -> None:
        body = Body(node)
        write(body)
        lower_body(node, b, body.model())

    return lower


for _name, _write in BODIES.items():
    lowers(_name)(_lowering(_write))
