"""The sum of two 8-bit images within the convolution that makes one of them.

    a = qconv(x), y = byte_binary(a, b)     becomes     y = qconv(x, .., b)

when nothing else reads a. The convolution does in registers what it would do before it stores a, and then
what byte_binary does: the bits are the same. It runs where the sum was, behind what makes b; of two
convolutions it is the later one. With channels first, of channels apart, and of so few that lanes of its
vectors are idle, it takes none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import BYTE_BINARY, BYTE_BINARY_FLOATS, QCONV
from ascend_ep.plan.plan import Insn, NativePartition, Ref, joining
from ascend_ep.plan.value_uses import ValueUses
from ascend_ep.runtime._rt import lib

from .byte_binary import RANGES

#: Channels that the kernel makes at once, and the share of them from which on what is added is worth it.
STRIP, LEAST_SHARE = 32, 0.8
#: Where a convolution has the zero point of its result, and the image that is added to it.
ZERO, ADDEND = 9, 10


def sum_in_convolutions(part: NativePartition) -> int:
    """Changes the partition in place; the number of sums that are gone."""
    uses = ValueUses.of(part)
    before = len(part.insns)
    for insn in [i for i in part.insns if i.kernel == "byte_binary"]:
        place = {id(other): at for at, other in enumerate(part.insns)}
        makers = [(side, maker) for side in (0, 1) if (maker := _maker(insn, side, uses)) is not None]
        if not makers:
            continue
        side, maker = max(makers, key=lambda found: place[id(found[1])])
        uses.put(part, insn, joining(_with_sum(maker, insn, side), [maker, insn]))
        uses.drop(part, maker)
        part.values.remove(maker.outs[0])
    return before - len(part.insns)


def _maker(insn: Insn, side: int, uses: ValueUses) -> Insn | None:
    """The convolution that makes one side of a sum, when it can add the other."""
    value, other = insn.ins[side], insn.ins[1 - side]
    if BYTE_BINARY.get(insn.ints, "op") != lib.ASC_BYTE_BINARY_ADD or value is None or value is other:
        return None
    maker = uses.maker(value)
    if maker is None or maker.kernel != "qconv" or len(maker.ins) > ADDEND or not _is_image(other, value):
        return None
    if not uses.is_inner(value) or len(uses.memory_readers(value)) > 1:
        return None
    weights = maker.ins[1]
    if QCONV.get(maker.ints, "y_last") != 1 or weights is None or weights.weight is None:
        return None
    if weights.weight.layout == "plain" or _zero(maker) != _zeros(insn)[side]:
        return None
    outputs = static(weights.dims[-1]) or 0  # of a group
    return maker if outputs >= LEAST_SHARE * (-(-outputs // STRIP) * STRIP) > 0 else None


def _is_image(ref: Ref | None, like: Ref) -> bool:
    return ref is not None and ref.dtype == like.dtype and ref.dims == like.dims and like.dtype in RANGES


def _zero(maker: Insn) -> int | None:
    """The zero point of a convolution's result, when it is a constant."""
    ref = maker.ins[ZERO] if len(maker.ins) > ZERO else None
    if ref is None:
        return 0
    return None if ref.weight is None else int(np.ravel(ref.weight.load())[0])


def _zeros(insn: Insn) -> tuple[int, int]:
    a, b = (BYTE_BINARY.get(insn.ints, name) for name in ("a_zero", "b_zero"))
    assert isinstance(a, int)
    assert isinstance(b, int)
    return a, b


def _with_sum(maker: Insn, insn: Insn, side: int) -> Insn:
    """`maker` with the image of the other side; the convolution is the sum's first operand."""
    ints, floats = insn.ints, insn.floats
    if side:
        a_zero, b_zero = _zeros(insn)
        a_scale, b_scale = (BYTE_BINARY_FLOATS.get(floats, name) for name in ("a_scale", "b_scale"))
        ints = BYTE_BINARY.put(ints, a_zero=b_zero, b_zero=a_zero)
        floats = BYTE_BINARY_FLOATS.put(floats, a_scale=b_scale, b_scale=a_scale)
    absent = (None,) * (ADDEND - len(maker.ins))
    ins = (*maker.ins, *absent, insn.ins[1 - side])
    return replace(maker, ins=ins, outs=insn.outs, ints=(*maker.ints, *ints), floats=(*maker.floats, *floats))
