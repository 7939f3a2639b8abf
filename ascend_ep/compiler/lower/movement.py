"""Operators that only move elements: views where the memory stays as it is, else one copy of a view.

A view whose last axis keeps stride 1 is handed on as it is: the kernels that can't read strides get a
copy from the builder. Other views are written out here, by the tiled copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations
from math import comb

import numpy as np
import onnx_ir as ir

from ascend_ep.compiler.lower.arguments import (
    axis_of,
    enum_of,
    expect_ints,
    is_run_time,
    known_elements,
    known_ints,
    needed,
    operand,
    run_time_ints,
    wrap_axis,
)
from ascend_ep.compiler.lower.elementwise import COMPUTABLE, Program, emit_program
from ascend_ep.compiler.lower.views import broadcast, permuted
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.graph.shapes.movement_slicing import bounded_step, place_within
from ascend_ep.opdef.dims import floordiv, static
from ascend_ep.plan.kernel_params import CONCAT, PAD, TRILU, choices
from ascend_ep.runtime._rt import lib

PAD_MODES = choices("asc_pad")


def _hand_on(b: PlanBuilder, target: Operand, view: Ref) -> None:
    strides = b.strides(view)
    if not strides or static(strides[-1]) == 1:
        b.bind(target, view)
    else:
        b.bind_transposed(target, view)


@lowers("reshape")
def lower_reshape(node: NodeView, b: PlanBuilder) -> None:
    """Reshape, Flatten, Squeeze, Unsqueeze, Identity: the same elements under other dims."""
    source, target, given = needed(node.inputs, 0), needed(node.outputs, 0), operand(node.inputs, 1)
    if is_run_time(given) and node.op_type == "Reshape":
        copied = [i < source.rank and source.dims[i] == d for i, d in enumerate(target.dims)]
        copies = [same and not node.attr("allowzero", 0) for same in copied]
        expect_ints(b, given, [(d, -1, 0 if c else d) for d, c in zip(target.dims, copies, strict=True)])
    elif given is not None and is_run_time(given) and given.dims != (0,):  # none: every axis of 1
        both = (source.dims, target.dims) if node.op_type == "Squeeze" else (target.dims, source.dims)
        expect_ints(b, given, _places_of_ones(*both))
    b.bind(target, b.view(b.ref(source), target.dims))


def _places_of_ones(long: Sequence[Dim], short: Sequence[Dim]) -> list[tuple[int, ...]]:
    """Which axes of 1 of `long` to leave out for `short`, for each of them."""
    rank, count = len(long), len(long) - len(short)
    ones = [i for i, d in enumerate(long) if static(d) == 1]
    fits = [
        chosen
        for chosen in combinations(ones, count)
        if [d for i, d in enumerate(long) if i not in chosen] == list(short)
    ]
    places = sorted(set(chain(*fits)))
    if not fits or len(fits) != comb(len(places), count):
        raise Unsupported("its axes are known only at run time, and not any of those that fit make its shape")
    return [(*places, *(p - rank for p in places))] * count


@lowers("transpose")
def lower_transpose(node: NodeView, b: PlanBuilder) -> None:
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    x = b.ref(source)
    perm = [int(p) for p in node.attr("perm") or reversed(range(x.rank))]
    if sorted(perm) != list(range(x.rank)):
        raise Unsupported(f"its permutation {perm} doesn't fit rank {x.rank}")
    moving = [p for p in perm if static(x.dims[p]) != 1]
    if moving == sorted(moving):
        b.bind(target, b.view(x, target.dims))
    else:
        _hand_on(b, target, permuted(b, x, perm))


#: What one call of the concat kernel takes.
MOST_PARTS = 200


@lowers("concat")
def lower_concat(node: NodeView, b: PlanBuilder) -> None:
    target = needed(node.outputs, 0)
    parts = [b.ref(source) for source in node.inputs if source is not None]
    axis = axis_of(node, target.rank, 1 if node.version < 4 else None)
    while len(parts) > MOST_PARTS:
        parts = [_joined(b, parts[i : i + MOST_PARTS], axis) for i in range(0, len(parts), MOST_PARTS)]
    b.emit("concat", parts, [b.out(target)], CONCAT.pack(axis=axis))


def _joined(b: PlanBuilder, parts: Sequence[Ref], axis: int) -> Ref:
    lengths = [part.dims[axis] for part in parts]
    dims = [*parts[0].dims]
    dims[axis] = sum(lengths[1:], lengths[0])
    joined = b.temp(parts[0].dtype, dims)
    b.emit("concat", parts, [joined], CONCAT.pack(axis=axis))
    return joined


@lowers("split")
def lower_split(node: NodeView, b: PlanBuilder) -> None:
    """Split: one view for each part, its length as shape inference found it."""
    x = b.ref(needed(node.inputs, 0))
    axis = axis_of(node, x.rank, 0)
    strides = b.strides(x)
    start: Dim = 0
    sizes = [o.dims[axis] for o in node.outputs if o is not None]
    if is_run_time(operand(node.inputs, 1)) and sum(sizes[1:], sizes[0]) != x.dims[axis]:
        raise Unsupported("its sizes are known only at run time, and those declared don't fill the axis")
    expect_ints(b, operand(node.inputs, 1), [(size,) for size in sizes])
    for target in node.outputs:
        if target is None:
            raise Unsupported("one of its parts is not wanted, so the start of the next is unknown")
        _hand_on(b, target, b.view(x, target.dims, start * strides[axis], strides))
        start = start + target.dims[axis]


# --- Slice --------------------------------------------------------------------------------------


def _slice_arguments(node: NodeView, rank: int) -> list[tuple[int, Dim, int]]:
    """(axis, start, step) of every axis the node slices."""
    if node.version < 10:
        starts: list[Dim] = [int(s) for s in node.attr("starts", [])]
        axes = [int(a) for a in node.attr("axes") or range(len(starts))]
        steps = [1] * len(starts)
    else:
        starts = known_elements(needed(node.inputs, 1), "starts")
        given_axes, given_steps = operand(node.inputs, 3), operand(node.inputs, 4)
        axes = known_ints(given_axes, "axes") if given_axes else list(range(len(starts)))
        steps = known_ints(given_steps, "steps") if given_steps else [1] * len(starts)
    if not len(starts) == len(axes) == len(steps) or 0 in steps:
        raise Unsupported("its starts, axes and steps don't fit each other")
    return [(wrap_axis(a, rank), s, bounded_step(t)) for a, s, t in zip(axes, starts, steps, strict=True)]


@lowers("slice")
def lower_slice(node: NodeView, b: PlanBuilder) -> None:
    """Slice: a view with an offset and steps, the lengths those shape inference found; a copy where the
    arguments come with the data."""
    target = needed(node.outputs, 0)
    x = b.ref(needed(node.inputs, 0))
    if any(is_run_time(given) for given in node.inputs[1:]):
        arguments = [run_time_ints(b, operand(node.inputs, i)) for i in range(1, 5)]
        b.emit("slice", [x, *arguments], [b.out(target)])
        return
    strides = list(b.strides(x))
    offset: Dim = 0
    if any(static(d) == 0 for d in target.dims):
        b.bind(target, b.view(x, target.dims, 0, strides))
        return
    for axis, start, step in _slice_arguments(node, x.rank):
        first = place_within(start, x.dims[axis], step)
        if first is None:
            raise Unsupported("the sign of a start depends on the input shapes")
        offset = offset + first * strides[axis]
        if static(target.dims[axis]) != 1:  # a step beyond the axis would leave 64 bits
            strides[axis] = strides[axis] * step
    _hand_on(b, target, b.view(x, target.dims, offset, strides))


# --- copies of longer views ---------------------------------------------------------------------


@lowers("expand")
def lower_expand(node: NodeView, b: PlanBuilder) -> None:
    """Expand: stride 0 along every axis that is repeated."""
    target = needed(node.outputs, 0)
    x = b.ref(needed(node.inputs, 0))
    shape = needed(node.inputs, 1)
    if is_run_time(shape):
        own = [*[None] * (target.rank - x.rank), *x.dims]
        choices = [(d, 1 if d == have else d) for d, have in zip(target.dims, own, strict=True)]
        expect_ints(b, shape, choices[target.rank - (static(shape.dims[0]) or 0) :])
    if target.dtype in COMPUTABLE and not _is_view(x, target.dims):
        program = Program()
        program.output(program.input(x, x.dtype), target.dtype)
        emit_program(b, program, [b.out(target)])
    else:
        b.emit("copy", [broadcast(b, x, target.dims)], [b.out(target)])


def _is_view(x: Ref, dims: Sequence[Dim]) -> bool:
    """Whether it is known now which axes are repeated; if not, the elementwise kernel finds out."""
    own = dims[len(dims) - x.rank :]
    return all(have == want or static(have) is not None for have, want in zip(x.dims, own, strict=True))


@lowers("tile")
def lower_tile(node: NodeView, b: PlanBuilder) -> None:
    """Tile: a repeated axis becomes two, the outer with stride 0."""
    target = needed(node.outputs, 0)
    x = b.ref(needed(node.inputs, 0))
    given = needed(node.inputs, 1)
    if is_run_time(given):
        repeats: list[Dim] = [_repeats(*pair) for pair in zip(x.dims, target.dims, strict=True)]
        expect_ints(b, given, [(r,) for r in repeats])
    else:
        repeats = known_elements(given, "repeats")
    if len(repeats) != x.rank:
        raise Unsupported("its repeats don't fit the rank")
    dims: list[Dim] = []
    strides: list[Dim] = []
    for count, length, stride in zip(repeats, x.dims, b.strides(x), strict=True):
        if static(count) != 1:
            dims.append(count)
            strides.append(0)
        dims.append(length)
        strides.append(stride)
    b.emit("copy", [b.view(x, dims, 0, strides)], [b.out(target)])


def _repeats(length: Dim, total: Dim) -> Dim:
    if static(length) in (None, 0):
        raise Unsupported("its repeats are known only at run time, for an axis that may be empty")
    repeats = floordiv(total, length)
    if repeats * length != total:
        raise Unsupported("its repeats are known only at run time, and none makes the declared shape")
    return repeats


def _split_blocks(node: NodeView, x: Ref) -> tuple[Dim, Dim, Dim, Dim, int]:
    if x.rank != 4:
        raise Unsupported(f"it has rank {x.rank}; blocks are of images [N, C, H, W]")
    size = int(node.attr("blocksize", 0))
    if size < 1:
        raise Unsupported(f"its block size {size} is not positive")
    n, c, h, w = x.dims
    return n, c, h, w, size


@lowers("depth_to_space")
def lower_depth_to_space(node: NodeView, b: PlanBuilder) -> None:
    x = b.contiguous(b.ref(needed(node.inputs, 0)))
    n, c, h, w, size = _split_blocks(node, x)
    rest = c // (size * size)
    if enum_of(node, "mode", ("DCR", "CRD"), "DCR") == 0:
        view = permuted(b, b.view(x, [n, size, size, rest, h, w]), [0, 3, 4, 1, 5, 2])
    else:
        view = permuted(b, b.view(x, [n, rest, size, size, h, w]), [0, 1, 4, 2, 5, 3])
    b.emit("copy", [view], [b.out(needed(node.outputs, 0))])


@lowers("space_to_depth")
def lower_space_to_depth(node: NodeView, b: PlanBuilder) -> None:
    x = b.contiguous(b.ref(needed(node.inputs, 0)))
    n, c, h, w, size = _split_blocks(node, x)
    blocks = b.view(x, [n, c, h // size, size, w // size, size])
    order = ([0, 3, 5, 1, 2, 4], [0, 1, 3, 5, 2, 4])[enum_of(node, "mode", ("DCR", "CRD"), "DCR")]
    b.emit("copy", [permuted(b, blocks, order)], [b.out(needed(node.outputs, 0))])


# --- kernels ------------------------------------------------------------------------------------


def _pad_arguments(node: NodeView, rank: int) -> list[Dim]:
    """Begins, then ends, of every axis."""
    if node.version < 11:
        pads: list[Dim] = [int(p) for p in node.attr("pads", node.attr("paddings", []))]
    else:
        pads = known_elements(needed(node.inputs, 1), "pads")
    given = operand(node.inputs, 3) if node.version >= 18 else None
    axes = [wrap_axis(a, rank) for a in known_ints(given, "axes")] if given else list(range(rank))
    if len(pads) != 2 * len(axes):
        raise Unsupported("its pads don't fit the axes")
    every: list[Dim] = [0] * (2 * rank)
    for i, axis in enumerate(axes):
        every[axis], every[rank + axis] = pads[i], pads[len(axes) + i]
    return every


@lowers("pad")
def lower_pad(node: NodeView, b: PlanBuilder) -> None:
    source = needed(node.inputs, 0)
    mode = enum_of(node, "mode", PAD_MODES, "constant")
    given = operand(node.inputs, 2) if node.version >= 11 else None
    value = None if given is None else b.ref(given)
    if node.version < 11 and node.attr("value", 0.0):
        value = b.constant(
            np.array(node.attr("value"), ir.DataType(source.dtype).numpy()), dtype=source.dtype
        )
    target = b.out(needed(node.outputs, 0))
    pads, axes = (operand(node.inputs, i) if node.version >= 11 else None for i in (1, 3))
    if is_run_time(pads) or is_run_time(axes):
        arguments = [run_time_ints(b, pads), run_time_ints(b, axes)]
        b.emit("pad", [b.ref(source), value, *arguments], [target], PAD.pack(mode=mode))
    else:
        ints = PAD.pack(_pad_arguments(node, source.rank), mode=mode)
        b.emit("pad", [b.ref(source), value], [target], ints)


@lowers("trilu")
def lower_trilu(node: NodeView, b: PlanBuilder) -> None:
    given = operand(node.inputs, 1)
    run_time = run_time_ints(b, given) if is_run_time(given) else None
    k = known_elements(given, "diagonal")[0] if given and run_time is None else 0
    ints = TRILU.pack(upper=int(node.attr("upper", 1)), k=k)
    b.emit("trilu", [b.ref(needed(node.inputs, 0)), run_time], [b.out(needed(node.outputs, 0))], ints)


@lowers("center_crop_pad")
def lower_center_crop_pad(node: NodeView, b: PlanBuilder) -> None:
    """Pads, negative where an axis is cropped; the odd element goes to the end."""
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    axes = [wrap_axis(int(a), source.rank) for a in node.attr("axes") or range(source.rank)]
    expect_ints(b, needed(node.inputs, 1), [(target.dims[a],) for a in axes])
    before: list[Dim] = []
    after: list[Dim] = []
    for have, want in zip(source.dims, target.dims, strict=True):
        more = static(want - have)
        if more is None:
            raise Unsupported("whether it crops or pads depends on the input shapes")
        before.append(int(more / 2))
        after.append(more - int(more / 2))
    ints = PAD.pack(before, after, mode=lib.ASC_PAD_CONSTANT)
    b.emit("pad", [b.ref(source), None], [b.out(target)], ints)
