"""Parts of an image, as slices are, where its channels lie last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_ep.opdef.dims import Dim, static
from ascend_ep.plan.plan import Ref, contiguous_strides

from .channels_last_insns import first_to_last


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
    free = list(range(image.rank))
    own = contiguous_strides(view.dims) if view.strides is None else view.strides
    for dim, stride in zip(view.dims, map(static, own), strict=True):
        if static(dim) == 1:
            strides.append(1)
            continue
        axes = [a for a in free if stride and _runs_along(dim, stride, image.dims[a], first[a], begins[a])]
        if not axes or not stride:
            return None
        free.remove(axes[0])
        strides.append(stride // first[axes[0]] * lasts[axes[0]])
    return Place(sum(begin * lasts[axis] for axis, begin in enumerate(begins)), tuple(strides))


def _known(strides: Sequence[Dim]) -> list[int] | None:
    """As numbers that can be divided by; an image without elements has none."""
    found = [static(s) for s in strides]
    return None if any(not s for s in found) else [s for s in found if s]


def _runs_along(dim: Dim, stride: int, size: Dim, step: int, begin: int) -> bool:
    """Whether an axis of `dim` elements `stride` apart stays within the image's axis from `begin` on."""
    if stride % step:
        return False
    length, most = static(dim), static(size)
    if length is None or most is None:
        return dim == size and stride == step and begin == 0
    return begin + (length - 1) * (stride // step) < most
