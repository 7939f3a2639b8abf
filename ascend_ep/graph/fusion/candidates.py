"""A match of the graph's nodes as a candidate for the cost function."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.assessment import Candidate, Kind, Step, Tensor

KINDS = {
    **dict.fromkeys(("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"), Kind.VIEW),
    **dict.fromkeys(("Transpose", "Expand", "Tile", "Gather", "Shape", "DequantizeLinear"), Kind.MOVE),
    **dict.fromkeys(("Slice", "Concat", "Split"), Kind.PARTS),
    **dict.fromkeys(
        ("ReduceMean", "ReduceSum", "ReduceMax", "Softmax", "LayerNormalization", "RMSNormalization"),
        Kind.ROWS,
    ),
    **dict.fromkeys(("MatMul", "Gemm", "Conv", "Einsum", "MatMulInteger"), Kind.PRODUCT),
    **dict.fromkeys(("If", "Loop", "Scan"), Kind.BRANCH),
}


def candidate(
    nodes: Sequence[ir.Node], root: ir.Node, operands: Sequence[ir.Value], facts: Facts
) -> Candidate:
    """The nodes of a match as steps; `operands` are what the fused node would read."""
    tensors: dict[ir.Value, Tensor] = {}

    def tensor(value: ir.Value) -> Tensor:
        if value not in tensors:
            fact = facts[value]
            tensors[value] = Tensor(fact.dims, int(fact.dtype or 0))
        return tensors[value]

    steps = tuple(
        Step(
            node.op_type,
            KINDS.get(node.op_type, Kind.ELEMENTWISE),
            tuple(tensor(v) for v in node.inputs if v is not None),
            tuple(tensor(v) for v in node.outputs),
        )
        for node in reversed(dict.fromkeys(nodes))  # matched from the root on: operands before users
    )
    reads = tuple(dict.fromkeys(tensor(v) for v in operands))
    return Candidate(
        root.name or root.outputs[0].name or "", steps, reads, tuple(tensor(v) for v in root.outputs)
    )
