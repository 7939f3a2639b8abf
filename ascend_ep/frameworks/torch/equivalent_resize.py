"""Resize and Upsample in PyTorch: along each axis a product with the weights of its taps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_ep.frameworks.torch.equivalent_arguments import Attributes, whole_numbers

Matrix = npt.NDArray[Any]


def resized(x: Any, roi: Any, scales: Any, sizes: Any, *, a: Attributes) -> Any:
    """Resize of opset 11 and later."""
    axes = [axis % x.dim() for axis in a.get("axes") or range(x.dim())]
    if sizes is not None and sizes.numel():
        targets, factors = _of_sizes([x.shape[axis] for axis in axes], whole_numbers(sizes), a)
    else:
        factors = [float(s) for s in scales.tolist()]
        targets = [math.floor(x.shape[axis] * s) for axis, s in zip(axes, factors, strict=True)]
    region = [0.0] * len(axes) + [1.0] * len(axes)
    if a.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        region = [float(v) for v in roi.tolist()]
    for i, axis in enumerate(axes):
        crop = region[i], region[len(axes) + i]
        x = _along(x, axis, targets[i], factors[i], crop, a)
    return x


def upsampled(x: Any, scales: Any, *, a: Attributes) -> Any:
    """Upsample: Resize from the left edge."""
    said = {"mode": a.get("mode", "nearest"), "nearest_mode": "floor"}
    return resized(x, None, scales, None, a={**said, "coordinate_transformation_mode": "asymmetric"})


def _of_sizes(lengths: Sequence[int], sizes: list[int], a: Attributes) -> tuple[list[int], list[float]]:
    """The new lengths and the scales, for the sizes that are wanted."""
    if any(size and not length for size, length in zip(sizes, lengths, strict=True)):
        raise RuntimeError(f"{lengths} has no elements to make {sizes} of")
    ratios = [size / length if length else 1.0 for size, length in zip(sizes, lengths, strict=True)]
    policy = a.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return sizes, ratios
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [math.floor(scale * length + 0.5) for length in lengths], [scale] * len(lengths)


def _along(x: Any, axis: int, target: int, scale: float, crop: tuple[float, float], a: Attributes) -> Any:
    import torch

    length = x.shape[axis]
    places = _sources(length, target, scale, crop, a.get("coordinate_transformation_mode", "half_pixel"))
    if a.get("mode", "nearest") == "nearest":
        chosen = _nearest(places, a.get("nearest_mode", "round_prefer_floor")).clip(0, length - 1)
        weights = np.eye(length)[chosen.astype(np.int64)]
    else:
        weights = _blended(places, length, scale, a)
    outside = np.zeros(target, bool)
    if a.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        outside = (places < 0) | (places > length - 1)
        weights[outside] = 0
    made = torch.tensordot(x, torch.from_numpy(weights).to(x.dtype), ([axis], [1])).movedim(-1, axis)
    fill = torch.from_numpy(outside * a.get("extrapolation_value", 0.0)).to(x.dtype)
    return made + fill.reshape([-1 if i == axis else 1 for i in range(x.dim())]) if outside.any() else made


def _sources(length: int, target: int, scale: float, crop: tuple[float, float], mode: str) -> Matrix:
    """Where each element of the new axis lies on the old one: in float32, as the runtime has it, for the
    nearest element is another one where that rounds."""
    at, factor = np.arange(target, dtype=np.float32), np.float32(scale)
    if mode == "half_pixel_symmetric":
        wanted, centre = factor * np.float32(length), np.float32(length / 2)
        return centre * (1 - np.float32(target) / wanted) + (at + np.float32(0.5)) / factor - np.float32(0.5)
    if mode == "align_corners":
        return at * np.float32(length - 1) / np.float32(target - 1) if target > 1 else at * 0
    if mode == "asymmetric":
        return at / factor
    if mode == "tf_half_pixel_for_nn":
        return (at + np.float32(0.5)) / factor
    if mode == "tf_crop_and_resize":
        (start, end), last = map(np.float32, crop), np.float32(length - 1)
        if target <= 1:
            return at * 0 + np.float32(0.5) * (start + end) * last
        return start * last + at * (end - start) * last / np.float32(target - 1)
    if mode == "pytorch_half_pixel" and target <= 1:
        return at * 0
    return (at + np.float32(0.5)) / factor - np.float32(0.5)


def _nearest(places: Matrix, mode: str) -> Matrix:
    if mode == "round_prefer_ceil":
        return np.floor(places + np.float32(0.5))
    if mode == "floor":
        return np.floor(places)
    return np.ceil(places) if mode == "ceil" else np.ceil(places - np.float32(0.5))


def _blended(places: Matrix, length: int, scale: float, a: Attributes) -> Matrix:
    """The weights [target, length] of linear and cubic taps."""
    cubic = a.get("mode") == "cubic"
    narrow = scale if a.get("antialias", 0) and scale < 1 else 1.0
    reach = 2 - 2 * (math.floor(-(2 if cubic else 1) / narrow) + 1)
    first = np.floor(places) + 1 - reach // 2
    taps = first[:, None] + np.arange(reach)
    distance = np.abs(taps - places[:, None]) * narrow
    weights = _cubic(distance, a.get("cubic_coeff_a", -0.75)) if cubic else np.clip(1 - distance, 0, 1)
    if a.get("exclude_outside", 0):
        weights = np.where((taps >= 0) & (taps < length), weights, 0)
    if narrow < 1 or a.get("exclude_outside", 0):
        weights = weights / weights.sum(1, keepdims=True)
    made = np.zeros((len(places), length))
    rows = np.broadcast_to(np.arange(len(places))[:, None], taps.shape)
    np.add.at(made, (rows, taps.clip(0, length - 1).astype(np.int64)), weights)
    return made


def _cubic(d: Matrix, a: float) -> Matrix:
    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))
