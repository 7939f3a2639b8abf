"""Reductions in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ascend_ep.frameworks.torch.equivalent_arguments import Attributes, Equivalent, whole_numbers


def _axes(x: Any, axes: Any, a: Attributes) -> tuple[int, ...] | None:
    """The axes of a reduction; None: there are none."""
    listed = whole_numbers(axes) if axes is not None else list(a.get("axes", ()))
    if not listed and a.get("noop_with_empty_axes", 0):
        return None
    return tuple(listed) if listed else tuple(range(x.dim()))


def reduced(reduce: Callable[..., Any]) -> Equivalent:
    """The equivalent by a function of a tensor, axes, and whether they stay with one element."""

    def equivalent(x: Any, axes: Any, *, a: Attributes) -> Any:
        chosen = _axes(x, axes, a)
        if chosen is None:  # each element by itself
            return reduce(x.unsqueeze(-1), (-1,), False)
        return reduce(x, chosen, bool(a.get("keepdims", 1)))

    return equivalent


def multiplied(x: Any, axes: Sequence[int], keep: bool) -> Any:
    for axis in sorted((axis % x.dim() for axis in axes), reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


def norm(p: int, x: Any, axes: Sequence[int], keep: bool) -> Any:
    import torch

    return torch.linalg.vector_norm(x, p, tuple(axes), keep)


def extreme(name: str, least: float) -> Equivalent:
    """The largest or the smallest; `least` of none."""

    def reduce(x: Any, axes: Sequence[int], keep: bool) -> Any:
        if x.dtype.is_floating_point and not all(x.shape[axis] for axis in axes):
            return x.sum(axes, keep) + least
        return getattr(x, name)(axes, keep)

    return reduced(reduce)
