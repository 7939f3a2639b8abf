"""Shapes of resized and sampled images: [N, C, spatial...]."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, infers, unknown_at
from ascend_ep.opdef.dims import Dim, floordiv


@infers("Resize", "Upsample")
def infer_resize(call: Call) -> Fact:
    x = call.dims(0)
    modern = call.node.op_type == "Resize" and call.version >= 11
    axes = call.axes(call.attr("axes") or range(len(x)), len(x))
    dims = list(x)
    if modern and call.has(3):
        sizes = call.fact(3).shape_value
        if sizes is None:
            return unknown_at(call, dims, axes)
        if len(sizes) != len(axes):
            call.fail(f"{len(sizes)} sizes for {len(axes)} axes")
        if call.attr("keep_aspect_ratio_policy", "stretch") != "stretch":
            return _in_proportion(call, dims, axes, sizes)
        for axis, size in zip(axes, sizes, strict=True):
            dims[axis] = size
        return Fact(dims=dims)
    if call.node.op_type == "Upsample" and call.version < 9:
        scales = np.array(call.attr("scales", ()))
    else:
        given = call.const(2 if modern else 1)
        if given is None:
            return unknown_at(call, dims, axes)
        scales = given.reshape(-1)
    if scales.size == 0:
        return unknown_at(call, dims, axes)
    if len(scales) != len(axes):
        call.fail(f"{len(scales)} scales for {len(axes)} axes")
    if not all(math.isfinite(s) and s > 0 for s in scales.tolist()):
        call.fail("a scale is no positive number")
    for axis, scale in zip(axes, scales.tolist(), strict=True):
        dim = dims[axis]
        if isinstance(dim, int):
            dims[axis] = int(np.floor(np.float32(dim) * np.float32(scale)))
        elif float(scale).is_integer():
            dims[axis] = dim * int(scale)
        elif scale > 0 and float(1 / scale).is_integer():
            dims[axis] = floordiv(dim, int(1 / scale))
        else:
            dims[axis] = call.fresh(0, axis)
    return Fact(dims=dims)


def _in_proportion(call: Call, dims: list[Dim], axes: Sequence[int], sizes: Sequence[Dim]) -> Fact:
    """keep_aspect_ratio_policy: one scale for all axes, each length rounded to the nearest."""
    wanted = [s for s in sizes if isinstance(s, int)]
    given = [d for a in axes if isinstance(d := dims[a], int) and d > 0]
    if not len(wanted) == len(given) == len(axes):
        return unknown_at(call, dims, axes)
    ratios = [w / g for w, g in zip(wanted, given, strict=True)]
    scale = min(ratios) if call.attr("keep_aspect_ratio_policy") == "not_larger" else max(ratios)
    for axis, length in zip(axes, given, strict=True):
        dims[axis] = int(np.floor(scale * length + 0.5))
    return Fact(dims=dims)


@infers("MaxRoiPool", "RoiAlign")
def infer_roi(call: Call) -> Fact:
    x, rois = call.dims(0, 4), call.dims(1, 2)
    if call.node.op_type == "MaxRoiPool":
        return Fact(dims=[rois[0], x[1], *[int(v) for v in call.attr("pooled_shape", ())]])
    return Fact(dims=[rois[0], x[1], int(call.attr("output_height", 1)), int(call.attr("output_width", 1))])


@infers("GridSample")
def infer_grid_sample(call: Call) -> Fact:
    rank = call.fact(0).rank or call.fact(1).rank
    return Fact(dims=[*call.dims(0, rank)[:2], *call.dims(1, rank)[1:-1]])


@infers("AffineGrid")
def infer_affine_grid(call: Call) -> Fact:
    """Theta [N, d, d+1] and size [N, C, d spatial dims] give [N, d spatial dims, d]."""
    theta, size = call.fact(0).dims, call.fact(1).shape_value
    if theta is not None and len(theta) != 3:
        call.fail(f"theta of rank {len(theta)} where 3 is needed")
    if size is not None:
        return Fact(dims=[size[0], *size[2:], len(size) - 2])
    spatial = theta[1] if theta is not None else None
    if not isinstance(spatial, int):
        spatial = call.count(1) - 2
    return Fact(dims=[*call.fresh_dims(0, spatial + 1), spatial])
