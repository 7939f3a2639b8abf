"""Parts of an image, as slices are, where its channels lie last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from ascend_ep.opdef.dims import Dim, static
from ascend_ep.plan.plan import TEMP, VIEW, Insn, NativePartition, Ref, contiguous_strides
from ascend_ep.plan.value_uses import ValueUses

from .channels_last_insns import ImageInsn, Refs, first_to_last, unchanged


@dataclass(frozen=True)
class Place:
    """Of a view: offset and strides, in elements."""

    offset: int
    strides: tuple[Dim, ...]


def places_last(view: Ref, image: Ref) -> Place | None:
    """Where a view's elements, in their order, lie in the image [N, spatial.., C]; None where an axis of it
    is none of the image, or a size isn't known. The number of images need not be."""
    first = _known(contiguous_strides(image.dims))
    last = _known(contiguous_strides(first_to_last(image.dims)))
    rest = static(view.offset)
    if first is None or last is None or rest is None:
        return None
    begins: list[int] = []
    for step in first:
        begin, rest = divmod(rest, step)
        begins.append(begin)
    lasts = dict(zip(first_to_last(range(image.rank)), last, strict=True))
    strides: list[Dim] = []
    reach = list(begins)  # the last place along each axis of the image
    own = contiguous_strides(view.dims) if view.strides is None else view.strides
    for dim, stride in zip(view.dims, map(static, own), strict=True):
        if static(dim) == 1:
            strides.append(1)
            continue
        found = range(image.rank) if stride else ()
        axis = next((a for a in found if _runs_along(dim, stride, image.dims[a], first[a], reach[a])), None)
        if axis is None or not stride:
            return None
        steps = stride // first[axis]
        reach[axis] += ((static(dim) or 1) - 1) * steps
        strides.append(steps * lasts[axis])
    return Place(sum(begin * lasts[axis] for axis, begin in enumerate(begins)), tuple(strides))


def _known(strides: Sequence[Dim]) -> list[int] | None:
    """As numbers that can be divided by; an image without elements has none."""
    found = [static(s) for s in strides]
    return None if any(not s for s in found) else [s for s in found if s]


def _runs_along(dim: Dim, stride: int | None, size: Dim, step: int, begin: int) -> bool:
    """Whether an axis of `dim` elements `stride` apart stays within the image's axis from `begin` on."""
    if not stride or stride % step:
        return False
    length, most = static(dim), static(size)
    if length is None or most is None:
        return dim == size and stride == step and begin == 0
    return begin + (length - 1) * (stride // step) < most


def flatten_copies(part: NativePartition) -> None:
    """Gives the result of a copy the axes of the image that it is read as, [N, C, spatial..], where it has
    its channels in groups, [N, groups.., spatial..], as one that shuffles channels."""
    uses = ValueUses.of(part)
    for insn in [i for i in part.insns if i.kernel == "copy"]:
        out = insn.outs[0]
        whole = [v for v in uses.views(out) if v.strides is None and v.rank in (3, 4) and v.rank < out.rank]
        whole = [v for v in whole if v.dims[0] == out.dims[0] and v.dims[2:] == out.dims[2 - v.rank :]]
        if out.kind != TEMP or out in (r for i in part.insns for r in i.ins) or not whole:
            continue
        if not _has_as_many(whole[0], out):
            continue
        out.dims = whole[0].dims
        alike = {id(v) for v in whole if v.dims == out.dims}
        for i, reader in enumerate(part.insns):
            if any(id(r) in alike for r in reader.ins):
                ins = tuple(out if id(r) in alike else r for r in reader.ins)
                part.insns[i] = replace(reader, ins=ins, unfused=None)


def _has_as_many(view: Ref, out: Ref) -> bool:
    """Whether the channels of a view are the groups of `out`, in their order."""
    groups = [static(d) for d in out.dims[1 : 2 - view.rank]]
    return static(view.offset) == 0 and None not in groups and prod(d or 0 for d in groups) == view.dims[1]


@dataclass(frozen=True, eq=False)
class ChannelCopy(ImageInsn):
    """A copy of some channels of an image, in whatever order: the image is what its operand is a view of."""

    image: Ref | None = None
    place: Place = Place(0, ())

    def images(self) -> list[Ref]:
        return [] if self.image is None else [self.image]

    def with_last(self, ins: Refs, outs: Refs) -> tuple[Insn, list[Ref]]:
        seen, out = self.insn.ins[0], self.insn.outs[0]
        assert seen is not None
        rank, axes = out.rank - 2, range(seen.rank)
        order = [0, *axes[-rank:], *axes[1:-rank]]
        strides = tuple(self.place.strides[i] for i in order)
        dims = tuple(seen.dims[i] for i in order)
        (last,) = (ins[id(image)] for image in self.images())
        view = Ref(seen.name, seen.dtype, dims, VIEW, last, self.place.offset, strides)
        return replace(self.insn, ins=(view,), outs=(outs.get(id(out), out),)), [view]


def channel_copy(insn: Insn) -> ChannelCopy | None:
    """A copy as such, or None where it moves more than channels."""
    seen, out = insn.ins[0], insn.outs[0]
    image = None if seen is None else seen.base
    if seen is None or image is None or image.rank != out.rank or image.kind != TEMP:
        return None
    spatial = out.rank - 2
    steps = contiguous_strides(seen.dims) if seen.strides is None else seen.strides
    same = steps[-spatial:] == contiguous_strides(image.dims)[-spatial:] and seen.dims[0] == image.dims[0]
    if not same or not seen.dims[-spatial:] == image.dims[-spatial:] == out.dims[-spatial:]:
        return None
    place = places_last(seen, image) if seen.dims[0] == out.dims[0] else None
    return None if place is None else ChannelCopy(insn, (), True, unchanged, image=image, place=place)
