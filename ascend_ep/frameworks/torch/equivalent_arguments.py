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


def of_windows(a: Attributes, count: int) -> tuple[list[int], list[int], list[int]]:
    """Strides, dilations and pads along the axes of an image; the pads before it, then those behind it."""
    strides, dilations = a.get("strides") or [1] * count, a.get("dilations") or [1] * count
    return list(strides), list(dilations), list(a.get("pads") or [0] * (2 * count))


def wrapped(indices: Any, length: int) -> Any:
    """Indices that count from the end too, from the start."""
    return indices.long() + length * (indices < 0)


def widened(x: Any) -> Any:
    """Half floats as float32, anything else as it is."""
    import torch

    return x.float() if x is not None and x.dtype in (torch.float16, torch.bfloat16) else x
