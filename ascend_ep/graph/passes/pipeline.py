"""The order of passes."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes import common

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.infer import Registry


def run_passes(model: ir.Model, registry: Registry | None = None, facts: Facts | None = None) -> ir.Model:
    """The model simplified in place; every remaining value keeps its meaning."""
    common.IdentityEliminationPass()(model)
    common.RemoveUnusedNodesPass()(model)
    return model
