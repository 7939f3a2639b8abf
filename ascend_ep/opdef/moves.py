"""Nodes that put elements elsewhere: the shapes they give, and what they do with arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.opdef.dims import Dim, floordiv, max_, min_
from ascend_ep.opdef.expression import AddAt, Chunk, Concat, Slice, Take, Transpose, Windows
from ascend_ep.opdef.shape_rule import Inapplicable

Move = Transpose | Slice | Chunk | Windows | Concat | Take | AddAt
Shape = tuple[Dim, ...]


def single_axis(axis: object, rank: int) -> int:
    """An axis of a specialized node, from the front. Raises Inapplicable."""
    assert isinstance(axis, int), "a specialized program has no attributes"
    if not -rank <= axis < rank:
        raise Inapplicable(f"axis {axis} is outside a tensor of rank {rank}")
    return axis % rank


def moved_shape(node: Move, shapes: Sequence[Shape]) -> Shape:
    """The shape of the result for operands of these shapes. Raises Inapplicable."""
    shape = shapes[0]
    if isinstance(node, Transpose):
        first, second = (single_axis(a, len(shape)) for a in (node.first, node.second))
        dims = list(shape)
        dims[first], dims[second] = dims[second], dims[first]
        return tuple(dims)
    if isinstance(node, AddAt):
        return _added_shape(node, shapes)
    axis = single_axis(node.axis, len(shape))
    before, length, after = shape[:axis], shape[axis], shape[axis + 1 :]
    if isinstance(node, Slice | Chunk):
        start, stop = part_limits(node, length)
        step = node.step if isinstance(node, Slice) else 1
        return (*before, max_(floordiv(stop - start + (step - 1), step), 0), *after)
    if isinstance(node, Windows):
        return (*before, window_count(node, length), *after, node.size)
    if isinstance(node, Take):
        return (*before, *shapes[1], *after)
    total: Dim = 0
    for other in shapes:
        rest = (*other[:axis], *other[axis + 1 :])
        if len(other) != len(shape) or any(
            _differ(a, b) for a, b in zip(rest, (*before, *after), strict=False)
        ):
            raise Inapplicable(f"tensors of {list(shape)} and {list(other)} don't join along axis {axis}")
        total = total + other[axis]
    return (*before, total, *after)


def _added_shape(node: AddAt, shapes: Sequence[Shape]) -> Shape:
    """That of `like`, for slices of its shape."""
    shape, indices, like = shapes
    axis = single_axis(node.axis, len(like))
    expected = (*like[:axis], *indices, *like[axis + 1 :])
    if len(shape) != len(expected) or any(map(_differ, shape, expected)):
        raise Inapplicable(f"slices of {list(shape)} don't fit {list(like)} at indices of {list(indices)}")
    return like


def _differ(a: Dim, b: Dim) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a != b


def part_limits(node: Slice | Chunk, length: Dim) -> tuple[Dim, Dim]:
    """The first element and the one behind the last, of an axis of this length."""
    if isinstance(node, Chunk):
        size = floordiv(length + (node.count - 1), node.count)
        return min_(size * node.index, length), min_(size * (node.index + 1), length)
    start, stop = (_from_front(p, length) for p in (node.start, node.stop))
    return start, stop


def _from_front(place: int | None, length: Dim) -> Dim:
    if place is None:
        return length
    return min_(place, length) if place >= 0 else max_(length + place, 0)


def window_count(node: Windows, length: Dim) -> Dim:
    """How many windows an axis has. Raises Inapplicable when it is shorter than one."""
    room = length + (node.before + node.after - node.dilation * (node.size - 1) - 1)
    if isinstance(room, int) and room < 0:
        raise Inapplicable(f"an axis of {length} elements has no window of {node.size}")
    return floordiv(room, node.stride) + 1


def moved(node: Move, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The elements of arrays where the node puts them. Raises Inapplicable."""
    moved_shape(node, [a.shape for a in arrays])
    array = arrays[0]
    if isinstance(node, Transpose):
        first, second = (single_axis(a, array.ndim) for a in (node.first, node.second))
        return np.swapaxes(array, first, second)
    if isinstance(node, AddAt):
        return _added(array, arrays[1], arrays[2].shape, single_axis(node.axis, arrays[2].ndim))
    axis = single_axis(node.axis, array.ndim)
    if isinstance(node, Concat):
        return np.concatenate(arrays, axis)
    if isinstance(node, Take):
        return _taken(array, arrays[1], axis)
    at: list[Any] = [slice(None)] * array.ndim
    if isinstance(node, Windows):
        pads = [(node.before, node.after) if i == axis else (0, 0) for i in range(array.ndim)]
        padded = np.pad(array, pads, constant_values=node.fill)
        span = node.dilation * (node.size - 1) + 1
        windows = np.lib.stride_tricks.sliding_window_view(padded, span, axis)
        at[axis] = slice(None, None, node.stride)
        return np.asarray(windows[(*at, slice(None, None, node.dilation))])
    start, stop = part_limits(node, array.shape[axis])
    at[axis] = slice(start, stop, node.step if isinstance(node, Slice) else 1)
    part: NDArray[Any] = array[tuple(at)]
    return part


def _taken(array: NDArray[Any], indices: NDArray[Any], axis: int) -> NDArray[Any]:
    return np.take(array, _places(indices, array.shape[axis]), axis)


def _places(indices: NDArray[Any], length: int) -> NDArray[Any]:
    whole = np.asarray(indices).astype(np.int64)
    if whole.size and not (whole.min() >= -length and whole.max() < length):
        raise Inapplicable(f"an index is outside of an axis of {length} elements")
    return whole


def _added(slices: NDArray[Any], indices: NDArray[Any], shape: Sequence[int], axis: int) -> NDArray[Any]:
    total = np.zeros(shape, slices.dtype)
    places = _places(indices, shape[axis])
    first = np.moveaxis(slices, range(axis, axis + places.ndim), range(places.ndim))
    np.add.at(np.moveaxis(total, axis, 0), places, first)
    return total
