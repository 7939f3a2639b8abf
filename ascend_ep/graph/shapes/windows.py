"""Spatial dims under windows that slide: of convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.graph.shapes.rule import Call
from ascend_ep.opdef.dims import Dim, floordiv, min_


def window(call: Call, name: str, count: int, default: int) -> list[int]:
    values = [int(v) for v in call.attr(name) or [default] * count]
    if len(values) != count or any(v < (0 if default == 0 else 1) for v in values):
        call.fail(f"{name} {values} doesn't fit {count} spatial dimensions")
    return values


def slid(call: Call, dims: Sequence[Dim], kernel: Sequence[int], ceil_mode: bool = False) -> list[Dim]:
    """Spatial dims after a window of `kernel` slides over `dims` with the node's pads, strides, dilations."""
    count = len(dims)
    strides, dilations = window(call, "strides", count, 1), window(call, "dilations", count, 1)
    auto = call.attr("auto_pad", "NOTSET")
    pads = [int(p) for p in call.attr("pads") or [0] * (2 * count)]
    if len(pads) != 2 * count or min(pads, default=0) < 0:
        call.fail(f"pads {pads} don't fit {count} spatial dimensions")
    result: list[Dim] = []
    for i, dim in enumerate(dims):
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            result.append(floordiv(dim + (strides[i] - 1), strides[i]))
            continue
        padding = 0 if auto == "VALID" else pads[i] + pads[i + count]
        extent = (kernel[i] - 1) * dilations[i] + 1
        room = dim + (padding - extent)
        if isinstance(room, int) and room < 0:
            call.fail(f"a window of {extent} is larger than the padded dimension {dim}+{padding}")
        if not ceil_mode:
            result.append(floordiv(room, strides[i]) + 1)
            continue
        up = floordiv(room + (strides[i] - 1), strides[i]) + 1
        last = (up - 1) * strides[i]  # a window may not start in the padding after the end
        if isinstance(last, int) and isinstance(dim, int):
            result.append(up - 1 if last >= dim + pads[i] and auto == "NOTSET" else up)
        elif strides[i] + (padding - pads[i]) <= extent or auto == "VALID":
            result.append(up)
        else:
            down = floordiv(dim + (pads[i] + strides[i] - 1), strides[i])
            result.append(min_(up, down))
    return result
