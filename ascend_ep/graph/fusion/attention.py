"""softmax(q k^T * scale + mask) v, as written by hand and as exporters write scaled_dot_product_attention
-> ScaledDotProductAttention."""

from __future__ import annotations

import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.pattern import Either, Match, Number, Op, Pattern, Var
from ascend_ep.graph.fusion.rule import Fusion, Replacement, check_floating
from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.fusion_rules import rule_of


def scaled(what: Pattern, name: str) -> Pattern:
    """Also times or divided by a number: names <name>_times and <name>_over."""
    return Either(
        Op("Mul", what, Number(name=f"{name}_times")), Op("Div", what, Number(name=f"{name}_over")), what
    )


def widened(name: str) -> Pattern:
    """[B, G, S, D] with each head n times, as [B, G, n, S, D]: nodes <name>_lifted and <name>_wide."""
    return Op("Expand", Op("Unsqueeze", Var(name), name=f"{name}_lifted"), name=f"{name}_wide")


def repeated(name: str) -> Pattern:
    """Also with each head repeated for those of q that share it: node <name>_repeated, or <name>_gathered."""
    return Either(
        Op("Reshape", widened(name), name=f"{name}_repeated"),
        Op("Gather", Var(name), name=f"{name}_gathered"),
        Var(name),
    )


#: k with its last axes exchanged, also by way of three axes as the newer exporter does, or whatever gives kt
FLAT = Op("Reshape", Either(widened("k"), repeated("k")), name="k_flat")
KEYS = Either(
    Op("Transpose", repeated("k"), name="k_transposed"),
    Op("Reshape", Op("Transpose", FLAT, name="k_transposed"), name="k_whole"),
    Var("kt"),
)
QK = Op("MatMul", scaled(Var("q"), "q"), scaled(KEYS, "k"), name="qk")
SCORES = Either(Op("Add", scaled(QK, "qk"), Var("mask")), scaled(QK, "qk"))
WEIGHTS = Op("Softmax", SCORES, name="softmax")
#: torch replaces what softmax makes of a row masked everywhere
GUARDED = Op("Where", Op("IsNaN", WEIGHTS), Number(0.0), WEIGHTS, name="guard")
ATTENTION = Op("MatMul", Either(WEIGHTS, GUARDED), repeated("v"), name="mixed")


class AttentionFusion(Fusion):
    rule = rule_of("Attention")
    pattern: Pattern = ATTENTION

    def check(self, match: Match, facts: Facts) -> str | None:
        q, k, v = (facts[match.values[n]].dims for n in ("q", _key(match), "v"))
        if q is None or k is None or v is None or not len(q) == len(k) == len(v) == 4:
            return "its q, k and v don't have four axes"
        keys = v[2]
        if q[0] != k[0] or k[:2] != v[:2] or keys not in k[2:]:
            return "its batches, heads or keys are broadcast"
        if not (_has_repeats(match, "k", facts) == _has_repeats(match, "v", facts) == (q[1] != v[1])):
            return "its keys and values are repeated in ways that differ"
        return (
            check_floating(match.values["q"], facts)
            or _check_softmax(match)
            or _check_transposed(match, facts)
            or _check_mask(match, (*q[:3], keys), facts)
        )

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        key = _key(match)
        inputs = [match.values[n] for n in ("q", key, "v", "mask") if n in match.values]
        return Replacement(
            "ScaledDotProductAttention",
            inputs,
            {
                "scale": _scale(match),
                "key_transposed": int(key == "kt"),
                "heads_last": int("transposed" in match.nodes),
                "nan_to_zero": int("guard" in match.nodes),
            },
        )


class HeadsLastAttentionFusion(AttentionFusion):
    """With the transposition to [batch, positions, heads, size] that follows it."""

    rule = rule_of("AttentionHeadsLast")
    pattern = Op("Transpose", ATTENTION, name="transposed")

    def check(self, match: Match, facts: Facts) -> str | None:
        perm = match.nodes["transposed"].attributes.get("perm")
        if perm is None or tuple(perm.as_ints()) != (0, 2, 1, 3):
            return "its result is transposed in another way than heads behind positions"
        return super().check(match, facts)


