"""A fusion: the pattern, the check that refuses with a sentence, and what takes the pattern's place."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.pattern import Match, Pattern
from ascend_ep.opdef.definition import OWN_DOMAIN
from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.fusion_rules import Rule

#: The domain of fused operators: those of our own op_schemas.
DOMAIN = OWN_DOMAIN

FLOATS = (1, 10, 16)


@dataclass(frozen=True)
class Replacement:
    """One node: an operator of DOMAIN, or of ONNX's own (""), its operands and attributes."""

    op_type: str
    inputs: Sequence[ir.Value]
    attributes: Mapping[str, int | float | str | ir.Attr]
    domain: str = DOMAIN


class Fusion(abc.ABC):
    """A rule; `pattern` describes the value that the fused node computes. One that `prepares` is applied
    to the whole graph before the others, whose patterns hold what it makes."""

    rule: Rule
    pattern: Pattern
    prepares: bool = False

    @abc.abstractmethod
    def check(self, match: Match, facts: Facts) -> str | None:
        """Why this match can't be fused, in a sentence; None when it can."""

    @abc.abstractmethod
    def replacement(self, match: Match, facts: Facts) -> Replacement:
        """What computes the same value."""


def check_last_axis_reduction(node: ir.Node, rank: int, facts: Facts) -> str | None:
    """Unless the reduction keeps its dims and reduces the last axis only."""
    keep, given = node.attributes.get("keepdims"), node.attributes.get("axes")
    if keep is not None and keep.as_int() != 1:
        return f"its {node.op_type} drops the reduced dimension"
    axes: Sequence[Dim] | None = given.as_ints() if given is not None else None
    if axes is None and len(node.inputs) > 1 and node.inputs[1] is not None:
        axes = facts[node.inputs[1]].shape_value
    if axes is None or len(axes) != 1 or axes[0] not in (-1, rank - 1):
        return f"its {node.op_type} is not over the last axis alone"
    return None


def check_row_operand(value: ir.Value, x: ir.Value, what: str, facts: Facts) -> str | None:
    """Unless `value` is a vector with an element for each of the last axis of `x`."""
    dims, source = facts[value].dims, facts[x].dims
    if not source or dims is None or len(dims) != 1 or dims[0] != source[-1]:
        return f"its {what} is not a vector as long as the last axis"
    return None


def check_floating(value: ir.Value, facts: Facts) -> str | None:
    """Unless `value` is a float tensor of known rank of at least 1 in a type the fused kernels compute."""
    fact = facts[value]
    if fact.dtype not in FLOATS:
        return "its element type is not float32, float16 or bfloat16"
    return None if fact.dims else "the rank of its input is unknown or 0"
