"""Shapes of convolutions, pooling and resizing: [N, C, spatial...]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, infers
from ascend_ep.opdef.dims import Dim, floordiv, max_, min_, product


def _window(call: Call, name: str, count: int, default: int) -> list[int]:
    values = [int(v) for v in call.attr(name) or [default] * count]
    if len(values) != count or any(v < (0 if default == 0 else 1) for v in values):
        call.fail(f"{name} {values} doesn't fit {count} spatial dimensions")
    return values


def _slid(call: Call, dims: Sequence[Dim], kernel: Sequence[int], ceil_mode: bool = False) -> list[Dim]:
    """Spatial dims after a window of `kernel` slides over `dims` with the node's pads, strides, dilations."""
    count = len(dims)
    strides, dilations = _window(call, "strides", count, 1), _window(call, "dilations", count, 1)
    auto = call.attr("auto_pad", "NOTSET")
    pads = [int(p) for p in call.attr("pads") or [0] * (2 * count)]
    if len(pads) != 2 * count or min(pads, default=0) < 0:
        call.fail(f"pads {pads} don't fit {count} spatial dimensions")
    result: list[Dim] = []
    for i, dim in enumerate(dims):
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            result.append(floordiv(dim + (strides[i] - 1), strides[i]))
            continue
        padding = 0 if auto == "VALID" else pads[i] + pads[i + count]
        extent = (kernel[i] - 1) * dilations[i] + 1
        room = dim + (padding - extent)
        if isinstance(room, int) and room < 0:
            call.fail(f"a window of {extent} is larger than the padded dimension {dim}+{padding}")
        if not ceil_mode:
            result.append(floordiv(room, strides[i]) + 1)
            continue
        up = floordiv(room + (strides[i] - 1), strides[i]) + 1
        last = (up - 1) * strides[i]  # a window may not start in the padding after the end
        if isinstance(last, int) and isinstance(dim, int):
            result.append(up - 1 if last >= dim + pads[i] and auto == "NOTSET" else up)
        elif strides[i] + (padding - pads[i]) <= extent or auto == "VALID":
            result.append(up)
        else:
            down = floordiv(dim + (pads[i] + strides[i] - 1), strides[i])
            result.append(min_(up, down))
    return result


@infers("Conv", "ConvInteger", "DeformConv", "QLinearConv")
def infer_conv(call: Call) -> Fact:
    second = 3 if call.node.op_type == "QLinearConv" else 1
    rank = call.fact(0).rank or call.fact(second).rank
    x, w = call.dims(0, rank), call.dims(second, rank)
    if len(x) < 3:
        call.fail(f"rank {len(x)} where at least 3 is needed")
    group = int(call.attr("group", 1))
    if group < 1 or (isinstance(w[0], int) and w[0] % group):
        call.fail(f"group {group} doesn't divide {w[0]} output channels")
    call.require(x[1], w[1] * group, "the number of input channels")
    kernel = _kernel(call, w[2:])
    room = call.fresh_dims(0, len(x))[2:] if kernel is None else _slid(call, x[2:], kernel)
    return Fact(dims=[x[0], w[0], *room])


def _kernel(call: Call, dims: Sequence[Dim]) -> list[int] | None:
    """The spatial dims of the weight; None where they come with the data."""
    known = [d for d in dims if isinstance(d, int)]
    given = call.attr("kernel_shape")
    if len(known) != len(dims):
        return None if given is None else [int(v) for v in given]
    if given is not None and [int(v) for v in given] != known:
        call.fail(f"kernel_shape {list(given)} contradicts the weight's {known}")
    return known


@infers("ConvTranspose")
def infer_conv_transpose(call: Call) -> Fact:
    rank = call.fact(0).rank or call.fact(1).rank
    x, w = call.dims(0, rank), call.dims(1, rank)
    if len(x) < 3:
        call.fail(f"rank {len(x)} where at least 3 is needed")
    count = len(x) - 2
    group = int(call.attr("group", 1))
    call.require(x[1], w[0], "the number of input channels")
    dims: list[Dim] = [x[0], w[1] * group]
    given = call.attr("output_shape")
    if given is not None:
        return Fact(dims=[*dims, *[int(d) for d in given][-count:]])
    kernel = _kernel(call, w[2:])
    if kernel is None:
        return Fact(dims=[*dims, *call.fresh_dims(0, len(x))[2:]])
    strides, dilations = _window(call, "strides", count, 1), _window(call, "dilations", count, 1)
    extra = _window(call, "output_padding", count, 0)
    auto = call.attr("auto_pad", "NOTSET")
    pads = [int(p) for p in call.attr("pads") or [0] * (2 * count)]
    for i in range(count):
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            dims.append(x[2 + i] * strides[i])
            continue
        padding = 0 if auto == "VALID" else pads[i] + pads[i + count]
        dims.append((x[2 + i] - 1) * strides[i] + (extra[i] + (kernel[i] - 1) * dilations[i] + 1 - padding))
    return Fact(dims=dims)


