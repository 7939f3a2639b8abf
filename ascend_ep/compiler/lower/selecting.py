"""Operators composed of kernels that select: Hardmax, EyeLike, MaxUnpool, CenterCropPad, AffineGrid."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ascend_ep.compiler.lower.arguments import axis_of, expect_ints, is_run_time, needed, operand, wrap_axis
from ascend_ep.compiler.lower.elementwise import COMPUTABLE, Program, emit_program
from ascend_ep.compiler.lower.matmul import emit_matmul, require_float
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Unsupported, lowers
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import product, static
from ascend_ep.plan.kernel_params import PAD, SCATTER_ELEMENTS
from ascend_ep.runtime._rt import lib


@lowers("hardmax")
def lower_hardmax(node: NodeView, b: PlanBuilder) -> None:
    """1 at the first of the largest elements. Before opset 13 all axes from `axis` on are one."""
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    x, axis = b.ref(source), axis_of(node, source.rank, -1 if node.version >= 13 else 1)
    if node.version < 13:
        x, axis = b.view(b.contiguous(x), [product(x.dims[:axis]), product(x.dims[axis:])]), 1
    places = b.temp(dtypes.INT64, [*x.dims[:axis], *x.dims[axis + 1 :]])
    b.emit("argmax", [x], [places], [axis, 0])
    pair = b.constant(np.array([0, 1], ir.DataType(target.dtype).numpy()), dtype=target.dtype)
    if node.version >= 13:
        b.emit("one_hot", [places, pair], [b.out(target)], [axis])
        return
    rows = b.temp(target.dtype, x.dims)
    b.emit("one_hot", [places, pair], [rows], [axis])
    b.bind(target, b.view(rows, target.dims))


@lowers("eye_like")
def lower_eye_like(node: NodeView, b: PlanBuilder) -> None:
    """1 where column - row is k."""
    target = needed(node.outputs, 0)
    if target.rank != 2 or target.dtype not in COMPUTABLE:
        raise Unsupported("it is no matrix of numbers")
    program = Program()
    place, columns = program.position(), program.const(target.dims[1], dtypes.INT64)
    row = place / columns
    on = program.call("eq", place - row * columns - row, int(node.attr("k", 0)))
    program.output(program.cast(on, target.dtype), target.dtype)
    emit_program(b, program, [b.out(target)])


@lowers("max_unpool")
def lower_max_unpool(node: NodeView, b: PlanBuilder) -> None:
    """Zeros with each element at the place that its index names in the whole output."""
    source, indices, target = needed(node.inputs, 0), needed(node.inputs, 1), needed(node.outputs, 0)
    if operand(node.inputs, 2) is not None:
        raise Unsupported("its indices are of a tensor smaller than its output_shape")
    x, places = (b.contiguous(b.ref(o)) for o in (source, indices))
    total, count = [product(target.dims)], [product(source.dims)]
    zero = b.constant(np.zeros((), ir.DataType(target.dtype).numpy()), dtype=target.dtype)
    zeros, filled = (b.temp(target.dtype, total) for _ in range(2))
    b.emit("copy", [b.view(zero, total, 0, [0])], [zeros])
    ints = SCATTER_ELEMENTS.pack(axis=0, reduction=lib.ASC_SCATTER_NONE)
    b.emit("scatter_elements", [zeros, b.view(places, count), b.view(x, count)], [filled], ints)
    b.bind(target, b.view(filled, target.dims))


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


@lowers("affine_grid")
def lower_affine_grid(node: NodeView, b: PlanBuilder) -> None:
    """Coordinates of every place, [D*H*W, r + 1], times each theta [r, r + 1], transposed."""
    theta, target = needed(node.inputs, 0), needed(node.outputs, 0)
    require_float(theta)
    spatial = [n for d in target.dims[1:-1] if (n := static(d)) is not None]
    if len(spatial) != target.rank - 2:
        raise Unsupported("its size depends on the input shapes")
    _expect_size(b, needed(node.inputs, 1), target)
    places = b.constant(_places(spatial, bool(node.attr("align_corners", 0))))
    rows = b.temp(target.dtype, [target.dims[0], int(np.prod(spatial)), len(spatial)])
    emit_matmul(b, (places, b.ref(theta)), rows, transposed=(0, 1))
    b.bind(target, b.view(rows, target.dims))


def _expect_size(b: PlanBuilder, size: Operand, target: Operand) -> None:
    """Has the run fail when a size that comes with the data isn't the output's, but for the channels."""
    if not is_run_time(size):
        return
    elements = b.cast(b.contiguous(b.ref(size)), dtypes.INT64)
    for first, dims in ((0, target.dims[:1]), (2, target.dims[1:-1])):
        b.emit("expect_ints", [b.view(elements, [len(dims)], first)], [b.temp(dtypes.BOOL, ())], [1, *dims])


def _places(spatial: list[int], align: bool) -> np.ndarray:
    """Homogeneous coordinates in [-1, 1], the last axis first."""
    lines = []
    for n in spatial:
        steps = np.arange(n, dtype=np.float32)
        lines.append(steps * np.float32(2 / max(n - 1, 1)) - 1 if align else (2 * steps + 1) / n - 1)
    axes = np.meshgrid(*lines, indexing="ij")
    return np.stack([*reversed(axes), np.ones_like(axes[0])], axis=-1).reshape(-1, len(spatial) + 1)
