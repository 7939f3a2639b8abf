"""Operators of ONNX whose results differ from run to run."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

#: Those that draw whenever they run. A seed makes runs of one implementation alike, never two of them.
RANDOM = frozenset(
    {
        *("Bernoulli", "Multinomial"),
        *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
    }
)


def random_nodes(model: ir.Model) -> Iterator[ir.Node]:
    """The nodes that draw their results, in bodies and functions, too; without one, equal inputs give equal
    results."""
    graphs = (model.graph, *(function.graph for function in model.functions.values()))
    return (node for graph in graphs for node in graph.all_nodes() if _draws(node))


def _draws(node: ir.Node) -> bool:
    if node.domain not in ("", "ai.onnx"):
        return False
    return node.op_type in RANDOM or (node.op_type == "Dropout" and _trains(node))


def _trains(node: ir.Node) -> bool:
    """Whether a Dropout may drop: its training_mode is given, and not known to be false."""
    mode = node.inputs[2] if len(node.inputs) > 2 else None
    if mode is None:
        return False
    known = mode.const_value
    return known is None or bool(known.numpy().any())
