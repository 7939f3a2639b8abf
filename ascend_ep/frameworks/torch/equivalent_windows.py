"""Convolutions and pools in PyTorch: what goes over an image in windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ascend_ep.frameworks.torch.equivalent_arguments import Attributes, of_windows
from ascend_ep.graph import sliding


def _sliding(sizes: Sequence[int], a: Attributes) -> list[sliding.Window]:
    strides, dilations, pads = of_windows(a, len(sizes))
    kernels = map(int, sizes)  # a trace has them as symbols
    parts = zip(kernels, strides, dilations, pads[: len(sizes)], pads[len(sizes) :], strict=True)
    return [sliding.Window(*part, a.get("auto_pad", "NOTSET")) for part in parts]


def _padded(x: Any, edges: Sequence[tuple[Any, Any]], fill: float) -> Any:
    """x with so many elements more, or fewer, before and behind each axis of the image."""
    import torch

    return torch.nn.functional.pad(x, [edge for both in reversed(edges) for edge in both], value=fill)


def convolved(x: Any, w: Any, b: Any, *, a: Attributes) -> Any:
    import torch

    count = x.dim() - 2
    function = getattr(torch.nn.functional, f"conv{count}d")
    strides, dilations, _ = of_windows(a, count)
    parts = zip(x.shape[2:], _sliding(w.shape[2:], a), strict=True)
    places = [sliding.convolved(int(size), window) for size, window in parts]
    padded = _padded(x, [(p.before, p.after) for p in places], 0.0)
    return function(padded, w, b, tuple(strides), 0, tuple(dilations), a.get("group", 1))


def convolved_back(x: Any, w: Any, b: Any, *, a: Attributes) -> Any:
    import torch

    count = x.dim() - 2
    strides, dilations, _ = of_windows(a, count)
    more = list(a.get("output_padding") or [0] * count)
    sizes = list(a.get("output_shape") or [None] * count)[-count:]
    parts = zip(x.shape[2:], _sliding(w.shape[2:], a), more, sizes, strict=True)
    places = [sliding.transposed(int(n), window, m, size).numbers() for n, window, m, size in parts]
    function = getattr(torch.nn.functional, f"conv_transpose{count}d")
    made = function(x, w, b, tuple(strides), 0, 0, a.get("group", 1), tuple(dilations))
    # what is beyond the whole result is 0, and the bias
    ends = zip(places, made.shape[2:], strict=True)
    edges = [(-before, before + count - int(whole)) for (before, _, count), whole in ends]
    made = _padded(made if b is None else made - b.reshape(-1, *[1] * count), edges, 0.0)
    return made if b is None else made + b.reshape(-1, *[1] * count)


def _windows(x: Any, a: Attributes, fill: float, beyond: float | None = None) -> Any:
    """The windows of a pool along a new last axis: [N, C, ..., elements of a window]. beyond: what lies
    behind the padding, where a last window reaches it."""
    parts = _sliding(a["kernel_shape"], a)
    around, further = [], []
    for size, w in zip(x.shape[2:], parts, strict=True):
        places = sliding.pooled(int(size), w, bool(a.get("ceil_mode", 0)))
        before, after, count = places.numbers()
        reach = (count - 1) * w.stride + w.extent - before - int(size)
        around.append((before, min(reach, after)))
        further.append((0, max(reach - after, 0)))
    windows = _padded(_padded(x, around, fill), further, fill if beyond is None else beyond)
    for i, w in enumerate(parts):
        windows = windows.unfold(2 + i, w.extent, w.stride)[..., :: w.dilation]
    return windows.flatten(-len(parts))


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
