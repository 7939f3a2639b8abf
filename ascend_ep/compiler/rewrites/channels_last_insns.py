"""Instructions that can work on images with channels last, and what they become."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.half_types import HALF_TYPES
from ascend_ep.element_types import FLOAT32, INT8, INT32, UINT8
from ascend_ep.opdef.dims import Dim, static
from ascend_ep.opdef.expression import Position
from ascend_ep.plan.kernel_params import CONCAT, CONV, CONV_AXIS, CONV_LAST, PAD, QCONV, REDUCE, RESIZE
from ascend_ep.plan.plan import VIEW, WEIGHT, Insn, Ref, Weight
from ascend_ep.plan.tile_expression import reachable
from ascend_ep.runtime._rt import lib

MOST_TAPS = lib.ASC_CONV_MOST_TAPS
LEAST_SUM, WINDOW_COPIES = 16, 2  # windows with so many products a sum pay for two copies more
FARTHEST = 1 << 10  # a window or padding beyond it is left to the kernel with channels first,
FARTHEST_FLOATS = 1 << 22  # unless the pixels from its first tap to its last are no more than these
MOST_FIRST_CHANNELS = 4  # of an image that a convolution reads with channels first

BYTES = (UINT8, INT8)
#: Types of results that an image may have, where they aren't float32 alone.
TYPES = {
    "elementwise": (FLOAT32, *HALF_TYPES, *BYTES),
    "concat": (FLOAT32, *BYTES),
    "max_pool_bytes": BYTES,
    "qconv": (*BYTES, INT32),
}

T = TypeVar("T")
Refs = Mapping[int, Ref]


def first_to_last(dims: Sequence[T]) -> tuple[T, ...]:
    """[N, C, spatial..] as [N, spatial.., C]."""
    return (dims[0], *dims[2:], dims[1])


@dataclass(frozen=True, eq=False)
class ImageInsn:
    """An instruction, the positions of its inputs that are images, and how it is written with channels last.

    `rewrite` gets the instruction with its images replaced, and gives it with whatever else changes, and the
    values it needs. `worth`: how many copies of an image cost less than what it gains.
    """

    insn: Insn
    inputs: tuple[int, ...]
    image_outs: bool
    rewrite: Callable[[Insn, Insn], tuple[Insn, list[Ref]]]
    worth: int = 0

    def images(self) -> list[Ref]:
        """The values that it reads as images."""
        return [r for i in self.inputs if (r := self.insn.ins[i]) is not None]

    def outs(self) -> list[Ref]:
        """The images that it makes."""
        return list(self.insn.outs) if self.image_outs else []

    def with_last(self, ins: Refs, outs: Refs) -> tuple[Insn, list[Ref]]:
        """The instruction with its images replaced, by id, by those with channels last."""
        given = list(self.insn.ins)
        for i in self.inputs:
            ref = given[i]
            given[i] = None if ref is None else ins.get(id(ref), ref)
        made = tuple(outs.get(id(o), o) for o in self.insn.outs)
        return self.rewrite(self.insn, replace(self.insn, ins=tuple(given), outs=made))


def image_insn(insn: Insn, elementwise: Collection[str] = ()) -> ImageInsn | None:
    """How this instruction takes images with channels last, or None when it doesn't. `elementwise` names
    outputs of library calls that are functions of each element by itself."""
    types = TYPES.get(insn.kernel, (FLOAT32,))
    if any(o.dtype not in types for o in insn.outs) or not insn.outs or not 3 <= insn.outs[0].rank <= 5:
        return _reduction(insn)
    if insn.native is not None:
        return _same_shapes(insn) if insn.outs[0].name in elementwise else None
    kinds = {"conv": _convolution, "max_pool": _pooling, "average_pool": _pooling, "concat": _concat}
    kinds |= {"elementwise": _elementwise, "reduce": _reduction, "pad": _padding}
    kinds |= {"resize": _resizing, "resize_nearest": _resizing}
    kinds |= {"qconv": _integer_convolution, "max_pool_bytes": _pooling, "group_norm": _group_norm}
    return kinds[insn.kernel](insn) if insn.kernel in kinds else None


# --- convolution ------------------------------------------------------------------------------


def is_dense(insn: Insn) -> bool:
    """Whether it is a convolution that sums over channels."""
    return insn.kernel == "conv" and _channels(insn) is not None and _channels(insn) != (1, 1)


def _channels(insn: Insn) -> tuple[int, int] | None:
    """Input and output channels of a group of a convolution with constant weights."""
    w, group = insn.ins[1], CONV.get(insn.ints, "group")
    if w is None or w.weight is None or not isinstance(group, int):
        return None
    dims = [static(d) for d in w.dims]
    taps = prod(_taps(insn))
    outer, inner, *rest = (-1 if d is None else d for d in dims)
    if w.weight.layout == "panel32":
        return inner // taps, rest[0]
    return inner, outer // group


def _taps(insn: Insn) -> list[int]:
    return [int(k) for k in CONV_AXIS.each(CONV.rest(insn.ints), "kernel") if isinstance(k, int)]


def _is_transposed(insn: Insn) -> bool:
    return CONV.get(insn.ints, "transposed") != 0


def _convolution(insn: Insn) -> ImageInsn | None:
    if _channels(insn) is None or (_is_transposed(insn) and _phases(insn) is None):
        return None
    axes = CONV_AXIS.runs(CONV.rest(insn.ints))
    x = insn.ins[0]
    channels = None if x is None else static(x.dims[1])
    if prod(_taps(insn)) > MOST_TAPS or not all(_is_near(axis, channels) for axis in axes):
        return None
    worth = 1 + WINDOW_COPIES * _pays_alone(insn)
    return ImageInsn(insn, (0, 3) if len(insn.ins) > 3 else (0,), True, _conv_last, worth)


def _pays_alone(insn: Insn) -> bool:
    """Whether it is a convolution with windows whose sums are long enough to outweigh any copy, or that skips
    positions, which costs more with channels first."""
    taps, channels = prod(_taps(insn)), _channels(insn) or (0, 0)
    if _is_transposed(insn):
        return True
    strided = any(static(s) != 1 for s in CONV_AXIS.each(CONV.rest(insn.ints), "stride"))
    return channels != (1, 1) and taps > 1 and (strided or taps * channels[0] >= LEAST_SUM)


def _is_near(axis: Sequence[Dim], channels: int | None) -> bool:
    kernel, stride, dilation, pad = _sizes(axis)
    if kernel is None or stride is None or dilation is None or stride > FARTHEST:
        return False
    if channels is not None and kernel * dilation * channels <= FARTHEST_FLOATS:
        return pad is None or abs(pad) <= kernel * dilation + FARTHEST
    return kernel * dilation <= FARTHEST and (pad is None or abs(pad) <= FARTHEST)


def _sizes(axis: Sequence[Dim]) -> tuple[int | None, int | None, int | None, int | None]:
    """Kernel, stride, dilation and padding of an axis; None of what is not known."""
    kernel, stride, dilation, pad = (
        static(CONV_AXIS.get(axis, name)) for name in ("kernel", "stride", "dilation", "pad")
    )
    return kernel, stride, dilation, pad


def _phases(insn: Insn) -> list[int] | None:
    """The taps of a transposed convolution as conv_transposed_last takes them; None when it doesn't.

    Along an axis, the outputs r, r + stride.. read the taps first, first + stride.., the last one first.
    """
    found: list[list[list[int]]] = []
    for axis in CONV_AXIS.runs(CONV.rest(insn.ints)):
        kernel, stride, dilation, pad = _sizes(axis)
        if kernel is None or stride is None or pad is None or dilation != 1 or stride > kernel:
            return None
        starts = [(r + pad) % stride for r in range(stride)]
        found.append([list(range(kernel))[first::stride][::-1] for first in starts])
    if CONV.get(insn.ints, "group") != 1 or _channels(insn) == (1, 1):
        return None
    return [
        int(np.ravel_multi_index(tap, _taps(insn))) for phase in product(*found) for tap in product(*phase)
    ]


def _conv_last(old: Insn, new: Insn) -> tuple[Insn, list[Ref]]:
    w, x = old.ins[1], old.ins[0]
    assert w is not None
    assert w.weight is not None
    apart = _channels(old) == (1, 1)
    taps, group = prod(_taps(old)), int(str(CONV.get(old.ints, "group")))
    fan_in, outputs = _channels(old) or (0, 0)
    dims = (taps, group) if apart else (group, taps * fan_in, outputs)
    transposed = _is_transposed(old)
    order = tuple(_phases(old) or ()) if transposed else tuple(range(taps))
    source = _TapsFirst(w.weight, group, fan_in, order, outputs, dims)
    weights = Ref(w.name, w.dtype, dims, WEIGHT, weight=Weight(source, "plain" if apart else "panel32"))
    first = int(new.ins[0] is x)
    ints = CONV_LAST.pack(
        CONV.rest(old.ints),
        group=group,
        activation=CONV.get(old.ints, "activation"),
        channels_first=first,
    )
    ins = (new.ins[0], weights, *new.ins[2:])
    kernel = "conv_transposed_last" if transposed else "conv_last"
    return replace(new, kernel=kernel, ins=ins, ints=ints), [weights]


@dataclass(frozen=True)
class _TapsFirst:
    """The weights of a convolution, a row for each tap and input channel; read when the bundle is written."""

    weight: Weight
    group: int
    fan_in: int
    order: tuple[int, ...]  # of the taps
    outputs: int
    dims: tuple[int, ...]

    def numpy(self) -> NDArray[np.generic]:
        array: NDArray[Any] = self.weight.load()
        taps = len(self.order)
        if self.weight.layout == "panel32":
            array = array.reshape(self.group, self.fan_in, taps, self.outputs).transpose(0, 2, 1, 3)
        else:
            array = array.reshape(self.group, self.outputs, self.fan_in, taps).transpose(0, 3, 2, 1)
        if self.order != tuple(range(taps)):
            array = array[:, list(self.order)]
        if len(self.dims) == 2:  # group, tap, 1, 1
            array = array.transpose(1, 0, 2, 3)
        return np.ascontiguousarray(array).reshape(self.dims)


def is_of_integers(insn: Insn) -> bool:
    """Whether it is a convolution of integers, which takes and gives images with either order of axes."""
    return insn.kernel == "qconv"


def _integer_convolution(insn: Insn) -> ImageInsn:
    return ImageInsn(insn, (0,), True, _qconv_last, 1)


def _qconv_last(old: Insn, new: Insn) -> tuple[Insn, list[Ref]]:
    x_last, y_last = (int(a is not b) for a, b in ((old.ins[0], new.ins[0]), (old.outs[0], new.outs[0])))
    return replace(new, ints=QCONV.put(old.ints, x_last=x_last, y_last=y_last)), []


# --- the others -------------------------------------------------------------------------------


def unchanged(old: Insn, new: Insn) -> tuple[Insn, list[Ref]]:
    return new, []


def _pooling(insn: Insn) -> ImageInsn | None:
    if len(insn.outs) > 1:
        return None
    return ImageInsn(insn, (0,), True, lambda old, new: (replace(new, kernel=f"{old.kernel}_last"), []))


def _group_norm(insn: Insn) -> ImageInsn:
    return ImageInsn(insn, (0,), True, lambda old, new: (replace(new, kernel="group_norm_last"), []))


def _concat(insn: Insn) -> ImageInsn | None:
    axis, rank = CONCAT.get(insn.ints, "axis"), insn.outs[0].rank
    if not isinstance(axis, int):
        return None
    moved = first_to_last(range(rank)).index(axis)
    return ImageInsn(
        insn,
        tuple(range(len(insn.ins))),
        True,
        lambda old, new: (replace(new, ints=CONCAT.pack(axis=moved)), []),
    )


def _padding(insn: Insn) -> ImageInsn | None:
    """Where the pads aren't operands."""
    pads, rank = PAD.rest(insn.ints), insn.outs[0].rank
    if len(pads) != 2 * rank:
        return None
    moved = (*first_to_last(pads[:rank]), *first_to_last(pads[rank:]))
    ints = PAD.pack(moved, mode=PAD.get(insn.ints, "mode"))
    return ImageInsn(insn, (0,), True, lambda old, new: (replace(new, ints=ints), []))


