"""exp(x - max(x)) / sum(exp(x - max(x))) over the last axis, as written by hand -> ONNX's Softmax."""

from __future__ import annotations

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.pattern import Bound, Match, Op, Var
from ascend_ep.graph.fusion.rule import (
    Fusion,
    Replacement,
    check_floating,
    check_last_axis_reduction,
)
from ascend_ep.opdef.fusion_rules import rule_of

X = Var("x")
POWERS = Bound("powers", Op("Exp", Op("Sub", X, Op("ReduceMax", X, name="peak"))))


class SoftmaxFusion(Fusion):
    rule = rule_of("Softmax")
    pattern = Op("Div", POWERS, Op("ReduceSum", POWERS, name="sum"))
    prepares = True

    def check(self, match: Match, facts: Facts) -> str | None:
        x = match.values["x"]
        rank = len(facts[x].dims or ())
        reductions = (match.nodes[name] for name in ("peak", "sum"))
        return check_floating(x, facts) or next(
            filter(None, (check_last_axis_reduction(r, rank, facts) for r in reductions)), None
        )

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        return Replacement("Softmax", [match.values["x"]], {"axis": -1}, domain="")
