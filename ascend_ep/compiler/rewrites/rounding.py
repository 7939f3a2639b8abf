"""Rounding to float16 and bfloat16 between kernels of float32, without a pass over memory of its own.

A product whose result is stored in a half type rounds it in its epilogue; whoever reads the stored value
reads the product's float32 result, which holds the same numbers. Limits (Relu, Clip) that follow a rounding
are taken before it, where they become part of the product too: rounding keeps the order of numbers, so the
result has the same bits as long as the bounds are numbers of the half type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import onnx_ir as ir

from ascend_ep.compiler.half_types import BEFORE_ROUNDING, HALF_TYPES, WIDENED
from ascend_ep.compiler.lower.matmul import Activation
from ascend_ep.opdef.dtypes import BFLOAT16, FLOAT16, FLOAT32
from ascend_ep.opdef.expression import Cast
from ascend_ep.plan.kernel_params import CONV, MATMUL
from ascend_ep.plan.plan import Insn, NativePartition, Ref
from ascend_ep.plan.tile_expression import load
from ascend_ep.plan.value_uses import ValueUses
from ascend_ep.runtime._rt import lib

from .elementwise_insns import in_float32, input_types, is_elementwise, rewritten
from .epilogue_match import match

#: The ints of each kernel that rounds its results.
PRODUCTS = {"matmul": MATMUL, "conv": CONV}
#: What rounding adds to the int of an activation, by type.
ROUNDING = {
    FLOAT16: lib.ASC_ROUNDING * lib.ASC_ROUND_FLOAT16,
    BFLOAT16: lib.ASC_ROUNDING * lib.ASC_ROUND_BFLOAT16,
}


def postpone_rounding(part: NativePartition) -> int:
    """Takes limits before the roundings that they follow, in place; how many."""
    uses = ValueUses.of(part)
    count = 0
    for at, insn in enumerate(part.insns):
        stored = insn.ins[0] if len(insn.ins) == 1 else None
        if not is_elementwise(insn) or stored is None or len(insn.outs) != 1:
            continue
        rounding = uses.maker(stored)
        out = insn.outs[0]
        if rounding is None or not _is_only_read_by(uses, stored, insn) or out.dtype != stored.dtype:
            continue
        source = rounding.ins[0] if _rounds(rounding) else None
        if source is None or not _limits(insn, stored):
            continue
        wide = Ref(out.name + BEFORE_ROUNDING, FLOAT32, out.dims)
        part.values.append(wide)
        part.insns[part.insns.index(rounding)] = replace(insn, ins=(source,), outs=(wide,))
        part.insns[at] = replace(rounding, ins=(wide,), outs=(out,))
        part.values.remove(stored)
        uses = ValueUses.of(part)
        count += 1
    return count


def round_in_epilogues(part: NativePartition) -> int:
    """Lets products round their own results, in place, and elementwise instructions whose results are read
    widened; how many do."""
    uses = ValueUses.of(part)
    gone: set[int] = set()  # instructions and values, by id
    renamed: dict[int, Ref] = {}
    rounded: dict[int, int] = {}  # values of float32 that are numbers of a half type, by id
    count = 0
    for at, insn in enumerate(part.insns):
        result = insn.outs[0]
        kind = _rounded_to(uses, result)
        if kind and (made := _rounding(insn, kind, renamed, rounded)) is not None:
            rounded[id(result)] = kind
            for rounding in uses.readers(result):
                gone |= set(_read_wide(uses, rounding.outs[0], result, renamed, [rounding]))
            part.insns[at] = made
            count += 1
        elif _is_read_widened(uses, insn):
            wide = Ref(result.name + WIDENED, FLOAT32, result.dims)
            part.values.append(wide)
            rounded[id(wide)] = result.dtype
            gone |= set(_read_wide(uses, result, wide, renamed))
            part.insns[at] = _widely(insn, wide)
            count += 1
    if count:
        part.insns[:] = [_renamed(i, renamed) for i in part.insns if id(i) not in gone]
        part.values[:] = [v for v in part.values if id(v) not in gone]
    return count


def _rounding(insn: Insn, kind: int, renamed: dict[int, Ref], rounded: dict[int, int]) -> Insn | None:
    """The instruction with its result rounded to a half type, if it can do that itself."""
    params = PRODUCTS.get(insn.kernel)
    activation = None if params is None else params.get(insn.ints, "activation")
    if params is not None and activation in list(Activation):
        code = int(str(activation)) + ROUNDING[kind]
        return replace(insn, ints=params.put(insn.ints, activation=code))
    source = insn.ins[0] if insn.kernel == "max_pool" and len(insn.outs) == 1 else None
    if source is not None and rounded.get(id(renamed.get(id(source), source))) == kind:
        return insn  # one of its operands, which are rounded
    return None


def _widely(insn: Insn, wide: Ref) -> Insn:
    """An elementwise instruction that writes its result, rounded to the type it had, as float32."""
    kind = insn.outs[0].dtype
    return rewritten(insn, lambda program, value: program.cast(value, kind), FLOAT32, wide)


def _renamed(insn: Insn, renamed: dict[int, Ref]) -> Insn:
    if not any(r is not None and id(r) in renamed for r in insn.ins):
        return insn
    return replace(insn, ins=tuple(None if r is None else renamed.get(id(r), r) for r in insn.ins))


def _read_wide(
    uses: ValueUses, stored: Ref, result: Ref, renamed: dict[int, Ref], makers: Sequence[Insn] = ()
) -> Iterator[int]:
    """Makes readers of a stored value read `result`, which holds the same numbers; the ids of what has become
    useless, among them `makers`."""
    left = not uses.is_inner(stored)
    for reader in uses.readers(stored):
        wide = reader.outs[0]
        if is_elementwise(reader):
            renamed[id(stored)] = result
            if _widens(reader) and uses.is_inner(wide):
                renamed[id(wide)] = result
                yield from (id(reader), id(wide))
        else:
            left = True
    if left:
        renamed.pop(id(stored), None)
    else:
        yield id(stored)
        yield from map(id, makers)


def _is_only_read_by(uses: ValueUses, ref: Ref, insn: Insn) -> bool:
    return uses.is_inner(ref) and uses.readers(ref) == [insn]


def _rounded_to(uses: ValueUses, ref: Ref) -> int:
    """The half type that all readers of a float32 value round it to; 0 when they don't."""
    readers = uses.readers(ref)
    kinds = {r.outs[0].dtype for r in readers if _rounds(r)}
    same = len(kinds) == 1 and uses.is_inner(ref) and all(_rounds(r) for r in readers)
    return kinds.pop() if same else 0


