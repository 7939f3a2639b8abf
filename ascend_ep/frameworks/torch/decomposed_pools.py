"""Pools in terms of others, where torch.onnx's translation drops what the caller says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def of_each_axis(numbers: Sequence[int], axes: int) -> list[int]:
    """A single number stands for all axes."""
    return [*numbers] * (axes // len(numbers) or 1)


def averaged(
    axes: int,
    x: Any,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Sums by a divisor of the caller's, which torch.onnx's translation drops; windows of one number."""
    import torch

    sizes = of_each_axis(kernel, axes)
    steps, around = of_each_axis(stride or kernel, axes), of_each_axis(padding, axes)
    aten = torch.ops.aten
    pool = (aten.avg_pool1d, aten.avg_pool2d, aten.avg_pool3d)[axes - 1].default
    if divisor_override is None or not x.is_floating_point():
        if len(kernel) == axes and len(stride) in (0, axes):
            return NotImplemented
        return pool(x, sizes, steps, around, ceil_mode, count_include_pad, *_if_given(divisor_override))
    pads: list[Any] = []
    for length, size, step, pad in zip(x.shape[-axes:], sizes, steps, around, strict=True):
        behind = pad
        if ceil_mode:  # the last window may begin in front of the end, not behind
            whole = length + 2 * pad - size
            count = -(-whole // step)
            count -= count * step >= length + pad
            behind += max(0, count * step - whole)
        pads = [pad, behind, *pads]
    return pool(torch.nn.functional.pad(x, pads), sizes, steps) * (math.prod(sizes) / divisor_override)


def _if_given(divisor: int | None) -> list[int]:
    return [] if divisor is None else [divisor]


def adapted(axes: int, x: Any, sizes: Sequence[int]) -> Any:
    """Averages of windows of one size; torch.onnx has no translation. NotImplemented where windows differ."""
    import torch

    lengths = x.shape[-axes:]
    if not all(isinstance(n, int) for n in (*lengths, *sizes)):
        return NotImplemented
    if not x.numel() or any(not size or length % size for length, size in zip(lengths, sizes, strict=True)):
        return NotImplemented
    windows = [length // size for length, size in zip(lengths, sizes, strict=True)]
    pool = torch.ops.aten.avg_pool2d if axes == 2 else torch.ops.aten.avg_pool3d
    return x.clone() if max(windows) == 1 else pool(x, windows, windows)


def greatest(
    axes: int,
    x: Any,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Any:
    """Windows given by one number; torch.onnx's translation takes one of each axis."""
    import torch

    if len(kernel) == axes and len(stride) in (0, axes):
        return NotImplemented
    aten = torch.ops.aten
    pool = (aten.max_pool2d_with_indices, aten.max_pool3d_with_indices)[axes - 2].default
    lists = [of_each_axis(n, axes) for n in (kernel, stride or kernel, padding, dilation)]
    return pool(x, *lists, ceil_mode)
