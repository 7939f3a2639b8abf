"""Elementwise instructions as rewrites see and change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ascend_ep.opdef.dtypes import BFLOAT16, FLOAT32
from ascend_ep.opdef.expression import Apply, Cast, Constant, Expression, Input, Number
from ascend_ep.plan.plan import ELEMENTWISE, Insn, Ref
from ascend_ep.plan.tile_expression import load, operands, place, reachable, types_of
from ascend_ep.plan.tile_program import Computed, ProgramError, TileProgram, Value


def is_elementwise(insn: Insn) -> bool:
    return insn.kernel == ELEMENTWISE and insn.native is None


def input_types(insn: Insn) -> list[int]:
    """The types of its inputs in memory."""
    return [0 if r is None else r.dtype for r in insn.ins]


def loaded(program: TileProgram[Ref], ref: Ref | None) -> Value:
    """The elements of an input."""
    assert ref is not None, "elementwise instructions have no absent inputs"
    return program.input(ref, ref.dtype)


def computing(insn: Insn, computed: Computed[Ref], outs: Sequence[Ref]) -> Insn:
    """The instruction with other expressions."""
    return replace(insn, ins=computed.inputs, outs=tuple(outs), expressions=computed.expressions)


def rewritten(
    insn: Insn, change: Callable[[TileProgram[Ref], Value], Value], dtype: int, out: Ref | None = None
) -> Insn:
    """An instruction of one output that writes `change` of its value as a type, into another output if one is
    given. Raises ProgramError when that is more than the kernel takes."""
    program: TileProgram[Ref] = TileProgram()
    (value,) = program.include(insn.expressions, [loaded(program, r) for r in insn.ins])
    program.output(change(program, value), dtype)
    return computing(insn, program.finish(), insn.outs if out is None else [out])


def in_bfloat16(insn: Insn) -> Insn | None:
    """An elementwise instruction with its only result rounded; None when it has several, or no room."""
    if len(insn.outs) != 1:
        return None
    try:
        made = rewritten(insn, lambda program, value: program.cast(value, BFLOAT16), BFLOAT16)
    except ProgramError:  # too long with another step
        return None
    return replace(made, unfused=None)


def in_float32(insn: Insn, known: Mapping[int, Expression], leaves: list[Ref]) -> Expression | None:
    """What the only output of an elementwise instruction is, as a formula; inputs name places in `leaves`,
    which grows. `known` holds the expressions of some of its inputs, by id of their Ref. None when not all
    of it is arithmetic of float32."""
    order = reachable(insn.expressions)
    types = types_of(order, input_types(insn))
    made: dict[int, Expression] = {}
    for node in order:
        args = tuple(made[id(a)] for a in operands(node))
        if isinstance(node, Input):
            ref = insn.ins[place(node)]
            assert ref is not None, "elementwise instructions have no absent inputs"
            made[id(node)] = known.get(id(ref)) or _leaf(ref, leaves)
        elif isinstance(node, Number) and node.dtype == FLOAT32 and isinstance(node.value, float):
            made[id(node)] = Constant(node.value)
        elif isinstance(node, Cast) and node.dtype == types[id(node.arg)] == FLOAT32:
            made[id(node)] = args[0]
        elif isinstance(node, Apply):
            made[id(node)] = Apply(node.op, args)
        else:
            return None
    return made[id(insn.expressions[0])]


def _leaf(ref: Ref, leaves: list[Ref]) -> Input:
    if ref not in leaves:
        leaves.append(ref)
    return load(leaves.index(ref))
