"""What PyTorch's equivalents of ONNX's operators are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Attributes = dict[str, Any]
#: From inputs, None where one is absent, and attributes by name to the output, or several, in PyTorch.
Equivalent = Callable[..., Any]


def whole_numbers(tensor: Any) -> list[int]:
    """The elements of a tensor of integers."""
    return [int(v) for v in tensor.reshape(-1).tolist()]


def wrapped(indices: Any, length: int) -> Any:
    """Indices that count from the end too, from the start."""
    return indices.long() + length * (indices < 0)
