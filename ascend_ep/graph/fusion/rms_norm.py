"""x / sqrt(mean(x^2) + epsilon) * weight, as Llama-like models are exported -> RMSNorm."""

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
SQUARE = Either(Op("Pow", X, Number(2.0)), Op("Mul", X, X))
DEVIATION = Op("Sqrt", Op("Add", Op("ReduceMean", SQUARE, name="mean"), Number(name="epsilon")))
NORMAL = Either(
    Op("Div", X, DEVIATION),
    Op("Mul", X, Either(Op("Div", Number(1.0), DEVIATION), Op("Reciprocal", DEVIATION))),
)


class RMSNormFusion(Fusion):
    rule = rule_of("RMSNorm")
    pattern = Op("Mul", NORMAL, Var("weight"))

    def check(self, match: Match, facts: Facts) -> str | None:
        x = match.values["x"]
        if match.numbers["epsilon"] < 0:
            return "its epsilon is negative"
        return (
            check_floating(x, facts)
            or check_last_axis_reduction(match.nodes["mean"], len(facts[x].dims or ()), facts)
            or check_row_operand(match.values["weight"], x, "weight", facts)
        )

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        attributes = {"epsilon": match.numbers["epsilon"], "axis": -1}
        return Replacement("RMSNorm", [match.values["x"], match.values["weight"]], attributes)
