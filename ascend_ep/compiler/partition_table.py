"""Where every node of a converted model runs, for people to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from ascend_ep.graph.naming import label
from ascend_ep.graph.partition import Partition

from .semantics import Semantics


@dataclass(frozen=True)
class PartitionRow:
    """Where one node runs: target is AscendEP or CPU; the reason says why it is CPU. `definition`: where the
    definition of an operator that isn't ONNX's was found. `inside`: name and operator of each node of its
    bodies, which runs where it does; constants are none. `output`: the name of its first output."""

    node: str
    op_type: str
    target: str
    partition: str
    reason: str
    definition: str = ""
    inside: tuple[tuple[str, str], ...] = ()
    output: str = ""

    @property
    def operators(self) -> list[str]:
        """Those of the node and of its bodies."""
        return [self.op_type, *(op_type for _, op_type in self.inside)]


def partition_table(parts: Sequence[Partition], semantics: Semantics) -> tuple[PartitionRow, ...]:
    """A row for each node, in the order they run."""
    return tuple(
        PartitionRow(
            label(node),
            node.op_type,
            "AscendEP" if part.kind == "native" else "CPU",
            f"p{i}",
            part.reasons.get(node, ""),
            semantics.origin(node),
            tuple((label(inner), inner.op_type) for inner in _nodes_inside(node)),
            next((value.name for value in node.outputs if value.name), ""),
        )
        for i, part in enumerate(parts)
        for node in part.nodes
    )


def _nodes_inside(node: ir.Node) -> Iterator[ir.Node]:
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH:
            for inner in attribute.as_graph():
                if inner.op_type != "Constant":
                    yield inner
                yield from _nodes_inside(inner)
