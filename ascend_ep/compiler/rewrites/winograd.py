"""Convolutions of 3 x 3 in float32 by Winograd's F(2 x 2, 3 x 3): 16 products where the definition takes 36.

    conv_last(X, W [1, K 9 C, M])     becomes     conv_winograd(X, G w G^T [16, K C, M])

Volumes have K planes of such taps, whose products are summed before they are transformed back. Its rounding
errors are no larger; but what isn't finite in an image also reaches the neighbours of the outputs whose
windows it lies in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from ascend_ep.opdef.dims import static
from ascend_ep.opdef.dtypes import FLOAT32
from ascend_ep.plan.kernel_params import CONV_AXIS, CONV_LAST
from ascend_ep.plan.plan import WEIGHT, Insn, NativePartition, Plan, Ref, Weight

from .narrow_convolutions import taps_of

#: Weights transformed for outputs of 2 x 2: w [3, 3] becomes G w G^T [4, 4].
G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])

#: Fewer channels spend their time on transformations; fewer tiles, on reading 16/9 of the weights.
LEAST_CHANNELS = 32
LEAST_TILES = 12
#: Products by definition for each product here: 2.25 where tiles cover the image exactly.
LEAST_SAVING = 1.5


@dataclass(eq=False)
class Transformed:
    """[16, K C, M]: for each pair of channels the elements of G w G^T, from weights [1, K 9 C, M]."""

    weight: Weight
    channels: int  # C
    planes: int = 1  # K

    def numpy(self) -> NDArray[np.generic]:
        array = self.weight.array()
        taps = array.reshape(self.planes, 9, self.channels * array.shape[-1]).astype(np.float64)
        points = (np.kron(G, G) @ taps).astype(np.float32).swapaxes(0, 1)
        return np.ascontiguousarray(points).reshape(16, self.planes * self.channels, array.shape[-1])


def use_winograd(plan: Plan) -> int:
    """Changes the plan in place; the number of convolutions that are now computed so."""
    made: dict[Weight, Ref] = {}
    changed = 0
    for part in plan.native_parts():
        changed += _change(part, made)
    return changed


def _change(part: NativePartition, made: dict[Weight, Ref]) -> int:
    changed = 0
    for i, insn in enumerate(part.insns):
        w = insn.ins[1] if insn.kernel == "conv_last" and _pays(insn) else None
        if w is None or w.weight is None:
            continue
        if w.weight not in made:
            rows, outputs = (int(d) for d in w.dims[1:] if isinstance(d, int))
            taps = taps_of(insn)
            source = Weight(Transformed(w.weight, rows // taps, taps // 9), "panel32")
            made[w.weight] = Ref(w.name, FLOAT32, (16, rows // 9, outputs), WEIGHT, weight=source)
        if made[w.weight] not in part.values:
            part.values.append(made[w.weight])
        part.insns[i] = replace(
            insn, kernel="conv_winograd", ins=(insn.ins[0], made[w.weight], *insn.ins[2:])
        )
        changed += 1
    return changed


def _pays(insn: Insn) -> bool:
    """Whether it is a convolution that `conv_winograd` computes, and faster."""
    x, w, y = insn.ins[0], insn.ins[1], insn.outs[0]
    axes = CONV_LAST.rest(insn.ints)
    window = [CONV_AXIS.each(axes, name)[-2:] for name in ("kernel", "stride", "dilation")]  # of a plane
    if x is None or w is None or w.weight is None or w.weight.layout != "panel32":
        return False
    if window != [(3, 3), (1, 1), (1, 1)]:
        return False
    if CONV_LAST.get(insn.ints, "group") != 1 or CONV_LAST.get(insn.ints, "channels_first"):
        return False
    if {x.dtype, w.dtype, y.dtype} != {FLOAT32}:
        return False
    channels = [static(x.dims[-1]), static(y.dims[-1])]
    if any(n is None or n < LEAST_CHANNELS for n in channels):
        return False
    height, width = (static(d) for d in y.dims[-3:-1])
    planes = [static(d) for d in y.dims[1:-3]]
    if height is None or width is None or None in planes:
        return True
    tiles = -(-height // 2) * -(-width // 2)
    enough = tiles * prod(n for n in planes if n is not None) >= LEAST_TILES
    return enough and 9 * height * width >= LEAST_SAVING * 16 * tiles
