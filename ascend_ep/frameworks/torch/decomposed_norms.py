"""Norms, normalisations and extremes in terms of others, where torch.onnx's translation rounds to float32,
drops an axis or is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def norm(
    x: Any, ord: float = 2, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """Of half floats in float32; over all axes, which torch.onnx's translation never keeps; of any order,
    whose inverse it rounds."""
    import torch

    kept = dtype or x.dtype
    if x.is_complex() or not x.is_floating_point():
        return NotImplemented
    if kept in (torch.float16, torch.bfloat16):
        return torch.linalg.vector_norm(x.to(torch.float32), ord, dim, keepdim).to(kept)
    if x.dtype != kept:
        return torch.linalg.vector_norm(x.to(kept), ord, dim, keepdim)
    if not x.dim():
        return (x != 0).to(kept) if ord == 0 else x.abs()
    axes = list(dim) if dim else list(range(x.dim()))
    if ord in (0, 1, 2) or math.isinf(ord):
        whole = dim is None and keepdim
        return torch.linalg.vector_norm(x, ord, axes, True) if whole else NotImplemented
    return x.abs().pow(ord).sum(axes, keepdim).pow(1 / ord)


def extreme(name: str, x: Any, dim: Sequence[int] = (), keepdim: bool = False) -> Any:
    """Over all axes, which torch.onnx's translation has to be told; of a number, axis 0 is none."""
    if not x.dim():
        return x.clone()
    return NotImplemented if dim else getattr(x, name)(list(range(x.dim())), keepdim)


def _statistics(x: Any, axes: Sequence[int], eps: float) -> tuple[Any, Any, Any]:
    """x without its mean and of deviation 1; both, the latter's inverse, with the axes kept."""
    mean = x.mean(axes, keepdim=True)
    rest = x - mean
    inverse = ((rest * rest).mean(axes, keepdim=True) + eps).rsqrt()
    return rest * inverse, mean, inverse


def layer_norm(x: Any, shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    """In float64; ONNX computes its statistics in float32."""
    import torch

    if x.dtype != torch.float64:
        return NotImplemented
    made, mean, inverse = _statistics(x, list(range(x.dim() - len(shape), x.dim())), eps)
    made = made if weight is None else made * weight
    return made if bias is None else made + bias, mean, inverse


def group_norm(
    x: Any, weight: Any, bias: Any, count: int, channels: int, inner: int, groups: int, eps: float
) -> Any:
    """In float64, which onnxruntime has no InstanceNormalization of."""
    import torch

    if x.dtype != torch.float64:
        return NotImplemented
    made, mean, inverse = _statistics(x.reshape(count, groups, -1), [2], eps)
    made = made.reshape(x.shape)
    along = [1, channels] + [1] * (x.dim() - 2)
    made = made if weight is None else made * weight.reshape(along)
    made = made if bias is None else made + bias.reshape(along)
    return made, mean.reshape(count, groups), inverse.reshape(count, groups)


def variance(
    x: Any, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> Any:
    """torch.onnx translates other overloads alone. Half floats in float32; NaN of too few elements."""
    import torch

    if x.is_complex() or not x.is_floating_point():
        return NotImplemented
    axes = list(dim) if dim else list(range(x.dim()))
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    rest = wide - wide.mean(axes, keepdim=True)
    count = math.prod(x.shape[axis] for axis in axes)
    fewer = count - (1 if correction is None else correction)
    most: Any = max if isinstance(fewer, int | float) else torch.sym_max
    return ((rest * rest).sum(axes, keepdim) / most(fewer, 0)).to(x.dtype)


def variance_and_mean(
    x: Any, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> Any:
    """The mean of infinities is NaN, as PyTorch's running one is."""
    if x.is_complex() or not x.is_floating_point():
        return NotImplemented
    axes = list(dim) if dim else list(range(x.dim()))
    mean = x.mean(axes, keepdim)
    return variance(x, dim, correction=correction, keepdim=keepdim), mean + (mean - mean)
