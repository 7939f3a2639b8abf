"""Choosing other outputs than the model's (atc's --out_nodes)."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
from onnx_ir.passes import common

from ascend_ep.errors import AscendError


def select_outputs(model: ir.Model, names: Sequence[str]) -> None:
    """Makes these the model's outputs and drops what they don't need.

    Each is "node:index" or the name of a tensor. Raises AscendError E10016 for one that isn't there.
    """
    graph = model.graph
    nodes = {n.name: n for n in graph if n.name}
    values = {v.name: v for v in (*graph.inputs, *(v for n in graph for v in n.outputs)) if v.name}
    chosen: list[ir.Value] = []
    for name in names:
        node_name, _, index = name.rpartition(":")
        node = nodes.get(node_name)
        if node is not None and index.isdigit() and int(index) < len(node.outputs):
            chosen.append(node.outputs[int(index)])
        elif name in values:
            chosen.append(values[name])
        else:
            raise AscendError("E10016", node_name or name, "out_nodes")
    graph.outputs[:] = list(dict.fromkeys(chosen))
    common.RemoveUnusedNodesPass()(model)
