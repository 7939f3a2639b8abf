"""Activations that only products in bfloat16 read are stored as they read them: rounded by whatever writes
them, instead of by each product that packs them. The same bits, in half the memory.

    rms_norm -> x: float32   matmul(x, pairs)     becomes     rms_norm -> x: bfloat16   matmul(x, pairs)

What anything else sees stays float32: outputs of the partition, residuals, left operands of other products.
The result of a product stays float32, too, because its epilogue writes nothing else; unless it is gated.
"""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.opdef.dims import static
from ascend_ep.opdef.dtypes import BFLOAT16, FLOAT32
from ascend_ep.plan.kernel_params import MATMUL, is_gated
from ascend_ep.plan.plan import TEMP, Insn, NativePartition, Plan, Ref
from ascend_ep.plan.value_uses import ValueUses

from .elementwise_insns import in_bfloat16, is_elementwise

#: Kernels whose first result may be bfloat16.
WRITERS = frozenset({"rms_norm", "layer_norm", "swiglu", "attention", "attention_append"})


def narrow_activations(plan: Plan) -> int:
    """Changes the plan in place; the number of values that are bfloat16 now."""
    changed = 0
    for part in plan.native_parts():
        changed += _narrow(part)
    return changed


def _narrow(part: NativePartition) -> int:
    uses = ValueUses.of(part)
    changed = 0
    for at, insn in enumerate(part.insns):
        if not insn.outs or insn.native is not None:
            continue
        alike = [insn.outs[0], *uses.views(insn.outs[0])]  # one memory, one type
        if not uses.leaves(insn.outs[0]) and _is_for_products(alike, uses):
            made = _written_narrow(insn)
            if made is not None:
                part.insns[at] = made
                for ref in alike:
                    ref.dtype = BFLOAT16
                changed += 1
    return changed


def _is_for_products(alike: Sequence[Ref], uses: ValueUses) -> bool:
    """Whether a temporary of float32, by whatever view, is nothing but left operands of bfloat16 products."""
    value = alike[0]
    if value.kind != TEMP or value.dtype != FLOAT32 or any(v.dtype != FLOAT32 for v in alike):
        return False
    read = [(ref, insn) for ref in alike for insn in uses.readers(ref)]
    return bool(read) and all(_is_left_of_vnni2(ref, insn) for ref, insn in read)


def _is_left_of_vnni2(ref: Ref, insn: Insn) -> bool:
    """Whether all that the instruction does with `ref` is to multiply its rows, of neighbouring pairs."""
    left, right = insn.ins[:2] if insn.kernel == "matmul" else (None, None)
    if left is not ref or right is None or any(r is ref for r in insn.ins[1:]):
        return False
    if not _reads_vnni2(insn) or MATMUL.get(insn.ints, "trans_a"):
        return False
    columns = static(ref.dims[-1]) if ref.dims else None
    return columns is not None and columns % 2 == 0 and ref.strides is None and ref.offset == 0


def _reads_vnni2(product: Insn) -> bool:
    right = product.ins[1]
    return right is not None and right.weight is not None and right.weight.layout == "vnni2_32"


def _written_narrow(insn: Insn) -> Insn | None:
    """The instruction with its first result in bfloat16; None where its kernel can't write that."""
    if is_elementwise(insn):
        return in_bfloat16(insn)
    gated = insn.kernel == "matmul" and is_gated(insn.ints) and _reads_vnni2(insn)
    return insn if gated or insn.kernel in WRITERS else None
