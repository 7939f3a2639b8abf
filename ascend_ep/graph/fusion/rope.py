"""x*cos + rotate_half(x)*sin (Su et al. 2021, as Hugging Face writes it) -> RoPE."""

from __future__ import annotations

import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.pattern import Match, Op, Var
from ascend_ep.graph.fusion.rule import Fusion, Replacement, check_floating, graph_rule
from ascend_ep.opdef.dims import Dim

X = Var("x")
ROTATED = Op("Concat", Op("Neg", Op("Slice", X, name="second")), Op("Slice", X, name="first"), name="joined")


class RoPEFusion(Fusion):
    rule = graph_rule("RoPE", "x*cos + rotate_half(x)*sin -> RoPE")
    pattern = Op("Add", Op("Mul", X, Var("cos")), Op("Mul", ROTATED, Var("sin")))

    def check(self, match: Match, facts: Facts) -> str | None:
        x = match.values["x"]
        dims = facts[x].dims
        if refusal := check_floating(x, facts):
            return refusal
        if dims is None or len(dims) < 2 or not isinstance(dims[-1], int) or dims[-1] % 2:
            return "the head size is not an even number"
        joined = match.nodes["joined"].attributes["axis"].as_int()
        if joined not in (-1, len(dims) - 1) or len(match.nodes["joined"].inputs) != 2:
            return "its halves are not joined along the last axis"
        half = dims[-1] // 2
        if not _takes(match.nodes["first"], dims, 0, half, facts) or not _takes(
            match.nodes["second"], dims, half, dims[-1], facts
        ):
            return "its slices are not the halves of the last axis"
        return _check_table("cos", match, facts) or _check_table("sin", match, facts)

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        return Replacement("RoPE", [match.values[n] for n in ("x", "cos", "sin")], {"interleaved": 0})


def _check_table(name: str, match: Match, facts: Facts) -> str | None:
    """Tables must broadcast to x without making it larger, and differ only by batch and position."""
    x, table = facts[match.values["x"]].dims or (), facts[match.values[name]].dims
    if table is None or not 2 <= len(table) <= len(x) or table[-1] != x[-1] or table[-2] != x[-2]:
        return f"its {name} is not a table of [sequence, head size]"
    lead = [1] * (len(x) - len(table)) + list(table[:-2])
    if any(d != 1 for d in lead[1:]) or (lead and lead[0] not in (1, x[0])):
        return f"its {name} differs between heads"
    return None


def _takes(node: ir.Node, dims: tuple[Dim, ...], start: int, end: int, facts: Facts) -> bool:
    """Whether a Slice takes [start, end) of the last axis alone."""
    operands = [None if v is None else facts[v].shape_value for v in node.inputs[1:]]
    if len(operands) < 3 or any(o is None or len(o) != 1 for o in operands):
        return False
    begin, stop, axis = (o[0] for o in operands[:3] if o is not None)
    step = operands[3][0] if len(operands) > 3 and operands[3] is not None else 1
    size = dims[-1]
    if not all(isinstance(v, int) for v in (begin, stop, axis, size)) or step != 1:
        return False
    assert isinstance(begin, int)
    assert isinstance(stop, int)
    assert isinstance(size, int)
    return axis in (-1, len(dims) - 1) and slice(begin, stop).indices(size)[:2] == (start, end)
