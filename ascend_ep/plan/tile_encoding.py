"""From values to the arguments of the "elementwise" kernel: the order of its steps, and their registers.

The encoding is that of kernels/elementwise/elementwise.h.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.dtypes import BOOL, FLOAT32, FLOAT64, INT32, INT64

from .tile_value import (
    MAX_INPUTS,
    MAX_OUTPUTS,
    MAX_REGISTERS,
    MAX_STEPS,
    OPCODES,
    STEP_INTS,
    ProgramError,
    Value,
    width,
)

Source = TypeVar("Source", bound=Hashable)


@dataclass(frozen=True)
class Encoded(Generic[Source]):
    """Arguments of the kernel. `inputs` are the sources whose loads survived, in the kernel's order."""

    inputs: tuple[Source, ...]
    ints: tuple[Dim, ...]
    floats: tuple[float, ...]


def encode(roots: Sequence[Value], given: Sequence[Source]) -> Encoded[Source]:
    """The steps that make `roots` and store them as the outputs; the immediate of a load is a position in
    `given`. Raises ProgramError beyond the kernel's limits."""
    order = list(reachable(roots))
    loads = [v for v in order if v.op == "load"]
    sources = tuple(given[int(v.immediate)] for v in loads)  # type: ignore[arg-type]
    if len(sources) > MAX_INPUTS or not 1 <= len(roots) <= MAX_OUTPUTS:
        raise ProgramError(f"it has more than {MAX_INPUTS} inputs or {MAX_OUTPUTS} outputs")
    floats: list[float] = []
    registers = Registers(order, roots)
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


def gated(roots: Sequence[Value], make: Callable[..., Value]) -> list[Value]:
    """The roots with a * sigmoid(b) as the one step that it is in the kernel; the bits are the same.
    make(op, dtype, args, immediate) gives the one value that is that."""
    order = list(reachable(roots))
    uses = Counter([id(a) for v in order for a in v.args] + [id(r) for r in roots])
    made: dict[int, Value] = {}
    for value in order:
        op, args = value.op, tuple(made[id(a)] for a in value.args)
        gates = [a.op == "sigmoid" and uses[id(a)] == 1 for a in value.args]
        if op == "mul" and value.dtype == FLOAT32 and any(gates):
            gate = gates.index(True)
            op, args = "gate", (args[1 - gate], made[id(value.args[gate].args[0])])
        same = (op, args) == (value.op, value.args)
        made[id(value)] = value if same else make(op, value.dtype, args, value.immediate)
    return [made[id(r)] for r in roots]


def _register_type(dtype: int) -> int:
    """The type of an integer constant for a register that holds `dtype`."""
    if dtype == BOOL:
        return BOOL
    return INT64 if width(dtype) == 8 else INT32


def reachable(roots: Sequence[Value]) -> Iterator[Value]:
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


class Registers:
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
