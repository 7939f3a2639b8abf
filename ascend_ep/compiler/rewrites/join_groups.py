"""Convolutions of many small groups, several groups at a time.

    conv_last(X, W [G, k C, M])     becomes     conv_last(X, W' [G / n, k n C, n M])

A vector holds the outputs of one group: of 4 it leaves 12 of 16 lanes empty. n groups are n M outputs side by
side, which read n C channels; where an output of one group meets a channel of another, the weight is zero. Up
to a vector's lanes that takes as many products as before, in fewer and longer sums. So what isn't finite in
an image also reaches the outputs of the groups joined with its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import CONV_LAST
from ascend_ep.plan.plan import WEIGHT, Insn, NativePartition, Plan, Ref, Weight
from ascend_ep.runtime._rt import lib

from .narrow_convolutions import taps_of

#: Lanes of a vector of float32 from AVX-512 on, and below.
WIDE_LANES, LANES = 16, 8


@dataclass(eq=False)
class JoinedGroups:
    """The weights [G / n, k n C, n M] of n groups at a time, from those [G, k C, M] of one."""

    weight: Weight
    taps: int  # k
    count: int  # n

    def numpy(self) -> NDArray[np.generic]:
        one = self.weight.array()
        groups, rows, outputs = one.shape
        n, channels = self.count, rows // self.taps
        one = one.reshape(groups // n, n, self.taps, channels, outputs)
        made = np.zeros((groups // n, self.taps, n, channels, n, outputs), one.dtype)
        for i in range(n):
            made[:, :, i, :, i] = one[:, i]
        return made.reshape(groups // n, self.taps * n * channels, n * outputs)


def join_groups(plan: Plan) -> int:
    """Changes the plan in place; the number of convolutions that now have fewer groups."""
    wide = lib.ASC_ISA_AVX512 <= lib.asc_isa_current() <= lib.ASC_ISA_AMX
    lanes = WIDE_LANES if wide else LANES
    made: dict[Weight, Ref] = {}  # what a partition falls back on reads the same weights
    changed = 0
    for part in plan.native_parts():
        for i, insn in enumerate(part.insns):
            count = _at_once(insn, lanes) if insn.kernel == "conv_last" else 1
            if count > 1:
                part.insns[i] = _join(part, insn, count, made)
                changed += 1
    return changed


def _at_once(insn: Insn, lanes: int) -> int:
    """How many groups fit a vector of their outputs, and divide them all."""
    w, group = insn.ins[1], CONV_LAST.get(insn.ints, "group")
    if (
        w is None
        or w.weight is None
        or w.weight.layout != "panel32"
        or w.rank != 3
        or not isinstance(group, int)
    ):
        return 1
    outputs = static(w.dims[2])
    if outputs is None:
        return 1
    return max((n for n in range(1, lanes // outputs + 1) if group % n == 0), default=1)


def _join(part: NativePartition, insn: Insn, count: int, made: dict[Weight, Ref]) -> Insn:
    x, w, *rest = insn.ins
    assert w is not None
    assert w.weight is not None
    groups, rows, outputs = (int(str(d)) for d in w.dims)
    if w.weight not in made:
        source = Weight(JoinedGroups(w.weight, taps_of(insn), count), "panel32")
        dims = (groups // count, rows * count, outputs * count)
        made[w.weight] = Ref(w.name, w.dtype, dims, WEIGHT, weight=source)
    if made[w.weight] not in part.values:
        part.values.insert(0, made[w.weight])
    return replace(insn, ins=(x, made[w.weight], *rest), ints=CONV_LAST.put(insn.ints, group=groups // count))
