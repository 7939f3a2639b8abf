"""Reading a tile program back as an expression: what `elementwise` computes, of which values.

Only float32 programs of one output without other types, selections and positions are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ascend_ep.element_types import FLOAT32
from ascend_ep.plan.plan import Insn, Ref
from ascend_ep.plan.tile_value import OPCODES, STEP_INTS

_NAMES = {code: name for name, code in OPCODES.items()}
_UNREADABLE = frozenset({"iota", "select"})
_BINARY = frozenset({"add", "sub", "mul", "div", "min", "max", "pow", "gate"})


@dataclass(frozen=True, eq=False)
class Leaf:
    """The elements of a value, broadcast."""

    ref: Ref


@dataclass(frozen=True)
class Constant:
    value: float


@dataclass(frozen=True)
class Apply:
    """A primitive of the kernel on expressions."""

    op: str
    args: tuple[Expression, ...]


Expression = Leaf | Constant | Apply


def read_program(insn: Insn, known: Mapping[int, Expression]) -> Expression | None:
    """What the output of an elementwise instruction is; `known` holds the expressions of some of its inputs,
    by id of their Ref. None when the program is beyond this reader."""
    numbers = [n for n in insn.ints if isinstance(n, int)]
    if len(numbers) != len(insn.ints):
        return None
    registers: dict[int, Expression] = {}
    steps = [numbers[i : i + STEP_INTS] for i in range(2, len(numbers), STEP_INTS)]
    for code, dst, a, b, c in steps:
        name = _NAMES.get(code, "")
        if name == "store":
            return registers[a]
        if name == "load":
            ref = insn.ins[a]
            if ref is None:
                return None
            registers[dst] = known.get(id(ref)) or Leaf(ref)
        elif name == "const":
            if b != FLOAT32:
                return None
            registers[dst] = Constant(insn.floats[a])
        elif name == "cast" and (b, c) == (FLOAT32, FLOAT32):
            registers[dst] = registers[a]
        elif not name or name == "cast" or name in _UNREADABLE:
            return None
        else:
            operands = (registers[a], registers[b]) if name in _BINARY else (registers[a],)
            registers[dst] = Apply(name, operands)
    return None


def leaves(expression: Expression) -> Iterator[Leaf]:
    """Every leaf, as often as it occurs."""
    if isinstance(expression, Leaf):
        yield expression
    elif isinstance(expression, Apply):
        for arg in expression.args:
            yield from leaves(arg)
