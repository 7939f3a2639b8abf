"""Shapes of quantisation."""

from __future__ import annotations

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, infers


@infers("DequantizeLinear")
def infer_dequantize(call: Call) -> Fact:
    """Of `output_dtype`, which opset 23 brought, or else of the scale's type."""
    return Fact(int(call.attr("output_dtype", 0)) or call.dtype(1), call.dims(0))


@infers("QuantizeLinear")
def infer_quantize(call: Call) -> Fact:
    given = int(call.attr("output_dtype", 0))
    return Fact(given or (call.dtype(2) if call.has(2) else 2), call.dims(0))


@infers("DynamicQuantizeLinear")
def infer_dynamic_quantize(call: Call) -> list[Fact]:
    return [Fact(2, call.fact(0).dims), Fact(1, ()), Fact(2, ())]
