"""The shape of Slice, whose starts, ends and steps may be known only as expressions of free sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, UnknownShape, infers, tracked, unknown_at
from ascend_ep.opdef.dims import Dim, bounds, floordiv, max_, min_

#: bounds of Slice at or beyond these mean "to the end"
FAR = 2**31 - 1
#: what onnxruntime takes for "to the end" in both directions; for ONNX it is the last element backwards
OPEN_ENDS = (2**31 - 1, 2**63 - 1)


@infers("Slice")
def infer_slice(call: Call) -> Fact:
    dims = list(call.dims(0))
    if call.version < 10:
        starts, ends = list(call.attr("starts", ())), list(call.attr("ends", ()))
        axes = call.attr("axes")
        steps: Sequence[Dim] | None = None
    else:
        try:
            axes = call.ints(3) if call.has(3) else None
            starts, ends = list(call.values(1)), list(call.values(2))
            steps = call.values(4) if call.has(4) else None
        except UnknownShape:
            for axis in _maybe_cut(call, len(dims)):
                dims[axis] = call.fresh(0, axis)
            return Fact(dims=dims)
    places = call.axes(range(len(starts)) if axes is None else axes, len(dims))
    steps = [1] * len(starts) if steps is None else list(steps)
    if not len(places) == len(starts) == len(ends) == len(steps):
        call.fail("starts, ends, axes and steps differ in length")
    array = call.elements(0)
    static = [slice(None)] * len(dims)
    exact = array is not None
    for axis, start, end, step in zip(places, starts, ends, steps, strict=True):
        if step == 0:
            call.fail("a step is 0")
        if isinstance(step, int):
            step = bounded_step(step)
        dim = dims[axis]
        if isinstance(start, int) and isinstance(end, int) and isinstance(step, int) and isinstance(dim, int):
            static[axis] = python_slice(start, end, step, dim)
        else:
            exact = False
        dims[axis] = _sliced_dim(call, axis, dim, start, end, step)
    if exact and array is not None:
        return tracked(array[tuple(static)]) or Fact(dims=dims)
    return Fact(dims=dims)


def _maybe_cut(call: Call, rank: int) -> list[int]:
    """The axes that a slice by operands not all known may cut."""
    try:
        return call.axes(call.ints(3) if call.has(3) else range(call.count(1, 2, 4)), rank)
    except UnknownShape:
        return list(range(rank))


def bounded_step(step: int) -> int:
    """A step that takes the same elements, and whose products with sizes stay within 64 bits."""
    return max(-FAR, min(step, FAR))


def python_slice(start: int, end: int, step: int, dim: int) -> slice:
    """Python's slice of the same elements. Backwards, a start before the first element is the first for ONNX;
    for Python there are none then."""
    if step < 0:
        return slice(max(start, -dim), None if _to_the_first(end, dim) else end, step)
    return slice(start, end, step)


def sliced(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    """An array's elements by lists or arrays of numbers. axes, steps: None where the node has none."""
    first, last = (np.reshape(np.asarray(given), -1).tolist() for given in (starts, ends))
    places = range(len(first)) if axes is None else np.reshape(np.asarray(axes), -1).tolist()
    strides = [1] * len(first) if steps is None else np.reshape(np.asarray(steps), -1).tolist()
    cut = [slice(None)] * x.ndim
    for axis, start, end, step in zip(places, first, last, strides, strict=True):
        cut[axis] = python_slice(start, end, step, x.shape[axis])
    return x[tuple(cut)]


def _to_the_first(end: int, dim: int) -> bool:
    return end < -dim or end in OPEN_ENDS


def _sliced_dim(call: Call, axis: int, dim: Dim, start: Dim, end: Dim, step: Dim) -> Dim:
    if not isinstance(step, int):
        return call.fresh(0, axis)
    if isinstance(dim, int) and isinstance(start, int) and isinstance(end, int):
        return len(range(*python_slice(start, end, step, dim).indices(dim)))
    if step > 0:
        length = _between(start, end, dim)
        return call.fresh(0, axis) if length is None else floordiv(length + (step - 1), step)
    whole = start == -1 or (isinstance(start, int) and start >= FAR)
    if whole and isinstance(end, int) and _to_the_first(end, FAR - 1):
        return floordiv(dim + (-step - 1), -step)
    return call.fresh(0, axis)


def _between(start: Dim, end: Dim, dim: Dim) -> Dim | None:
    """Elements of a forward slice of step 1; None when a sign is unknown."""
    if isinstance(end, int) and end >= FAR and start != 0:
        low, high = bounds(start)
        if low is not None and low >= 0:
            return max_(dim - start, 0)
        if high is not None and -FAR < high < 0:
            return min_(dim, start * -1)
    first, last = place_within(start, dim), place_within(end, dim)
    return None if first is None or last is None else max_(last - first, 0)


def place_within(position: Dim, dim: Dim, step: int = 1) -> Dim | None:
    """A start, or an end of a forward slice, as an offset: up to dim, backwards up to its last element. None
    when its sign is unknown."""
    most = dim if step > 0 else dim - 1
    low, high = bounds(position)
    if low is not None and low >= 0:
        return most if low >= FAR else min_(position, most)
    if high is not None and high <= -FAR:
        return 0
    if high is not None and high < 0:
        return max_(dim + position, 0)
    return None


@infers("CenterCropPad")
def infer_center_crop_pad(call: Call) -> Fact:
    dims = list(call.dims(0))
    axes = call.axes(call.attr("axes") or range(len(dims)), len(dims))
    sizes = call.fact(1).shape_value
    if sizes is None:
        return unknown_at(call, dims, axes)
    if len(sizes) != len(axes):
        call.fail(f"{len(sizes)} sizes for {len(axes)} axes")
    for axis, size in zip(axes, sizes, strict=True):
        dims[axis] = max_(size, 0)
    return Fact(dims=dims)
