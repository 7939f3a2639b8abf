"""Builds programs of the "elementwise" kernel: expressions in, the kernel's ints and floats out.

    p = TileProgram()
    x = p.input(ref)
    p.output(x * p.call("sigmoid", x), ref.dtype)
    program = p.encode()          # .inputs, .ints, .floats for PlanBuilder.emit("elementwise", ...)

The encoding is that of kernels/elementwise/elementwise.h. Values are nodes of an expression graph: equal ones
are one, unused ones vanish, and registers are given out when the program is encoded. A value's type is the
ONNX number of what it holds: float16 and bfloat16 inputs count as float32; narrow integers are wrapped
after every operation that can leave their range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.dtypes import (
    BFLOAT16,
    BOOL,
    FLOAT8_LARGEST,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    INTEGERS,
    SUB_BYTE,
    UINT32,
    UINT64,
)
from ascend_ep.runtime._rt import lib

#: primitive -> opcode, e.g. "add" -> ASC_EW_ADD
OPCODES: dict[str, int] = {
    name.removeprefix("ASC_EW_").lower(): getattr(lib, name)
    for name in dir(lib)
    if name.startswith("ASC_EW_") and not name.endswith(("COUNT", "INTS")) and "_MAX_" not in name
}
_NAMES = {number: name for name, number in OPCODES.items()}
COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
STEP_INTS: int = lib.ASC_EW_STEP_INTS
MAX_REGISTERS: int = lib.ASC_EW_MAX_REGISTERS
MAX_STEPS: int = lib.ASC_EW_MAX_STEPS
MAX_INPUTS: int = lib.ASC_EW_MAX_INPUTS
MAX_OUTPUTS: int = lib.ASC_EW_MAX_OUTPUTS

_NO_PRIMITIVES = frozenset({"load", "const", "iota", "store", "cast", "select"})
_NARROW = INTEGERS - {INT32, INT64, UINT64}
#: Operations that never leave the range of narrow operands.
_CLOSED = COMPARISONS | {"min", "max", "mod", "fmod", "and", "or", "xor", "shr", "sign"}
#: Operations whose result on uint64 isn't that on the int64 with the same bits.
_SIGNED_ONLY = frozenset({"div", "mod", "fmod", "pow", "abs", "sign"})
_ORDERED = frozenset({"lt", "le", "gt", "ge", "min", "max"})
_TOP_BIT = -(2**63)


class ProgramError(Exception):
    """The kernel can't run this program; the text is one sentence that says why."""


def computed_dtype(dtype: int) -> int:
    """The type that arithmetic on `dtype` happens in: half floats and float8 compute in float32, integers of
    less than a byte in int32."""
    if dtype in SUB_BYTE:
        return INT32
    return FLOAT32 if dtype in (FLOAT16, BFLOAT16) or dtype in FLOAT8_LARGEST else dtype


def width(dtype: int) -> int:
    """Bytes of a register element that holds `dtype`."""
    return {FLOAT64: 8, BOOL: 1}.get(dtype, 8 if dtype in (INT64, UINT32, UINT64) else 4)


@dataclass(frozen=True, eq=False)
class Value:
    """A node: an operation of the kernel on earlier values. `immediate` is a constant, an input's position
    or the type of a cast."""

    program: TileProgram[Hashable] = field(repr=False)
    op: str
    dtype: int
    args: tuple[Value, ...] = ()
    immediate: Dim | float = 0

    def __add__(self, other: Value | float) -> Value:
        return self.program.call("add", self, other)

    def __radd__(self, other: float) -> Value:
        return self.program.call("add", other, self)

    def __sub__(self, other: Value | float) -> Value:
        return self.program.call("sub", self, other)

    def __rsub__(self, other: float) -> Value:
        return self.program.call("sub", other, self)

    def __mul__(self, other: Value | float) -> Value:
        return self.program.call("mul", self, other)

    def __rmul__(self, other: float) -> Value:
        return self.program.call("mul", other, self)

    def __truediv__(self, other: Value | float) -> Value:
        return self.program.call("div", self, other)

    def __rtruediv__(self, other: float) -> Value:
        return self.program.call("div", other, self)

    def __neg__(self) -> Value:
        return self.program.call("neg", self)


Source = TypeVar("Source", bound=Hashable)


