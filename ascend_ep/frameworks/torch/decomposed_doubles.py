"""Functions of one tensor in float64, of which ONNX has numbers as attributes, which are float32, or
torch.onnx's translation computes a constant in float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def leaky_relu(x: Any, slope: float = 0.01) -> Any:
    import torch

    return torch.where(x > 0, x, x * slope)


def hardtanh(x: Any, least: float = -1.0, most: float = 1.0) -> Any:
    return x.clamp(least, most)


def log10(x: Any) -> Any:
    return x.log() / math.log(10)


def log2(x: Any) -> Any:
    return x.log() / math.log(2)


def in_doubles(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of float64 alone; of anything else torch.onnx translates."""

    def chosen(x: Any, *arguments: Any, **named: Any) -> Any:
        import torch

        return function(x, *arguments, **named) if x.dtype == torch.float64 else NotImplemented

    return chosen
