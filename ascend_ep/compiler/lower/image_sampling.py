"""Operators that read images at places that other tensors name, and AffineGrid, which names them."""

from __future__ import annotations

import numpy as np

from ascend_ep.compiler.lower.arguments import (
    enum_of,
    is_run_time,
    needed,
)
from ascend_ep.compiler.lower.matmul import emit_matmul, require_float
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Unsupported, lowers
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import (
    EXPECT_INTS,
    GRID_SAMPLE,
    ROI_ALIGN,
    ROI_ALIGN_FLOATS,
    choices,
)
from ascend_ep.runtime._rt import lib

GRID_MODES = choices("asc_grid") | {"bilinear": lib.ASC_GRID_LINEAR, "bicubic": lib.ASC_GRID_CUBIC}
GRID_PADDINGS = choices("asc_grid_padding")
ROI_MODES = choices("asc_roi")


@lowers("grid_sample")
def lower_grid_sample(node: NodeView, b: PlanBuilder) -> None:
    ints = GRID_SAMPLE.pack(
        mode=enum_of(node, "mode", GRID_MODES, "linear"),
        padding=enum_of(node, "padding_mode", GRID_PADDINGS, "zeros"),
        align_corners=int(node.attr("align_corners", 0)),
    )
    ins = [b.ref(needed(node.inputs, i)) for i in range(2)]
    b.emit("grid_sample", ins, [b.out(needed(node.outputs, 0))], ints)


@lowers("roi_align")
def lower_roi_align(node: NodeView, b: PlanBuilder) -> None:
    """RoiAlign. Before opset 16 regions are not shifted by half a pixel."""
    shifts = "half_pixel" if node.version >= 16 else "output_half_pixel"
    pixels = enum_of(node, "coordinate_transformation_mode", ("output_half_pixel", "half_pixel"), shifts)
    mode, samples = enum_of(node, "mode", ROI_MODES, "avg"), int(node.attr("sampling_ratio", 0))
    ints = ROI_ALIGN.pack(mode=mode, samples=samples, half_pixel=pixels)
    floats = ROI_ALIGN_FLOATS.pack(scale=float(node.attr("spatial_scale", 1.0)))
    ins = [b.ref(needed(node.inputs, i)) for i in range(3)]
    b.emit("roi_align", ins, [b.out(needed(node.outputs, 0))], ints, floats)


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
        ints = EXPECT_INTS.pack(dims, choices=1)
        b.emit("expect_ints", [b.view(elements, [len(dims)], first)], [b.temp(dtypes.BOOL, ())], ints)


def _places(spatial: list[int], align: bool) -> np.ndarray:
    """Homogeneous coordinates in [-1, 1], the last axis first."""
    lines = []
    for n in spatial:
        steps = np.arange(n, dtype=np.float32)
        lines.append(steps * np.float32(2 / max(n - 1, 1)) - 1 if align else (2 * steps + 1) / n - 1)
    axes = np.meshgrid(*lines, indexing="ij")
    return np.stack([*reversed(axes), np.ones_like(axes[0])], axis=-1).reshape(-1, len(spatial) + 1)
