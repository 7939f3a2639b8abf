"""Spatial dims under windows that slide: of convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ascend_ep.graph import sliding
from ascend_ep.graph.shapes.rule import Call
from ascend_ep.opdef.dims import Dim


def window(call: Call, name: str, count: int, default: int) -> list[int]:
    values = [int(v) for v in call.attr(name) or [default] * count]
    if len(values) != count or any(v < (0 if default == 0 else 1) for v in values):
        call.fail(f"{name} {values} doesn't fit {count} spatial dimensions")
    return values


def windows(call: Call, kernel: Sequence[int]) -> list[sliding.Window]:
    """The node's windows, one for each spatial axis."""
    count = len(kernel)
    strides, dilations = window(call, "strides", count, 1), window(call, "dilations", count, 1)
    pads = [int(p) for p in call.attr("pads") or [0] * (2 * count)]
    if len(pads) != 2 * count or min(pads, default=0) < 0:
        call.fail(f"pads {pads} don't fit {count} spatial dimensions")
    auto = call.attr("auto_pad", "NOTSET")
    parts = zip(kernel, strides, dilations, pads[:count], pads[count:], strict=True)
    return [sliding.Window(*part, auto) for part in parts]


def counted(call: Call, places: Callable[[], list[sliding.Places]]) -> list[Dim]:
    """How many windows there are on each axis; fails where they don't fit."""
    try:
        return [p.count for p in places()]
    except sliding.Misfit as misfit:
        call.fail(str(misfit))


def slid(call: Call, dims: Sequence[Dim], kernel: Sequence[int]) -> list[Dim]:
    """Spatial dims after a window of `kernel` slides over `dims`."""
    parts = zip(dims, windows(call, kernel), strict=True)
    return counted(call, lambda: [sliding.convolved(dim, w) for dim, w in parts])
