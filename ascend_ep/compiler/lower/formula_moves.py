"""Nodes of formulas that put elements elsewhere: views of their operand's memory where strides can say it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ascend_ep.compiler.lower.views import permuted
from ascend_ep.compiler.lowering import Dim, PlanBuilder, Ref
from ascend_ep.opdef.dtypes import NUMPY
from ascend_ep.opdef.expression import AddAt, Concat, Expression, Slice, Take, Transpose, Windows
from ascend_ep.opdef.moves import Move, part_limits, single_axis
from ascend_ep.plan.kernel_params import CONCAT, GATHER, PAD, SCATTER_ND
from ascend_ep.runtime._rt import lib


def emit_move(
    b: PlanBuilder,
    node: Move,
    refs: Sequence[Ref],
    dims: tuple[Dim, ...],
    taken: Callable[[Expression], Ref],
) -> Ref:
    """The result, of these dims. refs: of the operands, but for indices, which `taken` gives."""
    ref = refs[0]
    rank = len(ref.dims)
    if isinstance(node, Transpose):
        places = list(range(rank))
        first, second = (single_axis(a, rank) for a in (node.first, node.second))
        places[first], places[second] = second, first
        return permuted(b, ref, places)
    if isinstance(node, AddAt):
        return _added(b, ref, taken(node.indices), dims, single_axis(node.axis, len(dims)))
    axis = single_axis(node.axis, rank)
    if isinstance(node, Concat):
        made = b.temp(ref.dtype, dims)
        b.emit("concat", list(refs), [made], CONCAT.pack(axis=axis))
        return made
    if isinstance(node, Take):
        made = b.temp(ref.dtype, dims)
        b.emit("gather", [ref, taken(node.indices)], [made], GATHER.pack(axis=axis))
        return made
    if isinstance(node, Windows):
        return _windows(b, node, ref, axis, dims)
    start, _ = part_limits(node, ref.dims[axis])
    strides = list(b.strides(ref))
    offset = start * strides[axis]
    strides[axis] = strides[axis] * (node.step if isinstance(node, Slice) else 1)
    return b.view(ref, dims, offset, strides)


def _added(b: PlanBuilder, slices: Ref, indices: Ref, dims: tuple[Dim, ...], axis: int) -> Ref:
    """Zeros of these dims with slices added at indices of the axis, which is the first one meanwhile."""
    count = len(indices.dims)
    order = [*range(axis, axis + count), *range(axis), *range(axis + count, len(slices.dims))]
    first = b.contiguous(permuted(b, slices, order))
    moved_dims = [dims[axis], *dims[:axis], *dims[axis + 1 :]]
    zero = b.constant(np.array(0, NUMPY[slices.dtype]), dtype=slices.dtype)
    zeros, total = (b.temp(slices.dtype, moved_dims) for _ in range(2))
    b.emit("copy", [b.view(zero, moved_dims, 0, [0] * len(moved_dims))], [zeros])
    places = b.view(b.contiguous(indices), [*indices.dims, 1])
    b.emit("scatter_nd", [zeros, places, first], [total], SCATTER_ND.pack(reduction=lib.ASC_SCATTER_ADD))
    return permuted(b, total, [*range(1, axis + 1), 0, *range(axis + 1, len(dims))])


def _windows(b: PlanBuilder, node: Windows, ref: Ref, axis: int, dims: tuple[Dim, ...]) -> Ref:
    """Windows overlap: the same element is in several of them."""
    if node.before or node.after:
        pads = [node.before if i == axis else 0 for i in range(len(ref.dims))]
        pads += [node.after if i == axis else 0 for i in range(len(ref.dims))]
        wide = [d + (node.before + node.after if i == axis else 0) for i, d in enumerate(ref.dims)]
        padded = b.temp(ref.dtype, wide)
        fill = b.constant(np.array(node.fill, NUMPY[ref.dtype]), dtype=ref.dtype) if node.fill else None
        b.emit("pad", [ref, fill], [padded], PAD.pack(pads, mode=lib.ASC_PAD_CONSTANT))
        ref = padded
    strides = list(b.strides(ref))
    steps = [
        *strides[:axis],
        strides[axis] * node.stride,
        *strides[axis + 1 :],
        strides[axis] * node.dilation,
    ]
    return b.view(ref, dims, 0, steps)
