"""Operators that read images at places between their elements, in PyTorch: the places have gradients too."""

from __future__ import annotations

import itertools
import math
from typing import Any

from ascend_ep.frameworks.torch.equivalent_arguments import Attributes, of_windows, whole_numbers


def sampled(x: Any, grid: Any, *, a: Attributes) -> Any:
    """GridSample of two or three axes."""
    given = str(a.get("mode", "linear"))
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(given, given)
    padding, corners = a.get("padding_mode", "zeros"), bool(a.get("align_corners", 0))
    sizes = x.shape[2:]
    taps = []
    for i, length in enumerate(sizes):
        at = grid[..., len(sizes) - 1 - i]
        place = (at + 1) / 2 * (length - 1) if corners else ((at + 1) * length - 1) / 2
        taps.append(_taps(place, length, mode, padding, corners))
    flat = x.flatten(2)
    total: Any = 0
    for chosen in itertools.product(*taps):
        index: Any = 0
        weight: Any = None
        for (place, share), length in zip(chosen, sizes, strict=True):
            index = index * length + place
            weight = share if weight is None else weight * share
        found = flat.gather(2, index.flatten(1)[:, None].expand(-1, x.shape[1], -1))
        total = total + found.unflatten(2, index.shape[1:]) * weight[:, None]
    return total


def _taps(place: Any, length: int, mode: str, padding: str, corners: bool) -> list[tuple[Any, Any]]:
    """Neighbours of places on an axis: their indices, and their weights, 0 where there is nothing."""
    import torch

    if mode != "cubic" and padding != "zeros":
        place = _inside(place, length, padding, corners)
    if mode == "nearest":
        pairs = [(place.detach().round(), torch.ones_like(place))]
    else:
        first = place.detach().floor()
        t = place - first
        if mode == "linear":
            pairs = [(first, 1 - t), (first + 1, t)]
        else:
            pairs = [(first + k, _cubic(t, k)) for k in (-1, 0, 1, 2)]
    made = []
    for at, weight in pairs:
        if mode == "cubic" and padding != "zeros":
            at = _inside(at, length, padding, corners)
        there = (at >= 0) & (at <= length - 1)
        made.append((at.clamp(0, length - 1).long(), torch.where(there, weight, 0.0)))
    return made


def _cubic(t: Any, k: int) -> Any:
    """The weight of neighbour k of a place t beyond neighbour 0."""
    d, a = (k - t if k > 0 else t - k), -0.75
    if k in (0, 1):
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a


def _inside(place: Any, length: int, padding: str, corners: bool) -> Any:
    """Places brought into the axis by its border, or reflected at it."""
    if padding == "reflection":
        low, span = (0.0, length - 1.0) if corners else (-0.5, float(length))
        if span == 0:
            return place * 0
        away = (place - low).abs()
        times = (away.detach() / span).floor()
        rest = away - times * span
        place = low + rest + (times % 2) * (span - 2 * rest)
    return place.clamp(0, length - 1)


def _bilinear(x: Any, down: Any, right: Any) -> list[tuple[Any, Any]]:
    """The four neighbours of places [...] in images [C, H, W]: elements [C, ...] and weights, 0 outside."""
    import torch

    high, wide = x.shape[-2:]
    flat, made = x.flatten(-2), []
    top, left = down.detach().floor(), right.detach().floor()
    for i, j in itertools.product((0, 1), repeat=2):
        y, z = top + i, left + j
        weight = (1 - (down - y).abs()) * (1 - (right - z).abs())
        there = (y >= 0) & (y <= high - 1) & (z >= 0) & (z <= wide - 1)
        index = y.clamp(0, high - 1).long() * wide + z.clamp(0, wide - 1).long()
        made.append((flat[..., index], torch.where(there, weight, 0.0)))
    return made


def regions_aligned(x: Any, rois: Any, images: Any, *, a: Attributes) -> Any:
    """RoiAlign; of a maximum the largest weighted neighbour, as ONNX has it."""
    import torch

    wanted = a.get("output_height", 1), a.get("output_width", 1)
    shift = 0.5 if a.get("coordinate_transformation_mode", "half_pixel") == "half_pixel" else 0.0
    made = [torch.zeros((0, x.shape[1], *wanted), dtype=x.dtype)]
    for roi, image in zip(rois, whole_numbers(images), strict=True):
        left, top, right, bottom = (v * a.get("spatial_scale", 1.0) - shift for v in roi)
        sides = bottom - top, right - left
        if not shift:
            sides = sides[0].clamp(min=1), sides[1].clamp(min=1)
        places = []
        for start, side, cells, length in zip((top, left), sides, wanted, x.shape[2:], strict=True):
            cell = side / cells
            count = a.get("sampling_ratio", 0) or max(math.ceil(float(cell)), 0)
            steps = torch.arange(cells * count, dtype=x.dtype) + 0.5
            at = start + cell * steps / max(count, 1)
            away = (at < -1) | (at > length)
            places.append((torch.where(away, -2.0, at.clamp(0, length - 1)), count))
        (down, high), (across, wide) = places
        taps = _bilinear(x[image], down[:, None].expand(-1, len(across)), across.expand(len(down), -1))
        parts: Any = torch.stack(
            [value * weight for value, weight in taps]
        )  # 4, C, samples down, samples across
        parts = (
            parts.unflatten(-1, (wanted[1], wide)).unflatten(-3, (wanted[0], high)) if high * wide else None
        )
        if parts is None:
            cells_of = torch.zeros((x.shape[1], *wanted), dtype=x.dtype)
        elif a.get("mode", "avg") == "avg":
            cells_of = parts.sum(0).mean((-3, -1))
        else:
            cells_of = parts.permute(1, 2, 4, 0, 3, 5).flatten(3).max(-1).values
        made.append(cells_of[None])
    return torch.cat(made)


