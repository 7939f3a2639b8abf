"""(x - mean) / sqrt(variance + epsilon) * weight + bias, as exported before opset 17 -> LayerNorm."""

from __future__ import annotations

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.pattern import Either, Match, Number, Op, Var
from ascend_ep.graph.fusion.rule import (
    Fusion,
    Replacement,
    check_floating,
    check_last_axis_reduction,
    check_row_operand,
)
from ascend_ep.opdef.fusion_rules import rule_of

X = Var("x")
CENTRED = Op("Sub", X, Op("ReduceMean", X, name="mean"))
SQUARE = Either(Op("Pow", CENTRED, Number(2.0)), Op("Mul", CENTRED, CENTRED))
DEVIATION = Op("Sqrt", Op("Add", Op("ReduceMean", SQUARE, name="variance"), Number(name="epsilon")))
NORMAL = Either(
    Op("Div", CENTRED, DEVIATION),
    Op("Mul", CENTRED, Either(Op("Div", Number(1.0), DEVIATION), Op("Reciprocal", DEVIATION))),
)


class LayerNormFusion(Fusion):
    rule = rule_of("LayerNorm")
    pattern = Op("Add", Op("Mul", NORMAL, Var("weight")), Var("bias"))

    def check(self, match: Match, facts: Facts) -> str | None:
        x = match.values["x"]
        rank = len(facts[x].dims or ())
        if match.numbers["epsilon"] < 0:
            return "its epsilon is negative"
        return (
            check_floating(x, facts)
            or check_last_axis_reduction(match.nodes["mean"], rank, facts)
            or check_last_axis_reduction(match.nodes["variance"], rank, facts)
            or check_row_operand(match.values["weight"], x, "weight", facts)
            or check_row_operand(match.values["bias"], x, "bias", facts)
        )

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        inputs = [match.values[n] for n in ("x", "weight", "bias")]
        return Replacement("LayerNorm", inputs, {"epsilon": match.numbers["epsilon"], "axis": -1})
