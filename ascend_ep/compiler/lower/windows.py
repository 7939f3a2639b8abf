"""The sliding window of a convolution or pooling node: kernel, strides, dilations and resolved padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ascend_ep.compiler.lowering import Dim, NodeView, Unsupported
from ascend_ep.graph import sliding
from ascend_ep.opdef.dims import static
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


def windows(node: NodeView, kernel: Sequence[int]) -> list[sliding.Window]:
    """The node's windows, one for each spatial axis."""
    count = len(kernel)
    strides, dilations = spatial_ints(node, "strides", count), spatial_ints(node, "dilations", count)
    parts = zip(kernel, strides, dilations, *explicit_pads(node, count), strict=True)
    return [sliding.Window(*part, node.attr("auto_pad", "NOTSET")) for part in parts]


def placed(parts: Sequence[sliding.Window], places: Callable[[], list[sliding.Places]]) -> Window:
    """The windows at their places."""
    try:
        found = places()
    except sliding.Misfit as misfit:
        raise Unsupported(str(misfit)) from None
    return Window(
        tuple(w.kernel for w in parts),
        tuple(w.stride for w in parts),
        tuple(w.dilation for w in parts),
        tuple(p.before for p in found),
        tuple(p.after for p in found),
    )


def window_of(node: NodeView, dims: Sequence[Dim], kernel: Sequence[int]) -> Window:
    """The window of a convolution over spatial `dims`, auto_pad resolved."""
    parts = windows(node, kernel)
    return placed(parts, lambda: [sliding.convolved(d, w) for d, w in zip(dims, parts, strict=True)])


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
