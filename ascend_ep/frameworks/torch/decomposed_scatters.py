"""Scatters in terms of others, where torch.onnx's translation takes the last element, or more of them than
ONNX does."""

from __future__ import annotations

from typing import Any


def scattered(name: str, x: Any, dim: int, index: Any, source: Any, *reduction: str, **how: Any) -> Any:
    """Of as many elements as there are places for; ONNX takes no more."""
    if index.dim() != source.dim() or index.shape == source.shape:
        return NotImplemented
    return getattr(x, name)(dim, index, _of_places(source, index), *reduction, **how)


def _of_places(source: Any, index: Any) -> Any:
    for axis, count in enumerate(index.shape):
        source = source.narrow(axis, 0, count)
    return source


def reduced(x: Any, dim: int, index: Any, source: Any, reduction: str, *, include_self: bool = True) -> Any:
    """A mean as a sum over a count, of which torch.onnx's translation takes the last element; the largest or
    the smallest of those alone that are given."""
    if reduction == "mean":
        return _averaged(x, dim, index, source, include_self)
    if reduction in ("amax", "amin") and not include_self and x.dim():
        of_none = x.scatter(dim, index, _least(x.dtype, reduction))
        return of_none.scatter_reduce(dim, index, source, reduction, include_self=True)
    return scattered("scatter_reduce", x, dim, index, source, reduction, include_self=include_self)


def _least(dtype: Any, reduction: str) -> float | int | bool:
    """What no element is below, or above where the smallest is wanted."""
    import torch

    smallest = reduction == "amin"
    if dtype.is_floating_point:
        return float("inf") if smallest else -float("inf")
    if dtype == torch.bool:
        return smallest
    ends = torch.iinfo(dtype)
    return ends.max if smallest else ends.min


def _averaged(x: Any, dim: int, index: Any, source: Any, include_self: bool) -> Any:
    import torch

    if x.is_complex() or source.is_complex():
        return NotImplemented
    is_whole = not x.is_floating_point()
    wide = x if is_whole else x.to(torch.promote_types(x.dtype, torch.float32))
    values = _of_places(source.to(wide.dtype), index)
    totals, counts = (
        into.scatter_reduce(dim, index, of, "sum", include_self=include_self)
        for into, of in ((wide, values), (wide.new_ones(wide.shape), values.new_ones(values.shape)))
    )
    return totals.div(counts, rounding_mode="floor" if is_whole else None).to(x.dtype)
