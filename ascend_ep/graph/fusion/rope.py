"""Rotary embeddings (Su et al. 2021) as models write them -> RoPE.

halves       x*cos + rotate_half(x)*sin, and each half's own sum joined       pairs (i, i + D/2)
interleaved  the same for every second element, stacked and flattened         pairs (2i, 2i + 1)
regrouped    pairs brought into halves first, as DeepSeek has it              from the one to the other
"""

from __future__ import annotations

import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.pattern import Bound, Either, Match, Number, Op, Pattern, Var
from ascend_ep.graph.fusion.rope_parts import check_paired, check_regrouped, check_table, piece_of
from ascend_ep.graph.fusion.rule import Fusion, Replacement, check_floating
from ascend_ep.opdef.fusion_rules import rule_of

X = Var("x")
COS, SIN = Var("cos"), Var("sin")


def cut(x: Pattern, part: int) -> Pattern:
    """The first or second half of the last axis: node piece<part>."""
    name = f"piece{part}"
    return Bound(f"part{part}", Either(Op("Slice", x, name=name), Op("Split", x, name=name, output=part)))


def pick(part: int) -> Pattern:
    """Every second element of the last axis, also by way of an axis of pairs."""
    name, paired = f"piece{part}", Op("Reshape", X, name="paired")
    alternatives = (
        Op("Slice", X, name=name),
        Op("Squeeze", Op("Split", paired, name=name, output=part), name="squeezed"),
        Op("Squeeze", Op("Slice", paired, name=name), name="squeezed"),
        Op("Gather", paired, Number(float(part)), name=name),
    )
    return Bound(f"part{part}", Either(*alternatives))


def sums(first: Pattern, second: Pattern) -> tuple[Pattern, Pattern]:
    """The two results of a rotation."""
    low = Op("Sub", Op("Mul", first, COS), Op("Mul", second, SIN))
    return low, Op("Add", Op("Mul", second, COS), Op("Mul", first, SIN))


def rotated(x: Pattern) -> Pattern:
    """x with its second half, negated, before its first."""
    return Op("Concat", Op("Neg", cut(x, 1)), cut(x, 0), name="joined")


def stacked(first: Pattern, second: Pattern) -> Pattern:
    """Elements of two values in turn."""
    lifted = (Op("Unsqueeze", v, name=f"lifted{i}") for i, v in enumerate((first, second)))
    return Op("Reshape", Op("Concat", *lifted, name="joined"), name="flat")


def rotation(x: Pattern, partner: Pattern) -> Pattern:
    """x*cos + partner*sin"""
    return Op("Add", Op("Mul", x, COS), Op("Mul", partner, SIN))


class RoPEFusion(Fusion):
    rule = rule_of("RoPE")
    pattern: Pattern = Either(
        rotation(X, rotated(X)), Op("Concat", *sums(cut(X, 0), cut(X, 1)), name="joined")
    )
    interleaved = 0

    def check(self, match: Match, facts: Facts) -> str | None:
        dims = facts[match.values["x"]].dims
        if refusal := check_floating(match.values["x"], facts):
            return refusal
        if dims is None or len(dims) < 2 or not isinstance(dims[-1], int) or dims[-1] % 2 or not dims[-1]:
            return "the head size is not an even number"
        return self.check_layout(match, dims[-1], facts) or next(
            filter(None, (check_table(name, match, facts) for name in ("cos", "sin"))), None
        )

    def check_layout(self, match: Match, size: int, facts: Facts) -> str | None:
        """Unless halves of `size` elements are taken and joined along the last axis."""
        return check_joined(match, facts) or check_halves(match, size, facts)

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        inputs = [match.values[n] for n in ("x", "cos", "sin")]
        return Replacement("RoPE", inputs, {"interleaved": self.interleaved})


class InterleavedRoPEFusion(RoPEFusion):
    """Every second element, stacked and flattened."""

    rule = rule_of("InterleavedRoPE")
    pattern = Either(stacked(*sums(pick(0), pick(1))), rotation(X, stacked(Op("Neg", pick(1)), pick(0))))
    interleaved = 1

    def check_layout(self, match: Match, size: int, facts: Facts) -> str | None:
        return check_paired(match, size, facts)


#: [..., D/2, 2] with its last axes exchanged and joined: the pairs' first elements, then the second ones
GROUPED = Bound(
    "grouped", Op("Reshape", Op("Transpose", Op("Reshape", X, name="paired"), name="swapped"), name="whole")
)


class RegroupedRoPEFusion(RoPEFusion):
    """Pairs brought into halves, which are rotated and stay."""

    rule = rule_of("RegroupedRoPE")
    pattern = Either(
        rotation(GROUPED, rotated(GROUPED)),
        Op("Concat", *sums(cut(GROUPED, 0), cut(GROUPED, 1)), name="joined"),
    )
    interleaved = 2

    def check_layout(self, match: Match, size: int, facts: Facts) -> str | None:
        return check_regrouped(match, size, facts) or super().check_layout(match, size, facts)


def check_joined(match: Match, facts: Facts) -> str | None:
    """Unless two parts are joined along the last axis."""
    joined = match.nodes["joined"]
    rank = len(facts[joined.outputs[0]].dims or ())
    if joined.attributes["axis"].as_int() not in (-1, rank - 1) or len(joined.inputs) != 2:
        return "its halves are not joined along the last axis"
    return None


def check_halves(match: Match, size: int, facts: Facts) -> str | None:
    """Unless the pieces are the halves of the last axis, in this order."""
    wanted = (slice(0, size // 2, 1), slice(size // 2, size, 1))
    found = (piece_of(part_node(match, i), i, facts) for i in (0, 1))
    return None if tuple(found) == wanted else "its slices are not the halves of the last axis"


def part_node(match: Match, part: int) -> ir.Node:
    return match.nodes[f"piece{part}"]
