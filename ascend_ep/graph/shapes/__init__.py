"""Symbolic shape rules of the ONNX operators, a family a file."""

from ascend_ep.graph.shapes import (
    attention,
    conv,
    creation,
    elementwise,
    image,
    indexing,
    matmul,
    movement,
    movement_slicing,
    norm,
    pooling,
    quantize,
    recurrent,
    reduction,
    signal,
    sorting,
)
from ascend_ep.graph.shapes.foreign import infer_by_onnx, infer_defined
from ascend_ep.graph.shapes.rule import RULES, Call, Rule, UnknownShape, VaryingRank
from ascend_ep.graph.shapes.schema_types import check_signature, find_schema, output_types
from ascend_ep.graph.shapes.tabular import TABLE_RULES

__all__ = [
    "RULES",
    "Call",
    "UnknownShape",
    "VaryingRank",
    "check_signature",
    "find_schema",
    "infer_by_onnx",
    "infer_defined",
    "output_types",
    "rule_of",
]

FAMILIES = (
    attention, conv, creation, elementwise, image, indexing, matmul, movement, movement_slicing,
    norm, pooling, quantize, recurrent, reduction, signal, sorting,
)  # fmt: skip


#: Of operators whose definitions have no words for their shapes.
_CONTRIBUTED: dict[str, Rule] = {"FusedConv": conv.infer_conv}


def rule_of(domain: str, op_type: str) -> Rule | None:
    """The rule of an operator, or None where ONNX's own inference has to do."""
    return {"": RULES, "ai.onnx.ml": TABLE_RULES, "com.microsoft": _CONTRIBUTED}.get(domain, {}).get(op_type)