def _is_read_widened(uses: ValueUses, insn: Insn) -> bool:
    """Whether the half result of an elementwise instruction is widened by one of several readers, and
    elementwise instructions are all that read it."""
    out = insn.outs[0]
    readers = uses.readers(out)
    if out.dtype not in HALF_TYPES or len(insn.outs) > 1 or len(readers) < 2 or not uses.is_inner(out):
        return False
    if not all(map(is_elementwise, (insn, *readers))):
        return False
    wide = [r.outs[0] for r in readers if _widens(r)]
    return bool(wide) and all(uses.is_inner(w) for w in wide)


# ---- which instruction is what ---------------------------------------------------------------------


def _rounds(insn: Insn) -> bool:
    """Whether it is one value of float32 rounded to a half type, and nothing else."""
    source, target = _converts(insn)
    return source == FLOAT32 and target in HALF_TYPES


def _widens(insn: Insn) -> bool:
    """Whether it is one value of a half type widened to float32, and nothing else."""
    source, target = _converts(insn)
    return source in HALF_TYPES and target == FLOAT32


def _converts(insn: Insn) -> tuple[int, int]:
    """The types of the one value that it reads and of that which it writes, when these are one, converted;
    else (0, 0)."""
    if not is_elementwise(insn) or len(insn.ins) != 1 or len(insn.outs) != 1:
        return 0, 0
    (source,), target = input_types(insn), insn.outs[0].dtype
    return (source, target) if insn.expressions == (Cast(target, load(0)),) else (0, 0)


def _limits(insn: Insn, stored: Ref) -> bool:
    """Whether it is a limit whose bounds are numbers of the half type."""
    leaves = [stored]
    expression = in_float32(insn, {}, leaves)
    found = None if expression is None else match(expression, load(0), leaves)
    if found is None or found.alpha != 1.0 or found.addends:
        return False
    if found.activation == Activation.CLIP:
        kind = ir.DataType(stored.dtype).numpy()
        bounds = np.array([found.low, found.high])
        with np.errstate(over="ignore"):
            return bool(np.array_equal(bounds.astype(kind).astype(np.float64), bounds))
    return found.activation == Activation.RELU
