"""Patterns of values, and how they are matched: commutative operands, alternatives, repeated variables.

    Op("Mul", Var("x"), Op("Sigmoid", Var("x")))

matches either order of the product's operands. onnxscript's rewriter is not used for this because its rule
sets can't combine commutation with alternatives, and exporters differ in both at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.opdef import dtypes

COMMUTATIVE = frozenset({"Add", "Mul"})
#: Element types of a literal.
REAL = dtypes.FLOATS | dtypes.INTEGERS | {dtypes.BOOL}


@dataclass(frozen=True)
class Var:
    """Any value; the same name is the same value throughout the pattern."""

    name: str


@dataclass(frozen=True)
class Number:
    """A constant of one element: this value (as near as a float16 literal may be), or any when None."""

    value: float | None = None
    name: str = ""


@dataclass(frozen=True)
class Bound:
    """A variable that is also what a pattern describes: a value that a formula uses more than once."""

    name: str
    pattern: Pattern


class Op:
    """A node of the default domain whose first operands match; `name` binds the node, `output` says which
    of its results the value is.

    The node may have more operands than the pattern (axes, steps): a rule's check reads them.
    """

    def __init__(self, op_type: str, *operands: Pattern, name: str = "", output: int = 0) -> None:
        self.op_type = op_type
        self.output = output
        self.operands = operands
        self.name = name


class Either:
    """The first alternative that leads to a match of the whole."""

    def __init__(self, *alternatives: Pattern) -> None:
        self.alternatives = alternatives


Pattern = Var | Number | Bound | Op | Either


@dataclass(frozen=True)
class Match:
    """Values, nodes and numbers by name, and all matched nodes."""

    values: dict[str, ir.Value] = field(default_factory=dict)
    nodes: dict[str, ir.Node] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    matched: tuple[ir.Node, ...] = ()


def makers(pattern: Pattern) -> frozenset[str] | None:
    """The operators of which one makes any value that the pattern describes; None: any may."""
    if isinstance(pattern, Op):
        return frozenset({pattern.op_type})
    if isinstance(pattern, Bound):
        return makers(pattern.pattern)
    if isinstance(pattern, Either):
        found = [makers(alternative) for alternative in pattern.alternatives]
        return None if None in found else frozenset[str]().union(*(f for f in found if f is not None))
    return None


def match(pattern: Pattern, value: ir.Value, facts: Facts, state: Match | None = None) -> Iterator[Match]:
    """Every way in which `value` is what `pattern` describes."""
    state = state or Match()
    if isinstance(pattern, Var):
        bound = state.values.get(pattern.name)
        if bound is None:
            yield Match({**state.values, pattern.name: value}, state.nodes, state.numbers, state.matched)
        elif bound is value:
            yield state
    elif isinstance(pattern, Bound):
        if pattern.name in state.values:
            yield from match(Var(pattern.name), value, facts, state)
        else:
            for found in match(Var(pattern.name), value, facts, state):
                yield from match(pattern.pattern, value, facts, found)
    elif isinstance(pattern, Number):
        yield from _match_number(pattern, value, facts, state)
    elif isinstance(pattern, Either):
        for alternative in pattern.alternatives:
            yield from match(alternative, value, facts, state)
    else:
        yield from _match_op(pattern, value, facts, state)


def _match_number(pattern: Number, value: ir.Value, facts: Facts, state: Match) -> Iterator[Match]:
    fact = facts[value]
    if (
        not fact.is_const
        or fact.static_dims is None
        or any(d != 1 for d in fact.static_dims)
        or fact.dtype not in REAL
    ):
        return
    assert fact.const is not None
    number = float(fact.const.reshape(-1)[0])
    if pattern.value is not None and abs(number - pattern.value) > 1e-3 * abs(pattern.value):
        return
    numbers = {**state.numbers, pattern.name: number} if pattern.name else state.numbers
    yield Match(state.values, state.nodes, numbers, state.matched)


def _match_op(pattern: Op, value: ir.Value, facts: Facts, state: Match) -> Iterator[Match]:
    node = value.producer()
    if node is None or node.op_type != pattern.op_type or node.domain not in ("", "ai.onnx"):
        return
    if value.index() != pattern.output or len(node.inputs) < len(pattern.operands):
        return
    nodes = {**state.nodes, pattern.name: node} if pattern.name else state.nodes
    start = Match(state.values, nodes, state.numbers, (*state.matched, node))
    orders = [pattern.operands]
    if pattern.op_type in COMMUTATIVE and len(pattern.operands) == 2:
        orders.append(pattern.operands[::-1])
    for operands in orders:
        yield from _match_operands(operands, node, facts, start)


def _match_operands(
    operands: tuple[Pattern, ...], node: ir.Node, facts: Facts, state: Match
) -> Iterator[Match]:
    states = [state]
    for index, operand in enumerate(operands):
        value = node.inputs[index]
        if value is None:
            return
        states = [found for s in states for found in match(operand, value, facts, s)]
    yield from states
