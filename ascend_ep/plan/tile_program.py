"""Builds programs of the "elementwise" kernel: expressions in, the kernel's ints and floats out.

    p = TileProgram()
    x = p.input(ref)
    p.output(x * p.call("sigmoid", x), ref.dtype)
    program = p.encode()          # .inputs, .ints, .floats for PlanBuilder.emit("elementwise", ...)

Values are nodes of an expression graph (tile_value.py): equal ones are one, unused ones vanish, and registers
are given out when the program is encoded (tile_encoding.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Generic

from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.dtypes import BOOL, FLOAT32, FLOAT64, INT32, INT64, INTEGERS, UINT64

from .tile_encoding import Encoded, Source, encode, gated
from .tile_value import COMPARISONS, OPCODES, STEP_INTS, ProgramError, Value, computed_dtype

__all__ = ["Encoded", "ProgramError", "TileProgram", "Value", "casting", "computed_dtype"]

_NAMES = {number: name for name, number in OPCODES.items()}
_NO_PRIMITIVES = frozenset({"load", "const", "iota", "store", "cast", "select"})
_NARROW = INTEGERS - {INT32, INT64, UINT64}
#: Operations that never leave the range of narrow operands.
_CLOSED = COMPARISONS | {"min", "max", "mod", "fmod", "and", "or", "xor", "shr", "sign"}
#: Operations whose result on uint64 isn't that on the int64 with the same bits.
_SIGNED_ONLY = frozenset({"div", "mod", "fmod", "pow", "abs", "sign"})
_ORDERED = frozenset({"lt", "le", "gt", "ge", "min", "max"})
_TOP_BIT = -(2**63)


class TileProgram(Generic[Source]):
    """A program under construction. Inputs are whatever the caller knows them by (a Ref, a name)."""

    def __init__(self) -> None:
        self._values: dict[Hashable, Value] = {}
        self._sources: list[Source] = []
        self._outputs: list[tuple[Value, int]] = []

    # ---- building --------------------------------------------------------------------------

    def input(self, source: Source, dtype: int) -> Value:
        """The elements of an input of that ONNX type, broadcast to the output's shape."""
        if source not in self._sources:
            self._sources.append(source)
        return self._value("load", computed_dtype(dtype), (), self._sources.index(source))

    def const(self, value: Dim | float, dtype: int = FLOAT32) -> Value:
        """One number everywhere. Integers may be symbolic dims; uint64 is kept as the int64 of its bits."""
        kind = computed_dtype(dtype)
        if isinstance(value, int | float):
            value = float(value) if kind in (FLOAT32, FLOAT64) else int(value)
            value = value - 2**64 if kind == UINT64 and value >= 2**63 else value
        return self._value("const", kind, (), value)

    def position(self) -> Value:
        """int64: the element's row-major position in the output."""
        return self._value("iota", INT64, (), 0)

    def call(self, op: str, *args: Value | float) -> Value:
        """A primitive of the kernel ("add", "exp", "lt", ...); numbers become constants of the type of the
        other operand."""
        if op not in OPCODES or op in _NO_PRIMITIVES:
            raise ProgramError(f"there is no elementwise operation {op}")
        kind = next(a.dtype for a in args if isinstance(a, Value))
        operands = tuple(a if isinstance(a, Value) else self.const(a, kind) for a in args)
        if any(a.dtype != kind for a in operands):
            raise ProgramError(f"{op} mixes element types")
        if kind == UINT64 and op in _SIGNED_ONLY:
            return self._unsigned(op, operands)
        if kind == UINT64 and op in _ORDERED:
            return self._ordered_unsigned(op, operands)
        result = self._value(op, BOOL if op in COMPARISONS else kind, operands)
        return self.cast(result, kind) if kind in _NARROW and op not in _CLOSED else result

    def _ordered_unsigned(self, op: str, operands: tuple[Value, ...]) -> Value:
        """Flipping the top bit turns the order of uint64 into that of int64."""
        top = self.const(_TOP_BIT, UINT64)
        flipped = tuple(self._value("xor", UINT64, (a, top)) for a in operands)
        result = self._value(op, BOOL if op in COMPARISONS else UINT64, flipped)
        return result if op in COMPARISONS else self._value("xor", UINT64, (result, top))

    def _unsigned(self, op: str, operands: tuple[Value, ...]) -> Value:
        """Operations on uint64 by those on the int64 with the same bits. A quotient is twice that of x / 2,
        or one more; by 2^63 and beyond it is 0 or 1."""
        x, zero, one = operands[0], self.const(0, UINT64), self.const(1, UINT64)
        if op == "abs":
            return x
        if op == "sign":
            return self.select(self.call("eq", x, zero), zero, one)
        if op not in ("div", "mod", "fmod"):
            raise ProgramError(f"there is no native {op} of uint64")
        y = operands[1]
        half = self._value("div", UINT64, (self.call("shr", x, one), y))
        twice = self.call("shl", half, one)
        rest = x - twice * y
        more = self.select(self.call("ge", rest, y), one, zero)
        small = twice + more
        large = self.select(self.call("ge", x, y), one, zero)
        huge = self._value("lt", BOOL, (y, zero))  # as int64
        quotient = self.select(self.call("eq", y, zero), zero, self.select(huge, large, small))
        return quotient if op == "div" else self.select(self.call("eq", y, zero), zero, x - quotient * y)

    def select(self, condition: Value, yes: Value | float, no: Value | float) -> Value:
        """yes where the bool condition holds, else no."""
        kind = next((v.dtype for v in (yes, no) if isinstance(v, Value)), FLOAT32)
        a, b = (v if isinstance(v, Value) else self.const(v, kind) for v in (yes, no))
        if a.dtype != b.dtype or condition.dtype != BOOL:
            raise ProgramError("select mixes element types")
        return self._value("select", a.dtype, (condition, a, b))

    def cast(self, value: Value, dtype: int) -> Value:
        """The value converted to an ONNX type; float16 and bfloat16 round and go on as float32."""
        if value.op == "cast" and value.immediate == dtype and value.dtype == computed_dtype(dtype):
            return value
        return self._value("cast", computed_dtype(dtype), (value,), dtype)

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

    def _value(self, op: str, dtype: int, args: tuple[Value, ...] = (), immediate: Dim | float = 0) -> Value:
        key = (op, dtype, tuple(map(id, args)), type(immediate), repr(immediate))
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = Value(self, op, dtype, args, immediate)
        return found

    def include(self, ints: Sequence[Dim], floats: Sequence[float], inputs: Sequence[Value]) -> list[Value]:
        """The steps of an encoded program on these values as its inputs; gives its outputs."""
        registers: dict[int, Value] = {}
        outputs: dict[int, Value] = {}
        for at in range(2, len(ints), STEP_INTS):
            code, target, a, b, c = ints[at : at + STEP_INTS]
            op = _NAMES[_number(code)]
            if op == "store":
                outputs[_number(target)] = registers[_number(a)]
            else:
                registers[_number(target)] = self._included(op, (a, b, c), floats, inputs, registers)
        return [outputs[k] for k in sorted(outputs)]

    def _included(
        self,
        op: str,
        operands: tuple[Dim, Dim, Dim],
        floats: Sequence[float],
        inputs: Sequence[Value],
        registers: Mapping[int, Value],
    ) -> Value:
        a, b, _ = operands
        if op == "load":
            return inputs[_number(a)]
        if op == "const":
            return self.const(floats[_number(a)] if b in (FLOAT32, FLOAT64) else a, _number(b))
        if op == "iota":
            return self.position()
        values = [registers[_number(r)] for r in operands[: _arity(op)]]
        if op == "cast":
            return self._value("cast", computed_dtype(_number(b)), (values[0],), b)
        if op == "gate":
            return self._value("mul", FLOAT32, (values[0], self._value("sigmoid", FLOAT32, (values[1],))))
        kind = BOOL if op in COMPARISONS else values[-1].dtype
        return self._value(op, kind, tuple(values))

    # ---- encoding --------------------------------------------------------------------------

    def encode(self) -> Encoded[Source]:
        """The program as kernel arguments. Raises ProgramError beyond the kernel's limits."""
        return encode(gated([value for value, _ in self._outputs], self._value), self._sources)


def casting(source: Source, dtype: int, target: int) -> Encoded[Source]:
    """The program that converts an input's elements from one ONNX type to another."""
    program: TileProgram[Source] = TileProgram()
    program.output(program.cast(program.input(source, dtype), target), target)
    return program.encode()


def _number(element: Dim) -> int:
    """An element of a program that is never symbolic."""
    assert isinstance(element, int)
    return element


def _arity(op: str) -> int:
    """How many of a step's last three ints are registers."""
    if op == "select":
        return 3
    return 1 if op == "cast" or OPCODES[op] >= OPCODES["neg"] else 2
