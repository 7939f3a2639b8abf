"""From expressions to the arguments of the "elementwise" kernel: the order of its steps, and their registers.

The encoding is that of kernels/elementwise/elementwise.h. The writer asks for it, and nothing reads it back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.dtypes import BOOL, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, UINT8, UINT16
from ascend_ep.opdef.expression import Apply, Cast, Expression, Input, Number

from .plan import Insn
from .tile_expression import operands, place, reachable, types_of, with_operands
from .tile_value import (
    MAX_INPUTS,
    MAX_OUTPUTS,
    MAX_REGISTERS,
    MAX_STEPS,
    OPCODES,
    STEP_INTS,
    ProgramError,
    width,
)

_WITHIN_INT32 = (INT8, UINT8, INT16, UINT16, INT32)
Arguments = tuple[tuple[Dim, ...], tuple[float, ...]]


def kernel_arguments(insn: Insn) -> Arguments:
    """The ints and floats of an instruction as its kernel takes them."""
    if not insn.expressions:
        return insn.ints, insn.floats
    return encode(schedule(insn.expressions, [0 if r is None else r.dtype for r in insn.ins]))


@dataclass(frozen=True)
class Schedule:
    """Steps in order, the register that each writes, and its type, both by id; `roots` are the outputs."""

    order: Sequence[Expression]
    roots: Sequence[Expression]
    types: Mapping[int, int]
    registers: Mapping[int, int]
    count: int  # of registers

    def places(self) -> list[int]:
        """Places of the inputs that it reads, in order."""
        return [place(node) for node in self.order if isinstance(node, Input)]


def schedule(expressions: Sequence[Expression], inputs: Sequence[int]) -> Schedule:
    """The steps that compute the expressions over inputs of these types. Raises ProgramError beyond the
    kernel's limits."""
    order = reachable(expressions)
    types = types_of(order, inputs)
    roots = _simplified(expressions, order, types)
    if any(made is not given for made, given in zip(roots, expressions, strict=True)):
        order = reachable(roots)
        types = types_of(order, inputs)
    loads = sum(isinstance(node, Input) for node in order)
    if loads > MAX_INPUTS or not 1 <= len(roots) <= MAX_OUTPUTS:
        raise ProgramError(f"it has more than {MAX_INPUTS} inputs or {MAX_OUTPUTS} outputs")
    registers = _Registers(order, roots, types)
    if len(order) + len(roots) > MAX_STEPS or registers.count > MAX_REGISTERS:
        raise ProgramError(f"it needs more than {MAX_STEPS} steps or {MAX_REGISTERS} registers")
    return Schedule(order, roots, types, registers.taken, registers.count)


def encode(steps: Schedule) -> Arguments:
    """The kernel's arguments."""
    types, registers = steps.types, steps.registers
    ints: list[Dim] = []
    floats: list[float] = []
    for node in steps.order:
        step: list[Dim] = [OPCODES[_primitive(node)], registers[id(node)]]
        step += [registers[id(a)] for a in operands(node)]
        if isinstance(node, Input):
            step += [place(node)]
        elif isinstance(node, Number) and node.dtype in (FLOAT32, FLOAT64):
            step += [len(floats), node.dtype]
            floats.append(float(node.value))  # type: ignore[arg-type]
        elif isinstance(node, Number):
            step += [node.value, _register_type(node.dtype)]  # type: ignore[list-item]
        elif isinstance(node, Cast):
            step += [node.dtype, types[id(node.arg)]]
        ints += step + [0] * (STEP_INTS - len(step))
    for index, root in enumerate(steps.roots):
        ints += [OPCODES["store"], index, registers[id(root)], 0, 0]
    return (max(steps.count, 1), len(ints) // STEP_INTS, *ints), tuple(floats)


def _primitive(node: Expression) -> str:
    """The kernel's name of a step."""
    if isinstance(node, Apply):
        return node.op
    if isinstance(node, Input):
        return "load"
    if isinstance(node, Cast):
        return "cast"
    return "const" if isinstance(node, Number) else "iota"


def _simplified(
    roots: Sequence[Expression], order: Sequence[Expression], types: Mapping[int, int]
) -> list[Expression]:
    """The roots in fewer steps, with the same bits: a * sigmoid(b) as the one step that it is in the kernel,
    numbers as what they are cast to, and no cast of what is float32 to float32."""
    uses = Counter([id(a) for node in order for a in operands(node)] + [id(r) for r in roots])
    made: dict[int, Expression] = {}
    for node in order:
        args = tuple([made[id(a)] for a in operands(node)])
        if isinstance(node, Apply):
            made[id(node)] = _gate(node, args, types, uses) or with_operands(node, args)
        elif isinstance(node, Cast) and node.dtype == FLOAT32:
            made[id(node)] = _float32(node, args[0], types[id(node.arg)])
        else:
            made[id(node)] = with_operands(node, args) if args else node
    return [made[id(r)] for r in roots]


def _gate(
    node: Apply, args: tuple[Expression, ...], types: Mapping[int, int], uses: Mapping[int, int]
) -> Expression | None:
    """The node, of these operands, as a gate, if it is one."""
    if node.op != "mul" or types[id(node)] != FLOAT32:
        return None
    for at, given in enumerate(node.args):
        gate = args[at]
        if isinstance(given, Apply) and given.op == "sigmoid" and uses[id(given)] == 1:
            assert isinstance(gate, Apply)
            return Apply("gate", (args[1 - at], *gate.args))
    return None


def _float32(node: Cast, arg: Expression, kind: int) -> Expression:
    """The cast, of this operand, to float32."""
    if kind == FLOAT32:
        return arg
    whole = arg.value if isinstance(arg, Number) and kind in _WITHIN_INT32 else None
    if isinstance(whole, int) and abs(whole) <= 1 << 24:  # as far as float32 has all
        return Number(float(whole), FLOAT32)
    return with_operands(node, (arg,))


def _register_type(dtype: int) -> int:
    """The type of an integer constant for a register that holds `dtype`."""
    if dtype == BOOL:
        return BOOL
    return INT64 if width(dtype) == 8 else INT32


class _Registers:
    """Gives registers out in program order. Constants and loads keep theirs, so that the kernel can fill
    them once; others return at their last use, and the last returned is taken first."""

    def __init__(
        self, order: Sequence[Expression], outputs: Sequence[Expression], types: Mapping[int, int]
    ) -> None:
        self.count = 0
        self.taken: dict[int, int] = {}  # by id of the node
        self._types = types
        self._free: list[int] = []
        self._last_use = {id(a): at for at, node in enumerate(order) for a in operands(node)}
        self._last_use |= {id(node): len(order) for node in outputs}
        for at, node in enumerate(order):
            self._take(at, node)

    def _take(self, at: int, node: Expression) -> None:
        """A register for what step `at` makes, which may be one that it reads for the last time, unless the
        element width changes."""
        lasting = isinstance(node, Number | Input)
        done = dict.fromkeys(
            id(a) for a in operands(node) if self._last_use[id(a)] == at and not isinstance(a, Number | Input)
        )
        own = width(self._types[id(node)])
        reusable = [a for a in done if width(self._types[a]) == own]
        self._free += [self.taken[a] for a in reusable]
        if lasting or not self._free:
            register, self.count = self.count, self.count + 1
        else:
            register = self._free.pop()
        self._free += [self.taken[a] for a in done if a not in reusable]
        self.taken[id(node)] = register
