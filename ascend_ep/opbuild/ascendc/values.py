"""Values of a kernel in terms of the vector unit's instructions, equal ones made once.

A value is `full` (an element per element of a tile), `row` (one number per row, held in one 64-lane register)
or `scalar` (a C++ float expression that no row changes). Masks are one bit per element.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ascend_ep.codegen.c_source import NotGenerated

Spread = Literal["full", "row", "scalar"]


@dataclass(frozen=True, eq=False)
class Value:
    """op: an instruction, "input", "index", "scalar", "row_ref" (a row's number as a scalar operand) or a
    fold.

    text: an input's name, a scalar's C++ text, a compare mode, a rounding mode or a type. level: how many
    folds lie one behind another below it. dropped: a row whose reduced axis is gone.
    """

    number: int
    op: str
    args: tuple[Value, ...]
    spread: Spread
    text: str = ""
    is_mask: bool = False
    level: int = 0
    dropped: bool = False

    @property
    def is_fold(self) -> bool:
        return self.op.startswith("fold_")


class Values:
    """Makes values: one for each different operation on the same operands."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], Value] = {}

    def make(
        self, op: str, args: tuple[Value, ...], spread: Spread, text: str = "", is_mask: bool = False,
        dropped: bool = False,
    ) -> Value:  # fmt: skip
        key = (op, tuple(a.number for a in args), spread, text, dropped)
        if key not in self._made:
            level = max((a.level for a in args), default=0) + op.startswith("fold_")
            self._made[key] = Value(len(self._made), op, args, spread, text, is_mask, level, dropped)
        return self._made[key]

    def scalar(self, text: str) -> Value:
        return self.make("scalar", (), "scalar", text)

    def constant(self, value: float) -> Value:
        return self.scalar(float_literal(value))

    def instruction(self, op: str, args: Iterable[Value], text: str = "", is_mask: bool = False) -> Value:
        """An instruction on operands of any spread. Each becomes what the result's spread needs."""
        operands = tuple(args)
        spread: Spread = "full" if any(a.spread == "full" for a in operands) else "row"
        dropped = {a.dropped for a in operands if a.spread == "row"}
        if len(dropped) > 1 or (spread == "full" and True in dropped):
            raise NotGenerated("a reduction without keepdims meets values of another rank")
        fitted = tuple(self._fit(a, spread, i, op, operands, is_mask=is_mask) for i, a in enumerate(operands))
        return self.make(op, fitted, spread, text, is_mask, bool(dropped and dropped.pop()))

    def _fit(
        self, a: Value, spread: Spread, place: int, op: str, operands: tuple[Value, ...], is_mask: bool
    ) -> Value:
        """`a` as operand number `place`: scalar where the instruction has such a form, else filled."""
        if a.spread == spread:
            return a
        if a.is_mask:
            one = self.instruction("select", (a, self.constant(1.0), self.constant(0.0)))
            return self.make(
                "compare", (self._fill(self._ref(one), spread), self.constant(0.0)), spread, "NE", True
            )
        number = self._ref(a) if a.spread == "row" else a
        if place == _SCALAR_PLACE.get(op) and any(
            b.spread == spread for b in operands[:place] if not b.is_mask
        ):
            return number
        if op == "select" and place == 2:
            return number
        return self._fill(number, spread)

    def _ref(self, row: Value) -> Value:
        return self.make("row_ref", (row,), "scalar")

    def full(self, value: Value) -> Value:
        """A number of a row, or of all, as one of each element."""
        return self._fill(self._ref(value) if value.spread == "row" else value, "full")

    def _fill(self, number: Value, spread: Spread) -> Value:
        return self.make("fill", (number,), spread)


#: instructions with a form whose operand in this place is a scalar
_SCALAR_PLACE = {"add": 1, "sub": 1, "mul": 1, "max": 1, "min": 1, "compare": 1}


def float_literal(value: float) -> str:
    """A float32 as C++ text, exactly; what float32 can't hold is rounded to it."""
    import numpy as np

    with np.errstate(over="ignore"):
        number = np.float32(value)
    if not np.isfinite(number):
        return f"FloatOfBits(0x{int(number.view(np.uint32)):08X}u)"
    short = f"{float(number):.9g}"
    text = short if any(c in short for c in ".e") else short + ".0"
    return f"({text}f)" if text.startswith("-") else text + "f"


def reachable(roots: Iterable[Value]) -> list[Value]:
    """Every value the roots need, operands first."""
    found: dict[int, Value] = {}
    stack = list(roots)
    while stack:
        value = stack.pop()
        if value.number not in found:
            found[value.number] = value
            stack += value.args
    return [found[n] for n in sorted(found)]
