"""Where every node of a converted model runs, for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_ep.graph.naming import label
from ascend_ep.graph.partition import Partition

from .semantics import Semantics


@dataclass(frozen=True)
class PartitionRow:
    """Where one node runs: target is AscendEP or CPU; the reason says why it is CPU. `definition`: where the
    definition of an operator that isn't ONNX's was found."""

    node: str
    op_type: str
    target: str
    partition: str
    reason: str
    definition: str = ""


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
        )
        for i, part in enumerate(parts)
        for node in part.nodes
    )