@infers("MaxPool", "AveragePool", "LpPool")
def infer_pool(call: Call) -> list[Fact]:
    x = call.dims(0)
    kernel = _window(call, "kernel_shape", len(x) - 2, 1)
    dims = [*x[:2], *_slid(call, x[2:], kernel, bool(call.attr("ceil_mode", 0)))]
    return [Fact(dims=dims), Fact(7, dims)][: call.n_outputs]


@infers("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def infer_global_pool(call: Call) -> Fact:
    x = call.dims(0)
    return Fact(dims=[*x[:2], *(1 for _ in x[2:])])


@infers("Resize", "Upsample")
def infer_resize(call: Call) -> Fact:
    x = call.dims(0)
    modern = call.node.op_type == "Resize" and call.version >= 11
    axes = call.axes(call.attr("axes") or range(len(x)), len(x))
    dims = list(x)
    if modern and call.has(3):
        sizes = call.fact(3).shape_value
        if sizes is None:
            return _unknown_at(call, dims, axes)
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
            return _unknown_at(call, dims, axes)
        scales = given.reshape(-1)
    if scales.size == 0:
        return _unknown_at(call, dims, axes)
    if len(scales) != len(axes):
        call.fail(f"{len(scales)} scales for {len(axes)} axes")
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
        return _unknown_at(call, dims, axes)
    ratios = [w / g for w, g in zip(wanted, given, strict=True)]
    scale = min(ratios) if call.attr("keep_aspect_ratio_policy") == "not_larger" else max(ratios)
    for axis, length in zip(axes, given, strict=True):
        dims[axis] = int(np.floor(scale * length + 0.5))
    return Fact(dims=dims)


def _unknown_at(call: Call, dims: list[Dim], axes: Sequence[int]) -> Fact:
    for axis in axes:
        dims[axis] = call.fresh(0, axis)
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


@infers("Col2Im")
def infer_col2im(call: Call) -> Fact:
    batch, rows, _ = call.dims(0, 3)
    image, block = call.fact(1).shape_value, call.fact(2).shape_value
    spatial = call.count(1, 2)
    size = 0 if block is None else product(block)
    channels = floordiv(rows, size) if size != 0 else call.fresh(0, 1)
    return Fact(dims=[batch, channels, *(call.fresh_dims(0, spatial + 2)[2:] if image is None else image)])


@infers("CenterCropPad")
def infer_center_crop_pad(call: Call) -> Fact:
    dims = list(call.dims(0))
    axes = call.axes(call.attr("axes") or range(len(dims)), len(dims))
    sizes = call.fact(1).shape_value
    if sizes is None:
        return _unknown_at(call, dims, axes)
    if len(sizes) != len(axes):
        call.fail(f"{len(sizes)} sizes for {len(axes)} axes")
    for axis, size in zip(axes, sizes, strict=True):
        dims[axis] = max_(size, 0)
    return Fact(dims=dims)


@infers("MaxUnpool")
def infer_max_unpool(call: Call) -> Fact:
    x = call.dims(0)
    if call.has(2):
        sizes = call.fact(2).shape_value
        if sizes is not None and len(sizes) != len(x):
            call.fail(f"output_shape has {len(sizes)} dimensions, the input {len(x)}")
        return Fact(dims=call.fresh_dims(0, len(x)) if sizes is None else sizes)
    count = len(x) - 2
    kernel, strides = _window(call, "kernel_shape", count, 1), _window(call, "strides", count, 1)
    pads = [int(p) for p in call.attr("pads") or [0] * (2 * count)]
    if len(pads) != 2 * count:
        call.fail(f"pads {pads} don't fit {count} spatial dimensions")
    room = [(x[i + 2] - 1) * strides[i] + (kernel[i] - pads[i] - pads[i + count]) for i in range(count)]
    return Fact(dims=[*x[:2], *room])


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
