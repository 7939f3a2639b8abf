"""Convolutions and pools in PyTorch: what goes over an image in windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ascend_ep.frameworks.torch.equivalent_arguments import Attributes, of_windows


def _pads(x: Any, sizes: Sequence[int], a: Attributes, fill: float) -> Any:
    """x with the elements around it that a convolution or a pool has."""
    import torch

    count = len(sizes)
    strides, dilations, pads = of_windows(a, count)
    mode = a.get("auto_pad", "NOTSET")
    if mode == "VALID":
        pads = [0] * (2 * count)
    elif mode.startswith("SAME"):
        for i, size in enumerate(x.shape[2:]):
            span = dilations[i] * (sizes[i] - 1) + 1
            total = max(0, (-(-size // strides[i]) - 1) * strides[i] + span - size)
            first = total // 2 if mode == "SAME_UPPER" else total - total // 2
            pads[i], pads[count + i] = first, total - first
    both = [p for i in reversed(range(count)) for p in (pads[i], pads[count + i])]
    return torch.nn.functional.pad(x, both, value=fill)


def convolved(x: Any, w: Any, b: Any, *, a: Attributes) -> Any:
    import torch

    count = x.dim() - 2
    function = getattr(torch.nn.functional, f"conv{count}d")
    strides, dilations, _ = of_windows(a, count)
    padded = _pads(x, w.shape[2:], a, 0.0)
    return function(padded, w, b, tuple(strides), 0, tuple(dilations), a.get("group", 1))


def convolved_back(x: Any, w: Any, b: Any, *, a: Attributes) -> Any:
    import torch

    count = x.dim() - 2
    strides, dilations, pads = of_windows(a, count)
    more = list(a.get("output_padding") or [0] * count)
    auto, sizes = a.get("auto_pad", "NOTSET"), list(a.get("output_shape") or ())
    if auto == "VALID":
        pads = [0] * (2 * count)
    if not sizes and auto.startswith("SAME"):
        sizes = [n * stride for n, stride in zip(x.shape[2:], strides, strict=True)]
    for i in range(count if sizes else 0):  # padding that the output's shape decides
        whole: int = strides[i] * (x.shape[2 + i] - 1) + more[i] + (w.shape[2 + i] - 1) * dilations[i] + 1
        total = whole - sizes[i - count]
        half = max(total, 0) // 2  # what the output has beyond it is all behind
        first = half if auto == "SAME_UPPER" else max(total, 0) - half
        pads[i], pads[count + i] = first, total - first
    function = getattr(torch.nn.functional, f"conv_transpose{count}d")
    made = function(x, w, b, tuple(strides), 0, 0, a.get("group", 1), tuple(dilations))
    # what is beyond the whole result is 0, and the bias
    edges = [e for i in reversed(range(count)) for e in (-pads[i], more[i] - pads[count + i])]
    made = torch.nn.functional.pad(made if b is None else made - b.reshape(-1, *[1] * count), edges)
    return made if b is None else made + b.reshape(-1, *[1] * count)


def _windows(x: Any, a: Attributes, fill: float, beyond: float | None = None) -> Any:
    """The windows of a pool along a new last axis: [N, C, ..., elements of a window]. beyond: what lies
    behind the padding, where a last window in ceil_mode reaches it."""
    import torch

    sizes = a["kernel_shape"]
    count = len(sizes)
    strides, dilations, pads = of_windows(a, count)
    lengths, windows = x.shape[2:], _pads(x, sizes, a, fill)
    for i, size in enumerate(sizes):
        span, whole = dilations[i] * (size - 1) + 1, windows.shape[2 + i]
        if a.get("ceil_mode", 0):
            steps = -(-(whole - span) // strides[i])
            steps -= steps * strides[i] >= lengths[i] + pads[i]  # one that begins behind the last element
            edges = [0, 0] * (windows.dim() - 3 - i) + [0, max(steps * strides[i] + span - whole, 0)]
            windows = torch.nn.functional.pad(windows, edges, value=fill if beyond is None else beyond)
        windows = windows.unfold(2 + i, span, strides[i])[..., :: dilations[i]]
    return windows.flatten(-count)


def averaged(x: Any, *, a: Attributes) -> Any:
    import torch

    sums, padding = _windows(x, a, 0.0).sum(-1), float(a.get("count_include_pad", 0))
    return sums / _windows(torch.ones_like(x), a, padding, 0.0).sum(-1)


def greatest(x: Any, *, a: Attributes) -> Any:
    """MaxPool: of equal elements one has the slope."""
    return _windows(x, a, -math.inf).max(-1).values


def powers_added(x: Any, *, a: Attributes) -> Any:
    """LpPool."""
    import torch

    return torch.linalg.vector_norm(_windows(x, a, 0.0), a.get("p", 2), -1)