@dataclass(frozen=True)
class Encoded(Generic[Source]):
    """Arguments of the kernel. `inputs` are the sources whose loads survived, in the kernel's order."""

    inputs: tuple[Source, ...]
    ints: tuple[Dim, ...]
    floats: tuple[float, ...]


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
        """One number everywhere. Integers may be symbolic dims."""
        kind = computed_dtype(dtype)
        if isinstance(value, int | float):
            value = float(value) if kind in (FLOAT32, FLOAT64) else int(value)
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
            found = self._values[key] = Value(self, op, dtype, args, immediate)  # type: ignore[arg-type]
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
        roots = self._gated([value for value, _ in self._outputs])
        order = list(_reachable(roots))
        loads = [v for v in order if v.op == "load"]
        sources = tuple(self._sources[int(v.immediate)] for v in loads)  # type: ignore[arg-type]
        if len(sources) > MAX_INPUTS or not 1 <= len(self._outputs) <= MAX_OUTPUTS:
            raise ProgramError(f"it has more than {MAX_INPUTS} inputs or {MAX_OUTPUTS} outputs")
        floats: list[float] = []
        registers = _Registers(order, roots)
        ints: list[Dim] = []
        for at, value in enumerate(order):
            step = [OPCODES[value.op], registers.take(at, value), *(registers.of(a) for a in value.args)]
            if value.op == "load":
                step += [loads.index(value)]
            elif value.op == "const" and value.dtype in (FLOAT32, FLOAT64):
                step += [len(floats), value.dtype]
                floats.append(float(value.immediate))  # type: ignore[arg-type]
            elif value.op == "const":
                step += [value.immediate, _register_type(value.dtype)]  # type: ignore[list-item]
            elif value.op == "cast":
                step += [value.immediate, value.args[0].dtype]  # type: ignore[list-item]
            ints += step + [0] * (STEP_INTS - len(step))
        for index, value in enumerate(roots):
            ints += [OPCODES["store"], index, registers.of(value), 0, 0]
        steps = len(ints) // STEP_INTS
        if steps > MAX_STEPS or registers.count > MAX_REGISTERS:
            raise ProgramError(f"it needs more than {MAX_STEPS} steps or {MAX_REGISTERS} registers")
        return Encoded(sources, (max(registers.count, 1), steps, *ints), tuple(floats))

    def _gated(self, roots: Sequence[Value]) -> list[Value]:
        """The roots with a * sigmoid(b) as the one step that it is in the kernel; the bits are the same."""
        order = list(_reachable(roots))
        uses = Counter([id(a) for v in order for a in v.args] + [id(r) for r in roots])
        made: dict[int, Value] = {}
        for value in order:
            op, args = value.op, tuple(made[id(a)] for a in value.args)
            gates = [a.op == "sigmoid" and uses[id(a)] == 1 for a in value.args]
            if op == "mul" and value.dtype == FLOAT32 and any(gates):
                gate = gates.index(True)
                op, args = "gate", (args[1 - gate], made[id(value.args[gate].args[0])])
            same = (op, args) == (value.op, value.args)
            made[id(value)] = value if same else self._value(op, value.dtype, args, value.immediate)
        return [made[id(r)] for r in roots]


def _number(element: Dim) -> int:
    """An element of a program that is never symbolic."""
    assert isinstance(element, int)
    return element


def _arity(op: str) -> int:
    """How many of a step's last three ints are registers."""
    if op == "select":
        return 3
    return 1 if op == "cast" or OPCODES[op] >= OPCODES["neg"] else 2


def _register_type(dtype: int) -> int:
    """The type of an integer constant for a register that holds `dtype`."""
    if dtype == BOOL:
        return BOOL
    return INT64 if width(dtype) == 8 else INT32


def _reachable(roots: Sequence[Value]) -> Iterator[Value]:
    """Every value the roots need, constants first, then operands before what uses them."""
    seen: dict[int, Value] = {}
    stack: list[tuple[Value, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        value, ready = stack.pop()
        if id(value) in seen:
            continue
        if ready:
            seen[id(value)] = value
        else:
            stack.append((value, True))
            stack += [(a, False) for a in reversed(value.args)]
    is_const: Callable[[Value], bool] = lambda v: v.op == "const"  # noqa: E731
    yield from filter(is_const, seen.values())
    yield from (v for v in seen.values() if not is_const(v))


class _Registers:
    """Gives registers out in program order. Constants and loads keep theirs, so that the kernel can fill
    them once; others return at their last use, and the last returned is taken first."""

    def __init__(self, order: Sequence[Value], outputs: Sequence[Value]) -> None:
        self.count = 0
        self._register: dict[int, int] = {}
        self._free: list[int] = []
        self._last_use = {id(a): at for at, v in enumerate(order) for a in v.args}
        self._last_use |= {id(v): len(order) for v in outputs}

    def of(self, value: Value) -> int:
        return self._register[id(value)]

    def take(self, at: int, value: Value) -> int:
        """A register for the value that step `at` makes, which may be one that it reads for the last time,
        unless the element width changes."""
        lasting = value.op in ("const", "load")
        done = [a for a in dict.fromkeys(value.args) if self._returns(a, at)]
        reusable = [a for a in done if not lasting and width(a.dtype) == width(value.dtype)]
        self._free += [self.of(a) for a in reusable]
        if lasting or not self._free:
            register, self.count = self.count, self.count + 1
        else:
            register = self._free.pop()
        self._free += [self.of(a) for a in done if a not in reusable]
        self._register[id(value)] = register
        return register

    def _returns(self, value: Value, at: int) -> bool:
        return value.op not in ("const", "load") and self._last_use.get(id(value)) == at
