"""Convolutions with channels last in bfloat16: their weights are stored rounded, as VNNI2_32, and images
between them are bfloat16 in memory (narrow_images). Sums, biases and activations are float32 until an image
is stored. Channels apart (depthwise) keep float32 weights and products, and read and write either type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import BFLOAT16
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import CONV_AXIS, CONV_LAST
from ascend_ep.plan.plan import WEIGHT, Insn, NativePartition, Ref, Weight

from .narrow_images import narrow_images


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
        narrow_images(part)
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
