"""Builds the expressions of elementwise instructions (tile_expression.py).

    p = TileProgram()
    x = p.input(ref, ref.dtype)
    p.output(x * p.call("sigmoid", x), ref.dtype)
    computed = p.finish()          # for PlanBuilder.compute(computed, [out])

Values are handles of expressions (tile_value.py): equal ones are one, and unused ones vanish. Integers are
made to wrap as their types do.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.dtypes import BOOL, FLOAT32, FLOAT64, INT32, INT64, INTEGERS, UINT64
from ascend_ep.opdef.expression import Apply, Cast, Expression, Input, Number, Position

from .tile_encoding import schedule
from .tile_expression import load, operands, place, reachable, replaced
from .tile_value import COMPARISONS, OPCODES, ProgramError, Value, computed_dtype

__all__ = ["Computed", "ProgramError", "TileProgram", "Value", "casting", "computed_dtype"]

Source = TypeVar("Source", bound=Hashable)

_NO_PRIMITIVES = frozenset({"load", "const", "iota", "store", "cast", "select"})
_NARROW = INTEGERS - {INT32, INT64, UINT64}
#: Operations that never leave the range of narrow operands.
_CLOSED = COMPARISONS | {"min", "max", "mod", "fmod", "and", "or", "xor", "shr", "sign"}
#: Operations whose result on uint64 isn't that on the int64 with the same bits.
_SIGNED_ONLY = frozenset({"div", "mod", "fmod", "pow", "abs", "sign"})
_ORDERED = frozenset({"lt", "le", "gt", "ge", "min", "max"})
_TOP_BIT = -(2**63)


@dataclass(frozen=True)
class Computed(Generic[Source]):
    """What an instruction computes: the sources that it reads, in order, their types, and the expressions."""

    inputs: tuple[Source, ...]
    types: tuple[int, ...]
    expressions: tuple[Expression, ...]


class TileProgram(Generic[Source]):
    """Expressions under construction. Inputs are whatever the caller knows them by (a Ref, a name)."""

    def __init__(self) -> None:
        self._values: dict[Hashable, Value] = {}
        self._sources: list[Source] = []
        self._types: list[int] = []
        self._outputs: list[tuple[Value, int]] = []

    # ---- building --------------------------------------------------------------------------

    def input(self, source: Source, dtype: int) -> Value:
        """The elements of an input of that ONNX type, broadcast to the output's shape."""
        if source not in self._sources:
            self._sources.append(source)
            self._types.append(dtype)
        at = self._sources.index(source)
        return self._value(("load", at), load(at), computed_dtype(dtype))

    def const(self, value: Dim | float, dtype: int = FLOAT32) -> Value:
        """One number everywhere. Integers may be symbolic dims; uint64 is kept as the int64 of its bits."""
        kind = computed_dtype(dtype)
        if isinstance(value, int | float):
            value = float(value) if kind in (FLOAT32, FLOAT64) else int(value)
            value = value - 2**64 if kind == UINT64 and value >= 2**63 else value
        return self._value((kind, type(value), repr(value)), Number(value, kind), kind)

    def position(self) -> Value:
        """int64: the element's row-major position in the output."""
        return self._value("position", Position(), INT64)

    def call(self, op: str, *args: Value | float) -> Value:
        """A primitive of the kernel ("add", "exp", "lt", ...); numbers become constants of the type of the
        other operand."""
        if op not in OPCODES or op in _NO_PRIMITIVES:
            raise ProgramError(f"there is no elementwise operation {op}")
        kind = next(a.dtype for a in args if isinstance(a, Value))
        given = tuple(a if isinstance(a, Value) else self.const(a, kind) for a in args)
        if any(a.dtype != kind for a in given):
            raise ProgramError(f"{op} mixes element types")
        if kind == UINT64 and op in _SIGNED_ONLY:
            return self._unsigned(op, given)
        if kind == UINT64 and op in _ORDERED:
            return self._ordered_unsigned(op, given)
        result = self._apply(op, BOOL if op in COMPARISONS else kind, *given)
        return self.cast(result, kind) if kind in _NARROW and op not in _CLOSED else result

    def _ordered_unsigned(self, op: str, given: tuple[Value, ...]) -> Value:
        """Flipping the top bit turns the order of uint64 into that of int64."""
        top = self.const(_TOP_BIT, UINT64)
        flipped = (self._apply("xor", UINT64, a, top) for a in given)
        result = self._apply(op, BOOL if op in COMPARISONS else UINT64, *flipped)
        return result if op in COMPARISONS else self._apply("xor", UINT64, result, top)

    def _unsigned(self, op: str, given: tuple[Value, ...]) -> Value:
        """Operations on uint64 by those on the int64 with the same bits. A quotient is twice that of x / 2,
        or one more; by 2^63 and beyond it is 0 or 1."""
        x, zero, one = given[0], self.const(0, UINT64), self.const(1, UINT64)
        if op == "abs":
            return x
        if op == "sign":
            return self.select(self.call("eq", x, zero), zero, one)
        if op not in ("div", "mod", "fmod"):
            raise ProgramError(f"there is no native {op} of uint64")
        y = given[1]
        half = self._apply("div", UINT64, self.call("shr", x, one), y)
        twice = self.call("shl", half, one)
        rest = x - twice * y
        more = self.select(self.call("ge", rest, y), one, zero)
        small = twice + more
        large = self.select(self.call("ge", x, y), one, zero)
        huge = self._apply("lt", BOOL, y, zero)  # as int64
        quotient = self.select(self.call("eq", y, zero), zero, self.select(huge, large, small))
        return quotient if op == "div" else self.select(self.call("eq", y, zero), zero, x - quotient * y)

    def select(self, condition: Value, yes: Value | float, no: Value | float) -> Value:
        """yes where the bool condition holds, else no."""
        kind = next((v.dtype for v in (yes, no) if isinstance(v, Value)), FLOAT32)
        a, b = (v if isinstance(v, Value) else self.const(v, kind) for v in (yes, no))
        if a.dtype != b.dtype or condition.dtype != BOOL:
            raise ProgramError("select mixes element types")
        return self._apply("select", a.dtype, condition, a, b)

    def cast(self, value: Value, dtype: int) -> Value:
        """The value converted to an ONNX type; float16 and bfloat16 round and go on as float32."""
        if isinstance(value.node, Cast) and value.node.dtype == dtype:
            return value
        return self._cast(value, dtype)

    def isnan(self, x: Value) -> Value:
        return self.call("ne", x, x)

    def isinf(self, x: Value) -> Value:
        return self.call("eq", self.call("abs", x), float("inf"))

    def clip(self, x: Value, low: Value | float | None, high: Value | float | None) -> Value:
        """min(max(x, low), high) of the bounds that are given."""
        x = x if low is None else self.call("max", x, low)
        return x if high is None else self.call("min", x, high)

    def output(self, value: Value, dtype: int) -> None:
        """The next output is `value`, stored as an ONNX type of the value's class."""
        if computed_dtype(dtype) != value.dtype:
            value = self.cast(value, dtype)
        self._outputs.append((value, dtype))

    def include(self, expressions: Sequence[Expression], inputs: Sequence[Value]) -> list[Value]:
        """The expressions of an instruction over these values as its inputs."""
        made: dict[int, Value] = {}
        for node in reachable(expressions):
            made[id(node)] = self._included(node, inputs, [made[id(a)] for a in operands(node)])
        return [made[id(e)] for e in expressions]

    def _included(self, node: Expression, inputs: Sequence[Value], given: Sequence[Value]) -> Value:
        if isinstance(node, Apply):
            return self._apply(node.op, BOOL if node.op in COMPARISONS else given[-1].dtype, *given)
        if isinstance(node, Input):
            return inputs[place(node)]
        if isinstance(node, Cast):
            return self._cast(given[0], node.dtype)
        return self.const(node.value, node.dtype) if isinstance(node, Number) else self.position()

    def _apply(self, op: str, dtype: int, *args: Value) -> Value:
        key = (op, *[id(a.node) for a in args])
        found = self._values.get(key)
        return found or self._value(key, Apply(op, tuple(a.node for a in args)), dtype)

    def _cast(self, value: Value, dtype: int) -> Value:
        return self._value(("cast", id(value.node), dtype), Cast(dtype, value.node), computed_dtype(dtype))

    def _value(self, key: Hashable, node: Expression, dtype: int) -> Value:
        """The one value of this program that has the key."""
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = Value(self, node, dtype)
        return found

    # ---- what an instruction holds -----------------------------------------------------------

    def finish(self) -> Computed[Source]:
        """What the kernel is to compute, of just the inputs that it reads. Raises ProgramError beyond its
        limits."""
        expressions = tuple(value.node for value, _ in self._outputs)
        places = schedule(expressions, self._types).places()
        if places != list(range(len(places))):
            expressions = replaced(expressions, {old: load(new) for new, old in enumerate(places)})
        inputs, types = tuple(self._sources[i] for i in places), tuple(self._types[i] for i in places)
        return Computed(inputs, types, expressions)


def casting(source: Source, dtype: int, target: int) -> Computed[Source]:
    """An input's elements converted from one ONNX type to another."""
    program: TileProgram[Source] = TileProgram()
    program.output(program.cast(program.input(source, dtype), target), target)
    return program.finish()
