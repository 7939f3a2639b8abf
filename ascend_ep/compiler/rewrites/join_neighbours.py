"""Convolutions of few outputs, several neighbours of a line at a time.

    conv_last(X, W [1, K k C, M]), stride s
    becomes  conv_last(X, W' [1, K (k + (n - 1) s) C, n M]), stride n s

A vector holds the outputs of one position: one with 3 outputs leaves 13 of 16 lanes empty. n neighbours of a
line are n M outputs in the same memory, whose windows are parts of one wider window; what a neighbour doesn't
see has weights of zero. So what isn't finite in an image also reaches the neighbours of the outputs whose
windows it lies in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import prod

import numpy as np
from numpy.typing import NDArray

from ascend_ep.opdef.dims import Dim, static
from ascend_ep.plan.kernel_params import CONV_AXIS, CONV_LAST
from ascend_ep.plan.plan import TEMP, VIEW, WEIGHT, Insn, NativePartition, Plan, Ref, Weight

from .channels_last_insns import MOST_TAPS

#: Lanes of the widest vector, and outputs of the tile that holds most sums.
LANES, MOST_OUTPUTS = 16, 32
#: Time before over the time after: a wider window also starts and ends beyond the image more often.
LEAST_GAIN = 1.3


@dataclass(eq=False)
class Joined:
    """The weights [1, K (k + (count - 1) stride) C, count M] of `count` neighbours, from those [1, K k C, M]
    of one."""

    weight: Weight
    taps: int  # k
    rows: int  # K
    stride: int
    count: int

    def numpy(self) -> NDArray[np.generic]:
        one = self.weight.array()
        outputs = one.shape[-1]
        one = one.reshape(self.rows, self.taps, -1, outputs)
        channels = one.shape[2]
        taps = self.taps + (self.count - 1) * self.stride
        made = np.zeros((self.rows, taps, channels, self.count, outputs), one.dtype)
        for i in range(self.count):
            made[:, i * self.stride : i * self.stride + self.taps, :, i] = one
        return made.reshape(1, self.rows * taps * channels, self.count * outputs)


def join_neighbours(plan: Plan) -> int:
    """Changes the plan in place; the number of convolutions that now make several positions at once."""
    changed = 0
    for part in plan.native_parts():
        for i, insn in enumerate(part.insns):
            count = _neighbours(insn) if insn.kernel == "conv_last" else 1
            if count > 1:
                part.insns[i] = _join(part, insn, count)
                changed += 1
        part.values.sort(key=lambda v: v.kind == VIEW)  # each behind its base
    return changed


def _neighbours(insn: Insn) -> int:
    """How many to make at once; 1: it is best as it is, or can't be otherwise."""
    w, y = insn.ins[1], insn.outs[0]
    bias, residual = (*insn.ins[2:], None, None)[:2]
    if (
        w is None
        or w.weight is None
        or w.rank != 3
        or CONV_LAST.get(insn.ints, "group") != 1
        or y.kind != TEMP
    ):
        return 1
    if (bias is not None and bias.weight is None) or (residual is not None and residual.strides is not None):
        return 1
    width, outputs = static(y.dims[-2]), static(y.dims[-1])
    *rows, line = CONV_AXIS.runs(CONV_LAST.rest(insn.ints))
    taps, stride, dilation = (static(CONV_AXIS.get(line, name)) for name in ("kernel", "stride", "dilation"))
    if width is None or outputs is None or taps is None or stride is None or dilation != 1:
        return 1
    others = _taps(rows)

    def cost(count: int) -> float:
        """Products of vectors for each output, its lanes that are empty included."""
        return (taps + (count - 1) * stride) * -(-count * outputs // LANES) / count

    able = [
        n
        for n in range(1, MOST_OUTPUTS // outputs + 1)
        if width % n == 0 and others * (taps + (n - 1) * stride) <= MOST_TAPS
    ]
    best = min(able, key=cost, default=1)
    return best if cost(1) >= LEAST_GAIN * cost(best) else 1


def _taps(axes: Sequence[Sequence[Dim]]) -> int:
    return prod(int(k) for axis in axes if isinstance(k := CONV_AXIS.get(axis, "kernel"), int))


def _join(part: NativePartition, insn: Insn, count: int) -> Insn:
    x, w, *rest = insn.ins
    bias, residual = (*rest, None, None)[:2]
    assert w is not None
    assert w.weight is not None
    *rows, line = CONV_AXIS.runs(CONV_LAST.rest(insn.ints))
    taps, stride = CONV_AXIS.get(line, "kernel"), CONV_AXIS.get(line, "stride")
    assert isinstance(taps, int)
    assert isinstance(stride, int)
    others = _taps(rows)
    wider = taps + (count - 1) * stride
    source = Joined(w.weight, taps, others, stride, count)
    old_rows, outputs = (int(str(d)) for d in w.dims[1:])
    dims = (1, old_rows // taps * wider, outputs * count)
    weights = Ref(w.name, w.dtype, dims, WEIGHT, weight=Weight(source, w.weight.layout))
    ins: list[Ref | None] = [x, weights]
    if rest:
        ins.append(None if bias is None else _repeated(bias, count))
    if residual is not None:
        ins.append(_joined_view(residual, count))
    part.values += [ref for ref in ins[1:] if ref is not None]
    made = _widen(part, insn.outs[0], count)
    line = CONV_AXIS.put(line, kernel=wider, stride=stride * count)
    ints = (*CONV_LAST.head(insn.ints), *chain.from_iterable([*rows, line]))
    return replace(insn, ins=tuple(ins), outs=(made,), ints=ints)


def _repeated(bias: Ref, count: int) -> Ref:
    assert bias.weight is not None
    values = np.tile(bias.weight.array().reshape(-1), count)
    return Ref(bias.name, bias.dtype, values.shape, WEIGHT, weight=Weight(values))


def _joined_dims(ref: Ref, count: int) -> tuple[Dim, ...]:
    return (*ref.dims[:-2], ref.dims[-2] // count, ref.dims[-1] * count)


def _joined_view(ref: Ref, count: int) -> Ref:
    base, offset = (ref, 0) if ref.base is None else (ref.base, ref.offset)
    return Ref(ref.name, ref.dtype, _joined_dims(ref, count), VIEW, base, offset, last=ref.last * count)


def _widen(part: NativePartition, y: Ref, count: int) -> Ref:
    """A value in the place of y, which becomes a view of it."""
    made = Ref(y.name, y.dtype, _joined_dims(y, count), last=y.last * count)
    part.values.append(made)
    for view in part.values:
        if view.base is y:
            view.base = made
    y.kind, y.base = VIEW, made
    return made
