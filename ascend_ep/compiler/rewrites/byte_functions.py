"""Functions of one byte, and sums and products of two, within larger elementwise instructions become
instructions of their own.

    y = Q(DQ(Q(silu(DQ(a)))) * DQ(b))     becomes     t = Q(silu(DQ(a))), y = Q(DQ(t) * DQ(b))
    y = DQ(Q(DQ(a) + DQ(b)))              becomes     t = Q(DQ(a) + DQ(b)), y = DQ(t)

What is rounded to 8 bits and depends on one 8-bit image alone is a table then (byte_tables.py), a sum a
kernel of two images (byte_binary.py), and what is left is shorter. A function that is all of the
instruction, or less than a rounding, stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ascend_ep.opdef.expression import Apply, Cast, Expression, Input, Position
from ascend_ep.plan.plan import TEMP, Insn, NativePartition, Ref
from ascend_ep.plan.tile_expression import load, operands, place, reachable, replaced, with_operands
from ascend_ep.plan.tile_program import ProgramError, TileProgram

from .byte_binary import is_of_images
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
    for number, (node, sources) in enumerate(found):
        refs = [insn.ins[source] for source in sources]
        ref = refs[0]
        assert ref is not None
        assert isinstance(node, Cast)
        out = Ref(f"{insn.outs[0].name}{FUNCTION}{number}", node.dtype, ref.dims, TEMP, last=ref.last)
        body = replaced((node,), {source: load(i) for i, source in enumerate(sources)})
        made.append(replace(insn, ins=tuple(refs), outs=(out,), expressions=body, unfused=None))
        values[id(node)] = load(len(ins))
        ins.append(out)
    try:
        left = _over(replace(insn, ins=tuple(ins), expressions=_with(insn.expressions, values), unfused=None))
    except ProgramError:  # it has more inputs than the kernel takes
        return [insn]
    return [*made, left]


def _functions(insn: Insn) -> list[tuple[Expression, list[int]]]:
    """The largest parts that are functions of an image or two, and of which inputs."""
    order = reachable(insn.expressions)
    read: dict[int, frozenset[int]] = {}  # the inputs of a node; -1 is what depends on where an element lies
    for node in order:
        own = {place(node)} if isinstance(node, Input) else {-1} if isinstance(node, Position) else set()
        read[id(node)] = frozenset(own).union(*(read[id(a)] for a in operands(node)))
    found: dict[int, tuple[Expression, list[int]]] = {}
    seen: set[int] = set()
    roots = {id(root) for root in insn.expressions}
    stack = list(insn.expressions)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if id(node) not in roots and _is_function(node, read[id(node)], insn.ins):
            found[id(node)] = (node, sorted(read[id(node)]))
        else:
            stack += operands(node)
    return [found[id(node)] for node in order if id(node) in found]


def _is_function(node: Expression, read: frozenset[int], ins: Sequence[Ref | None]) -> bool:
    """Whether it is rounded to bytes, of an image of bytes, or what byte_binary makes of two."""
    if not isinstance(node, Cast) or node.dtype not in BYTES or not read or -1 in read:
        return False
    ref = ins[min(read)]
    if ref is None or not is_image(ref) or not pays(ref.dims, None):
        return False
    if len(read) > 1:
        return len(read) == 2 and is_of_images(node, ins)
    return any(isinstance(n, Apply) and n.op == "round" for n in reachable((node,)))


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