def _key(match: Match) -> str:
    return "k" if "k" in match.values else "kt"


def _has_repeats(match: Match, name: str, facts: Facts) -> bool:
    """Whether [B, G, S, D] is repeated to [B, G*n, S, D], each head n times: by way of [B, G, n, S, D], with
    constant shapes, or by constant indices."""
    if (gathered := match.nodes.get(f"{name}_gathered")) is not None:
        return _repeats_heads(gathered, facts)
    lifted, wide, whole = (match.nodes.get(f"{name}_{step}") for step in ("lifted", "wide", "repeated"))
    dims = facts[match.values[name]].dims if name in match.values else None
    if dims is None or len(dims) != 4 or lifted is None or wide is None:
        return False
    if not all(_has_constants(n) for n in (lifted, wide, whole) if n is not None):
        return False
    broad = facts[wide.outputs[0]].dims
    if facts[lifted.outputs[0]].dims != (*dims[:2], 1, *dims[2:]) or broad is None or len(broad) != 5:
        return False
    if broad != (*dims[:2], broad[2], *dims[2:]):
        return False
    return whole is None or facts[whole.outputs[0]].dims == _merged(broad)


def _repeats_heads(gather: ir.Node, facts: Facts) -> bool:
    source, indices = gather.inputs[0], gather.inputs[1]
    assert source is not None
    assert indices is not None
    dims, wanted, axis = facts[source].dims, facts[indices].const, gather.attributes.get("axis")
    if dims is None or len(dims) != 4 or not isinstance(dims[1], int) or wanted is None or wanted.ndim != 1:
        return False
    times = len(wanted) // max(dims[1], 1)
    return (
        axis is not None
        and axis.as_int() == 1
        and list(wanted) == [i // times for i in range(times * dims[1])]
    )


def _merged(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Four axes; of five, the second and third as one."""
    return (dims[0], dims[1] * dims[2], *dims[3:]) if len(dims) == 5 else dims


def _has_constants(node: ir.Node) -> bool:
    """Whether all operands but the first are constants, which a function's body can hold."""
    return all(v is not None and v.const_value is not None for v in node.inputs[1:])


def _check_transposed(match: Match, facts: Facts) -> str | None:
    """Unless kt is k with its last two axes exchanged."""
    transposed, flat, whole = (match.nodes.get(n) for n in ("k_transposed", "k_flat", "k_whole"))
    if transposed is None:
        return None
    given = transposed.attributes.get("perm")
    perm = tuple(given.as_ints()) if given is not None else ()
    if flat is None or whole is None:
        return None if perm == (0, 1, 3, 2) else "its keys are transposed in another way"
    assert flat.inputs[0] is not None
    source, middle, result = (facts[v].dims for v in (flat.inputs[0], flat.outputs[0], whole.outputs[0]))
    if not (_has_constants(flat) and _has_constants(whole)) or perm != (0, 2, 1):
        return "its keys are transposed in another way"
    if source is None or middle is None or len(middle) != 3 or middle[1:] != source[-2:]:
        return "its keys are transposed in another way"
    batch, heads, keys, size = _merged(source)
    return None if result == (batch, heads, size, keys) else "its keys are transposed in another way"


def _scale(match: Match) -> float:
    scale = 1.0
    for name, number in match.numbers.items():
        if name.endswith("_times"):
            scale *= number
        elif name.endswith("_over"):
            scale /= number
    return scale


def _check_softmax(match: Match) -> str | None:
    axis = match.nodes["softmax"].attributes.get("axis")
    if (axis.as_int() if axis is not None else -1) not in (-1, 3):
        return "its Softmax is not over the keys"
    return None


def _check_mask(match: Match, scores: tuple[Dim, ...], facts: Facts) -> str | None:
    """The mask must be broadcast to the scores, not the scores to the mask."""
    if "mask" not in match.values:
        return None
    dims = facts[match.values["mask"]].dims
    if dims is None or len(dims) > len(scores):
        return "its mask has unknown rank or more axes than the scores"
    pairs = zip(dims[::-1], scores[::-1], strict=False)
    if not all(facts.constraints.broadcasts(d, s) for d, s in pairs):
        return "its mask does not fit the scores"
    return None
