"""The sliding window of a convolution or pooling node: kernel, strides, dilations and resolved padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_ep.compiler.lowering import Dim, NodeView, Unsupported
from ascend_ep.opdef.dims import floordiv, max_, static
from ascend_ep.plan.kernel_params import CONV_AXIS


@dataclass(frozen=True)
class Window:
    """One entry per spatial axis; `before` and `after` are the paddings, which may depend on the dims."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[Dim, ...]
    after: tuple[Dim, ...]

    def conv_axes(self) -> list[tuple[Dim, ...]]:
        """As a convolution has them among its ints."""
        sizes = zip(self.kernel, self.stride, self.dilation, self.before, strict=True)
        return [CONV_AXIS.pack(kernel=k, stride=s, dilation=d, pad=p) for k, s, d, p in sizes]


def spatial_ints(node: NodeView, name: str, count: int, least: int = 1) -> tuple[int, ...]:
    """A list attribute with one value per spatial axis; `least` everywhere when absent."""
    values = tuple(int(v) for v in node.attr(name) or [least] * count)
    if len(values) != count or min(values) < least:
        raise Unsupported(f"its {name} {list(values)} don't fit {count} spatial axes")
    return values


def explicit_pads(node: NodeView, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The attribute pads as (before, after)."""
    pads = tuple(int(p) for p in node.attr("pads") or [0] * (2 * count))
    if len(pads) != 2 * count or min(pads) < 0:
        raise Unsupported(f"its pads {list(pads)} don't fit {count} spatial axes")
    return pads[:count], pads[count:]


def split_padding(total: Sequence[Dim], auto: str) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    """SAME padding as (before, after): the odd one goes to the end with SAME_UPPER."""
    small = tuple(floordiv(t, 2) for t in total)
    large = tuple(t - s for t, s in zip(total, small, strict=True))
    return (small, large) if auto == "SAME_UPPER" else (large, small)


def window_of(node: NodeView, dims: Sequence[Dim], kernel: Sequence[int]) -> Window:
    """The window over spatial `dims`, auto_pad resolved."""
    count = len(dims)
    strides, dilations = spatial_ints(node, "strides", count), spatial_ints(node, "dilations", count)
    auto = node.attr("auto_pad", "NOTSET")
    before: tuple[Dim, ...]
    after: tuple[Dim, ...]
    if auto == "NOTSET":
        before, after = explicit_pads(node, count)
    elif auto == "VALID":
        before = after = (0,) * count
    elif auto in ("SAME_UPPER", "SAME_LOWER"):
        total = [
            max_(0, (floordiv(dim + (stride - 1), stride) - 1) * stride + (size - 1) * dilation + 1 - dim)
            for dim, size, stride, dilation in zip(dims, kernel, strides, dilations, strict=True)
        ]
        before, after = split_padding(total, auto)
    else:
        raise Unsupported(f"its auto_pad {auto!r} is unknown")
    return Window(tuple(kernel), strides, dilations, before, after)


def kernel_shape(node: NodeView, dims: Sequence[Dim]) -> tuple[int, ...]:
    """The kernel extents: the weight's spatial dims, which must be numbers and agree with kernel_shape."""
    known = [static(d) for d in dims]
    extents = tuple(k for k in known if k is not None)
    if len(extents) != len(dims):
        raise Unsupported("its kernel's extents are known only at run time")
    given = node.attr("kernel_shape")
    if given is not None and tuple(int(v) for v in given) != extents:
        raise Unsupported(f"its kernel_shape {list(given)} isn't its weight's {list(extents)}")
    return extents
