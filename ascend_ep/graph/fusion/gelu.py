"""x * (1 + erf(x/sqrt(2))) / 2 and its tanh approximation (Hendrycks and Gimpel 2016) -> Gelu."""

from __future__ import annotations

import math

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.pattern import Either, Match, Number, Op, Pattern, Var
from ascend_ep.graph.fusion.rule import Fusion, Replacement, check_floating
from ascend_ep.opdef.fusion_rules import rule_of

X = Var("x")
HALF = Number(0.5)


def half_of_product(gate: Pattern) -> Pattern:
    """0.5 * x * gate, associated in any way."""
    return Either(
        Op("Mul", Op("Mul", X, gate), HALF),
        Op("Mul", X, Op("Mul", gate, HALF)),
        Op("Mul", Op("Mul", X, HALF), gate),
    )


class GeluFusion(Fusion):
    rule = rule_of("Gelu")
    SCALED = Either(Op("Div", X, Number(math.sqrt(2))), Op("Mul", X, Number(math.sqrt(0.5))))
    pattern = half_of_product(Op("Add", Op("Erf", SCALED), Number(1.0)))
    approximate = "none"

    def check(self, match: Match, facts: Facts) -> str | None:
        return check_floating(match.values["x"], facts)

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        return Replacement("Gelu", [match.values["x"]], {"approximate": self.approximate})


class TanhGeluFusion(GeluFusion):
    rule = rule_of("TanhGelu")
    CUBE = Either(Op("Pow", X, Number(3.0)), Op("Mul", X, Op("Mul", X, X)))
    INNER = Op("Add", X, Op("Mul", CUBE, Number(0.044715)))
    #: with x in front, as GELU's "fast" form in Hugging Face's models
    FACTOR = Op("Add", Op("Mul", Op("Mul", X, Number(0.044715)), X), Number(1.0))
    OUTER = Number(math.sqrt(2 / math.pi))
    ARGUMENT = Either(Op("Mul", INNER, OUTER), Op("Mul", Op("Mul", X, OUTER), FACTOR))
    pattern = half_of_product(Op("Add", Op("Tanh", ARGUMENT), Number(1.0)))
    approximate = "tanh"
