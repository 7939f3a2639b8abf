"""What a model is to the comparison, and the wrappers that make one of any module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Model:
    """`make`: the keyword arguments for a batch size. `trains`: whether what it returns has slopes."""

    module: torch.nn.Module
    make: Callable[[int], dict[str, Any]]
    trains: bool = True


#: A family's models, each made when it is asked for: what can't be made raises there.
Family = Iterator[tuple[str, Callable[[], Model]]]


class Hidden(torch.nn.Module):
    """The first tensor that a model of transformers returns."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.inner(**inputs, return_dict=False)[0]
        return found


def tensors(found: Any) -> list[torch.Tensor]:
    """All tensors of a result."""
    if isinstance(found, torch.Tensor):
        return [found]
    if isinstance(found, dict):
        found = list(found.values())
    return [t for value in found for t in tensors(value)] if isinstance(found, list | tuple) else []


def without_dropping(module: torch.nn.Module) -> torch.nn.Module:
    """Nothing in it draws at random."""
    for part in module.modules():
        for name, value in vars(part).items():
            if isinstance(value, float) and (name == "p" or "drop" in name):
                setattr(part, name, 0.0)
    return module
