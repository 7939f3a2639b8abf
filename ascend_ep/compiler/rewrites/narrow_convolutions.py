"""Convolutions with channels last in bfloat16: their weights are stored rounded, as VNNI2_32, and the images
between them are bfloat16 in memory. Sums, biases and activations are float32 until an image is stored.

Channels apart (depthwise) keep float32 weights and products; they, pooling and concatenation read and write
images of either type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.lower.matmul import Activation
from ascend_ep.element_types import BFLOAT16, FLOAT32
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import CONV_AXIS, CONV_LAST
from ascend_ep.plan.plan import WEIGHT, Insn, NativePartition, Ref, Weight
from ascend_ep.plan.value_uses import ValueUses


def narrow_convolutions(
    part: NativePartition, chosen: Callable[[str, str], bool] = lambda names, operators: True
) -> int:
    """Changes the partition in place; the number of convolutions that are now computed in bfloat16: `chosen`
    says of an instruction's node names and operators whether it may be."""
    changed = 0
    for i, insn in enumerate(part.insns):
        made = _in_vnni2(insn) if insn.kernel == "conv_last" and chosen(insn.name, insn.op_type) else None
        if made is not None and made.ins[1] is not None:
            part.values.append(made.ins[1])
            part.insns[i] = made
            changed += 1
    if changed:
        for ref in _narrow_images(part):
            ref.dtype = BFLOAT16
    return changed


# --- weights ----------------------------------------------------------------------------------


def taps_of(insn: Insn) -> int:
    """How many taps a convolution with channels last has."""
    return prod(int(k) for k in CONV_AXIS.each(CONV_LAST.rest(insn.ints), "kernel") if isinstance(k, int))


def _in_vnni2(insn: Insn) -> Insn | None:
    """The convolution with its weights as VNNI2_32; None when they can't be."""
    x, w = insn.ins[:2]
    group = CONV_LAST.get(insn.ints, "group")
    if (
        x is None
        or w is None
        or w.weight is None
        or w.weight.layout != "panel32"
        or not isinstance(group, int)
    ):
        return None
    groups, rows, outputs = (static(d) for d in w.dims)
    taps = taps_of(insn)
    if groups is None or rows is None or outputs is None or (groups > 1 and rows // taps % 2):
        return None
    channels = rows // taps
    source = _EvenChannels(w.weight, (groups, taps, channels, outputs))
    dims = (groups, taps * (channels + channels % 2), outputs)
    rounded = Ref(w.name, BFLOAT16, dims, WEIGHT, weight=Weight(source, "vnni2_32"))
    return replace(insn, ins=(x, rounded, *insn.ins[2:]))


@dataclass(frozen=True)
class _EvenChannels:
    """Weights [group, taps, channels, outputs] with a channel of zeros where they are odd, as matrices."""

    weight: Weight
    dims: tuple[int, int, int, int]

    def numpy(self) -> NDArray[np.generic]:
        array: NDArray[Any] = self.weight.load()
        groups, taps, channels, outputs = self.dims
        if channels % 2:
            array = np.pad(array.reshape(self.dims), [(0, 0), (0, 0), (0, 1), (0, 0)])
        return array.reshape(groups, taps * (channels + channels % 2), outputs)


# --- images -----------------------------------------------------------------------------------


def _narrow_images(part: NativePartition) -> list[Ref]:
    """The values that can be bfloat16: what makes them writes it, and whatever reads them reads it."""
    uses = ValueUses.of(part)
    written = {id(ref) for insn in part.insns for ref in _written(insn)}
    wide = {id(ref) for insn in part.insns for ref in _wide(insn)}
    narrow = {
        id(v): v
        for v in part.values
        if v.dtype == FLOAT32 and uses.is_inner(v) and id(v) in written and id(v) not in wide
    }
    before = -1
    while before != len(narrow):
        before = len(narrow)
        for insn in part.insns:
            for alike in _alike(insn):
                if any(id(ref) not in narrow for ref in alike):
                    for ref in alike:
                        narrow.pop(id(ref), None)
    return list(narrow.values())


def _written(insn: Insn) -> tuple[Ref, ...]:
    """The outputs that may be bfloat16."""
    if insn.kernel == "conv_last":
        rounds = CONV_LAST.get(insn.ints, "activation") not in [*Activation]
        return () if rounds else insn.outs
    return insn.outs if insn.kernel in ("max_pool_last", "average_pool_last", "concat") else ()


def _wide(insn: Insn) -> list[Ref]:
    """The inputs that have to be float32."""
    ins = [ref for ref in insn.ins if ref is not None]
    if insn.kernel == "conv_last":
        w = insn.ins[1]
        last = not CONV_LAST.get(insn.ints, "channels_first")
        reads = last and w is not None and (w.dtype == BFLOAT16 or w.rank == 2)
        return [
            ref for i, ref in enumerate(insn.ins) if ref is not None and i not in ((0, 3) if reads else (3,))
        ]
    return [] if insn.kernel in ("max_pool_last", "average_pool_last", "concat") else ins


def _alike(insn: Insn) -> Iterator[list[Ref]]:
    """Values that are bfloat16 together or not at all."""
    ins = [ref for ref in insn.ins if ref is not None]
    if insn.kernel == "conv_last" and len(insn.ins) > 3 and insn.ins[3] is not None:
        yield [insn.ins[3], *insn.outs]
    elif insn.kernel in ("max_pool_last", "concat"):
        yield [*ins, *insn.outs]
