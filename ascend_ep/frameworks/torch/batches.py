"""torch.func.vmap of an operator whose tensors come in lists, and which tensors it batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def one_by_one(function: Any, gives: bool) -> Callable[..., Any]:
    """The rule of torch.func.vmap: one call for each element of the batch, as PyTorch does without a rule."""
    import torch

    def element(value: Any, dim: Any, k: int) -> Any:
        if isinstance(value, list | tuple) and isinstance(dim, list | tuple):
            return [element(v, d, k) for v, d in zip(value, dim, strict=True)]
        return value if dim is None else value.select(dim, k)

    def rule(info: Any, dims: Any, *args: Any) -> Any:
        made = [function(*element(args, dims, k)) for k in range(info.batch_size)]
        if not gives:
            return torch.stack(made), 0
        parts = [torch.stack(part) for part in zip(*made, strict=True)]
        return parts, [0] * len(parts)

    return rule


def is_batched(tensor: Any) -> bool:
    """Whether some vmap around has one of it for each element of its batch: it can't be read."""
    import torch

    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(tensor):
        if functorch.is_batchedtensor(tensor):
            return True
        tensor = functorch.get_unwrapped(tensor)
    return False
