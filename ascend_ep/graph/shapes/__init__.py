"""Symbolic shape rules of the ONNX operators, a family a file."""

from ascend_ep.graph.shapes import (
    attention,
    conv,
    create,
    elementwise,
    index,
    matmul,
    movement,
    norm,
    reduce,
    slicing,
)
from ascend_ep.graph.shapes.foreign import infer_by_onnx, infer_defined
from ascend_ep.graph.shapes.rule import RULES, Call, UnknownShape, VaryingRank
from ascend_ep.graph.shapes.schema_types import check_signature, find_schema, output_types

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
]

FAMILIES = (attention, conv, create, elementwise, index, matmul, movement, norm, reduce, slicing)