def _resizing(insn: Insn) -> ImageInsn | None:
    axis = RESIZE.get(insn.ints, "axis")
    if not isinstance(axis, int):
        return None
    ints = RESIZE.put(insn.ints, axis=first_to_last(range(insn.outs[0].rank)).index(axis))
    return ImageInsn(insn, (0,), True, lambda old, new: (replace(new, ints=ints), []))


def _same_shapes(insn: Insn) -> ImageInsn | None:
    """Compiled code knows which axes have length 1: they must be the same ones in the other order."""
    dims = insn.outs[0].dims
    if any(r is None or r.dims != dims for r in (*insn.ins, *insn.outs)):
        return None
    ones = [static(d) == 1 for d in dims]
    if first_to_last(ones) != tuple(ones):
        return None
    return ImageInsn(insn, tuple(range(len(insn.ins))), True, unchanged)


def _counts(insn: Insn) -> bool:
    """Whether its values depend on where they lie."""
    return any(isinstance(node, Position) for node in reachable(insn.expressions))


def _elementwise(insn: Insn) -> ImageInsn | None:
    """Inputs are images of the output's shape, or lie the same with either order of axes."""
    dims = insn.outs[0].dims
    if any(o.dims != dims for o in insn.outs) or _counts(insn):
        return None
    images = []
    for i, ref in enumerate(insn.ins):
        if ref is None:
            return None
        if ref.dims == dims:
            images.append(i)
        elif ref.strides is not None or not _is_broadcast(ref, len(dims)):
            return None
    return ImageInsn(insn, tuple(images), True, _broadcast_last)


