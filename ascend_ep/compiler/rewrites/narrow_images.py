"""Images between convolutions in bfloat16: what makes them writes it, and whatever reads them reads it.

Pooling, group normalisation, copies, concatenations and elementwise instructions may stand between them.
An elementwise one reads bfloat16 only where its result is, too: what leaves the convolutions is no rounded
image.
"""

from __future__ import annotations

from collections.abc import Iterator

from ascend_ep.compiler.lower.matmul import Activation
from ascend_ep.element_types import BFLOAT16, FLOAT32
from ascend_ep.plan.kernel_params import CONV_LAST
from ascend_ep.plan.plan import TEMP, Insn, NativePartition, Ref
from ascend_ep.plan.value_uses import ValueUses, memory_of

from .elementwise_insns import in_bfloat16, is_elementwise

#: Kernels that read and write either type, each by itself.
EITHER = ("average_pool_last", "group_norm_last")
#: Kernels that take elements of any type as they are, from their first operand; concat from all.
MOVES = ("max_pool_last", "copy", "concat", "pad", "slice", "resize_nearest")


def narrow_images(part: NativePartition) -> None:
    """Changes the partition in place."""
    uses = ValueUses.of(part)
    alike = {id(v): [v, *uses.views(v)] for v in part.values if v.kind == TEMP and not uses.leaves(v)}
    narrow = {key: refs for key, refs in alike.items() if all(r.dtype == FLOAT32 for r in refs)}
    rounded = {id(i.outs[0]): made for i in part.insns if is_elementwise(i) and (made := in_bfloat16(i))}
    written = {id(out) for i in part.insns for out in i.outs if _writes(i) or id(out) in rounded}
    wide = {id(memory_of(ref)) for insn in part.insns for ref in _wide(insn)}
    for key in [key for key in narrow if key not in written or key in wide]:
        del narrow[key]
    before = -1
    while before != len(narrow):
        before = len(narrow)
        for insn in part.insns:
            for needed, ref in _needs(insn):
                if id(memory_of(needed)) not in narrow:
                    narrow.pop(id(memory_of(ref)), None)
    for ref in (ref for refs in narrow.values() for ref in refs):
        ref.dtype = BFLOAT16
    for i, insn in enumerate(part.insns):
        if insn.outs and id(insn.outs[0]) in narrow and id(insn.outs[0]) in rounded:
            part.insns[i] = rounded[id(insn.outs[0])]


def _writes(insn: Insn) -> bool:
    """Whether its result may be bfloat16; of elementwise instructions others know."""
    if insn.kernel == "conv_last":
        return CONV_LAST.get(insn.ints, "activation") in [*Activation]
    return insn.native is None and insn.kernel in (*MOVES, *EITHER)


def _wide(insn: Insn) -> list[Ref]:
    """The inputs that have to be float32."""
    reads: tuple[int, ...] = ()
    if insn.kernel == "conv_last":
        w = insn.ins[1]
        last = not CONV_LAST.get(insn.ints, "channels_first")
        reads = (0, 3) if last and w is not None and (w.dtype == BFLOAT16 or w.rank == 2) else (3,)
    elif is_elementwise(insn) or (insn.kernel == "concat" and insn.native is None):
        reads = tuple(range(len(insn.ins)))
    elif _writes(insn):
        reads = (0,)
    return [ref for i, ref in enumerate(insn.ins) if ref is not None and i not in reads]


def _needs(insn: Insn) -> Iterator[tuple[Ref, Ref]]:
    """Values without which others can't be bfloat16."""
    pairs = [(out, ref) for ref in insn.ins if ref is not None for out in insn.outs]
    if insn.kernel == "conv_last":
        pairs = [(out, ref) for out, ref in pairs if ref in insn.ins[3:]]
    if is_elementwise(insn) or insn.kernel == "conv_last" or insn.kernel in MOVES:
        yield from pairs
    if insn.kernel == "conv_last" or insn.kernel in MOVES:
        yield from ((ref, out) for out, ref in pairs if ref.dtype == FLOAT32)