def deformed(x: Any, w: Any, offset: Any, b: Any, mask: Any, *, a: Attributes) -> Any:
    """DeformConv of images."""
    import torch

    if x.dim() != 4:
        raise NotImplementedError("images of other than two axes")
    strides, dilations, pads = of_windows(a, 2)
    groups, shifts = a.get("group", 1), a.get("offset_group", 1)
    n, (high, wide) = x.shape[0], w.shape[2:]
    out = offset.shape[2:]
    moves = offset.reshape(n, shifts, high, wide, 2, *out)
    gates = None if mask is None else mask.reshape(n, shifts, high, wide, *out)
    axes = [torch.arange(s, dtype=x.dtype) for s in out]
    columns = []
    for image, part in itertools.product(range(n), range(shifts)):
        channels = x[image].chunk(shifts)[part]
        for i, j in itertools.product(range(high), range(wide)):
            down = (axes[0] * strides[0] - pads[0] + i * dilations[0])[:, None] + moves[image, part, i, j, 0]
            right = axes[1] * strides[1] - pads[1] + j * dilations[1] + moves[image, part, i, j, 1]
            value = sum(v * share for v, share in _bilinear(channels, down, right))
            columns.append(value if gates is None else value * gates[image, part, i, j])
    stacked: Any = torch.stack(columns)
    taken = stacked.unflatten(0, (n, shifts, high * wide)).transpose(2, 3).flatten(1, 2)
    taken = taken.unflatten(1, (groups, -1))  # n, groups, channels, taps, rows, columns
    weights = w.flatten(2).unflatten(0, (groups, -1))
    made = torch.einsum("ngckyx,gock->ngoyx", taken, weights).flatten(1, 2)
    return made if b is None else made + b.reshape(-1, 1, 1)


def grid_of(theta: Any, size: Any, *, a: Attributes) -> Any:
    """AffineGrid; with align_corners, an axis of one element lies at -1."""
    import torch

    n, _, *spatial = whole_numbers(size)
    align, axes = a.get("align_corners", 0), []
    for length in spatial:
        steps = torch.arange(length, dtype=theta.dtype)
        axes.append(steps * 2 / max(length - 1, 1) - 1 if align else (2 * steps + 1) / length - 1)
    places = [*reversed(torch.meshgrid(*axes, indexing="ij"))]
    ones = torch.ones([*spatial, 1], dtype=theta.dtype)
    rows = torch.cat([torch.stack(places, -1), ones], -1).flatten(0, -2)
    return (rows @ theta.transpose(1, 2)).reshape(n, *spatial, len(spatial))


def blocks_joined(x: Any, shape_of_image: Any, block: Any, *, a: Attributes) -> Any:
    """Col2Im: the columns of blocks added up in an image."""
    import torch

    sizes, block = whole_numbers(shape_of_image), whole_numbers(block)
    count = len(sizes)
    strides, dilations, pads = of_windows(a, count)
    padded = [s + pads[i] + pads[count + i] for i, s in enumerate(sizes)]
    index = torch.zeros([1] * (2 * count), dtype=torch.int64)
    for i in range(count):
        steps = (padded[i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
        at = torch.arange(block[i])[:, None] * dilations[i] + torch.arange(steps) * strides[i]
        shape = [1] * (2 * count)
        shape[i], shape[count + i] = at.shape
        index = index * padded[i] + at.reshape(shape)
    n, channels = x.shape[0], x.shape[1] // math.prod(block)
    made = torch.zeros((n, channels, math.prod(padded)), dtype=x.dtype)
    image: Any = made.index_add(2, index.flatten(), x.reshape(n, channels, -1)).reshape(n, channels, *padded)
    return image[(..., *[slice(pads[i], pads[i] + s) for i, s in enumerate(sizes)])]


def unpooled(x: Any, places: Any, output_shape: Any, *, a: Attributes) -> Any:
    """MaxUnpool: places count the elements of the whole result that the window says."""
    import torch

    sizes = a["kernel_shape"]
    count = len(sizes)
    strides, _, pads = of_windows(a, count)
    spatial = [(n - 1) * strides[i] + sizes[i] - pads[i] - pads[count + i] for i, n in enumerate(x.shape[2:])]
    shape = [*x.shape[:2], *spatial]
    if output_shape is not None:
        shape = whole_numbers(output_shape)
    made = torch.zeros(math.prod(shape), dtype=x.dtype)
    return made.scatter(0, places.flatten().long(), x.flatten()).reshape(shape)


def centred(x: Any, shape: Any, *, a: Attributes) -> Any:
    """CenterCropPad."""
    import torch

    axes = a.get("axes") or range(x.dim())
    for axis, wanted in zip(axes, whole_numbers(shape), strict=True):
        length = x.shape[axis]
        if wanted < length:
            x = x.narrow(axis, (length - wanted) // 2, wanted)
        elif wanted > length:
            before = (wanted - length) // 2
            edges = [0, 0] * (x.dim() - 1 - axis % x.dim()) + [before, wanted - length - before]
            x = torch.nn.functional.pad(x, edges)
    return x