def by_channel(insn: Insn) -> bool:
    """Whether it is elementwise, of an operand that has one element for each channel."""
    rank = insn.outs[0].rank
    others = [r for r in insn.ins if insn.kernel == "elementwise" and r is not None and r.rank <= rank]
    return any(r.dims != insn.outs[0].dims and static(_aligned(r, rank)[1]) != 1 for r in others)


def _aligned(ref: Ref, rank: int) -> tuple[Dim, ...]:
    return (1,) * (rank - ref.rank) + ref.dims


def _is_broadcast(ref: Ref, rank: int) -> bool:
    dims = _aligned(ref, rank)
    return all(static(d) == 1 for d in dims[2:]) or static(dims[1]) == 1


def _broadcast_last(old: Insn, new: Insn) -> tuple[Insn, list[Ref]]:
    views: list[Ref] = []
    ins: list[Ref | None] = []
    for before, ref in zip(old.ins, new.ins, strict=True):
        if ref is None or before is not ref or ref.rank == 0:
            ins.append(ref)
            continue
        base, offset = (ref, 0) if ref.base is None else (ref.base, ref.offset)
        dims = first_to_last(_aligned(ref, old.outs[0].rank))
        views.append(Ref(ref.name, ref.dtype, dims, VIEW, base=base, offset=offset))
        ins.append(views[-1])
    unfused = old.unfused and replace(old.unfused, ins=(ins[0], *old.unfused.ins[1:]), outs=new.outs)
    return replace(new, ins=tuple(ins), unfused=unfused), views


def _reduction(insn: Insn) -> ImageInsn | None:
    """A reduction of all spatial axes, whose result has none."""
    if insn.kernel != "reduce" or insn.ins[0] is None or not 3 <= insn.ins[0].rank <= 5:
        return None
    rank = insn.ins[0].rank
    if REDUCE.rest(insn.ints) != tuple(range(2, rank)):
        return None
    ints = REDUCE.pack(range(1, rank - 1), op=REDUCE.get(insn.ints, "op"))
    keeps = insn.outs[0].rank == rank
    return ImageInsn(insn, (0,), keeps, lambda old, new: (replace(new, ints=ints), []))
