"""PyTorch's own samples of its operators: the entries of `op_db`, and what a sample's tensors are.

Needs torch and expecttest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

#: A name is that of an entry and its variant: `nn.functional.pad:reflect`.
ENTRIES = {f"{entry.name}:{entry.variant_test_name}".rstrip(":"): entry for entry in op_db}
#: Names hold one of these where values are chance, or memory that nobody wrote.
CHANCE = (
    *("bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "uniform"),
    *("rand", "dropout", "empty", "rrelu", "new_empty", "resize_", "gumbel", "fractional_max_pool"),
    *("pca_lowrank", "svd_lowrank", "to_sparse", "sparse", "stateless", "_jagged"),
)


def is_chance(name: str) -> bool:
    return any(part in name for part in CHANCE)


def mapped(value: Any, of: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same with its tensors replaced."""
    if isinstance(value, torch.Tensor):
        return of(value)
    if isinstance(value, dict):
        return {key: mapped(part, of) for key, part in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(mapped(part, of) for part in value)
    return value


def tensors(result: Any) -> list[torch.Tensor]:
    """All tensors of arguments or results."""
    if isinstance(result, torch.Tensor):
        return [result]
    parts: Iterable[Any] = result.values() if isinstance(result, dict) else result
    return [t for part in parts for t in tensors(part)] if isinstance(parts, list | tuple) else []


def shown(sample: Any) -> str:
    """What a sample gives an operator: types, shapes, numbers."""

    def text(part: Any) -> str:
        return (
            f"{str(part.dtype)[6:]}{list(part.shape)}" if isinstance(part, torch.Tensor) else repr(part)[:60]
        )

    parts = [
        text(sample.input),
        *map(text, sample.args),
        *(f"{k}={text(v)}" for k, v in sample.kwargs.items()),
    ]
    return f"({', '.join(parts)})"
