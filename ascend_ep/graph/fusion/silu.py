"""x * sigmoid(x) -> SiLU; times a second tensor of the same shape -> SwiGLU."""

from __future__ import annotations

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.pattern import Match, Op, Var
from ascend_ep.graph.fusion.rule import Fusion, Replacement, check_floating
from ascend_ep.opdef.fusion_rules import rule_of


class SiLUFusion(Fusion):
    rule = rule_of("SiLU")
    pattern = Op("Mul", Var("x"), Op("Sigmoid", Var("x")))

    def check(self, match: Match, facts: Facts) -> str | None:
        return check_floating(match.values["x"], facts)

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        return Replacement("SiLU", [match.values["x"]], {})


class SwiGLUFusion(Fusion):
    rule = rule_of("SwiGLU")
    pattern = Op("Mul", SiLUFusion.pattern, Var("up"))

    def check(self, match: Match, facts: Facts) -> str | None:
        x, up = facts[match.values["x"]], facts[match.values["up"]]
        if x.dims != up.dims:
            return "its factors differ in shape"
        return check_floating(match.values["x"], facts)

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        return Replacement("SwiGLU", [match.values["x"], match.values["up"]], {})
