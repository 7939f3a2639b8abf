"""Functions of one byte within larger elementwise instructions become instructions of their own.

    y = Q(DQ(Q(silu(DQ(a)))) * DQ(b))     becomes     t = Q(silu(DQ(a))), y = Q(DQ(t) * DQ(b))

What is rounded to 8 bits and depends on one 8-bit image alone is a table then (byte_tables.py), and what is
left is shorter, or a kernel of two images (byte_binary.py). A function that is all of the instruction, or
less than a rounding, stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ascend_ep.opdef.expression import Apply, Cast, Expression, Input, Position
from ascend_ep.plan.plan import TEMP, Insn, NativePartition, Ref
from ascend_ep.plan.tile_expression import load, operands, place, reachable, replaced, with_operands
from ascend_ep.plan.tile_program import ProgramError, TileProgram

from .byte_tables import BYTES, is_image, pays
from .elementwise_insns import computing, is_elementwise, loaded

#: Behind the name of a result, and before a number: the functions in it.
FUNCTION = ":function"


def part_functions(part: NativePartition) -> int:
    """Changes the partition in place; the number of functions that are instructions now."""
    before = len(part.insns)
    insns: list[Insn] = []
    for insn in part.insns:
        made = _parted(insn) if is_elementwise(insn) else [insn]
        part.values += [o for i in made[:-1] for o in i.outs]
        insns += made
    if len(insns) > before:
        part.insns[:] = insns
    return len(insns) - before


def _parted(insn: Insn) -> list[Insn]:
    """The functions of one image, and last what is left; or the instruction alone."""
    found = _functions(insn)
    if not found:
        return [insn]
    made: list[Insn] = []
    values: dict[int, Input] = {}
    ins = list(insn.ins)
    for number, (node, source) in enumerate(found):
        ref = insn.ins[source]
        assert ref is not None
        assert isinstance(node, Cast)
        out = Ref(f"{insn.outs[0].name}{FUNCTION}{number}", node.dtype, ref.dims, TEMP, last=ref.last)
        body = replaced((node,), {source: load(0)})
        made.append(replace(insn, ins=(ref,), outs=(out,), expressions=body, unfused=None))
        values[id(node)] = load(len(ins))
        ins.append(out)
    try:
        left = _over(replace(insn, ins=tuple(ins), expressions=_with(insn.expressions, values), unfused=None))
    except ProgramError:  # it has more inputs than the kernel takes
        return [insn]
    return [*made, left]


def _functions(insn: Insn) -> list[tuple[Expression, int]]:
    """The largest parts that are functions of an image, and of which input."""
    order = reachable(insn.expressions)
    read: dict[int, frozenset[int]] = {}  # the inputs of a node; -1 is what depends on where an element lies
    for node in order:
        own = {place(node)} if isinstance(node, Input) else {-1} if isinstance(node, Position) else set()
        read[id(node)] = frozenset(own).union(*(read[id(a)] for a in operands(node)))
    found: dict[int, tuple[Expression, int]] = {}
    seen: set[int] = set()
    roots = {id(root) for root in insn.expressions}
    stack = list(insn.expressions)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if id(node) not in roots and _is_function(node, read[id(node)], insn.ins):
            found[id(node)] = (node, next(iter(read[id(node)])))
        else:
            stack += operands(node)
    return [found[id(node)] for node in order if id(node) in found]


def _is_function(node: Expression, read: frozenset[int], ins: Sequence[Ref | None]) -> bool:
    """Whether it is rounded to bytes, of an image of bytes."""
    if not isinstance(node, Cast) or node.dtype not in BYTES or len(read) != 1 or -1 in read:
        return False
    ref = ins[next(iter(read))]
    rounds = any(isinstance(n, Apply) and n.op == "round" for n in reachable((node,)))
    return rounds and ref is not None and is_image(ref) and pays(ref.dims, None)


def _with(roots: Sequence[Expression], values: dict[int, Input]) -> tuple[Expression, ...]:
    """The expressions with inputs in the places of some nodes."""
    made: dict[int, Expression] = {}
    for node in reachable(roots):
        found = values.get(id(node))
        made[id(node)] = found or with_operands(node, tuple(made[id(a)] for a in operands(node)))
    return tuple(made[id(root)] for root in roots)


def _over(insn: Insn) -> Insn:
    """The instruction over just the inputs that it reads. Raises ProgramError."""
    program: TileProgram[Ref] = TileProgram()
    values = program.include(insn.expressions, [loaded(program, r) for r in insn.ins])
    for value, out in zip(values, insn.outs, strict=True):
        program.output(value, out.dtype)
    return computing(insn, program.finish(), insn.outs)
