"""Where windows stand along an axis: how many, and what of the image's surroundings they read. The one rule.

ONNX's text, its shape inference and onnxruntime differ, so the rule is this: what onnxruntime's CPU provider
does, wherever the count is the one of ONNX's text; anything else is a `Misfit`, and the node is refused.

    ceil_mode     a last window hangs over the end, with auto_pad VALID too, unless it begins behind the image
    SAME          ceil(size / stride) windows, whatever ceil_mode says
    SAME, pools   padding is that of a window without dilation; other counts than ceil(size / stride) come
                  of it, which are refused. Steps longer than windows leave out elements on both sides
    too small     a count is rounded towards zero: one window, cut at the end, where a step would reach it
    maxima        of a window whose taps all lie in the padding are refused: onnxruntime has the least finite
                  number, at a negative index, and ONNX says nothing
"""

from __future__ import annotations

from dataclasses import dataclass

from ascend_ep.opdef.dims import Dim, floordiv, max_, min_, static

SAME = ("SAME_UPPER", "SAME_LOWER")


class Misfit(ValueError):
    """Windows that don't fit, or that ONNX and onnxruntime have in different places."""


@dataclass(frozen=True)
class Window:
    """Of one axis, with its attributes as ONNX names them."""

    kernel: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    auto_pad: str = "NOTSET"

    @property
    def extent(self) -> int:
        return (self.kernel - 1) * self.dilation + 1

    def explicit(self) -> tuple[int, int]:
        """Padding that doesn't depend on the size."""
        if self.auto_pad not in ("NOTSET", "VALID"):
            raise Misfit(f"its auto_pad {self.auto_pad!r} is unknown")
        return (self.before, self.after) if self.auto_pad == "NOTSET" else (0, 0)


@dataclass(frozen=True)
class Places:
    """Padding, of which less than zero leaves elements out, and how many windows there are; of a transposed
    convolution what is cut from its result, and the result's size."""

    before: Dim
    after: Dim
    count: Dim

    def numbers(self) -> tuple[int, int, int]:
        """Of an axis whose size is known."""
        assert isinstance(self.before, int)
        assert isinstance(self.after, int)
        assert isinstance(self.count, int)
        return self.before, self.after, self.count


def convolved(dim: Dim, w: Window) -> Places:
    """Of a convolution."""
    if w.auto_pad in SAME:
        count = _ceil(dim, w.stride)
        return _split(max_(0, (count - 1) * w.stride + w.extent - dim), 0, w.auto_pad, count)
    before, after = w.explicit()
    room = dim + (before + after - w.extent)
    if isinstance(room, int) and room < 0:
        raise Misfit(f"a window of {w.extent} is larger than the padded dimension {dim}+{before + after}")
    return Places(before, after, floordiv(room, w.stride) + 1)


def pooled(dim: Dim, w: Window, ceil_mode: bool = False, maxima: bool = False) -> Places:
    """Of a pool."""
    if w.auto_pad in SAME:
        places = _pooled_alike(dim, w, ceil_mode)
    else:
        before, after = w.explicit()
        places = Places(before, after, _counted(dim, before, after, w, ceil_mode))
        if isinstance(places.count, int) and places.count < 0:
            raise Misfit(f"a window of {w.extent} is larger than the padded dimension {dim}+{before + after}")
    if maxima and isinstance(dim, int) and dim < w.dilation and _misses(dim, w, places):
        raise Misfit(
            f"with dilation {w.dilation} a window sees padding alone, whose maximum ONNX doesn't define"
        )
    return places


def _misses(dim: int, w: Window, places: Places) -> bool:
    """Whether no tap of some window lies in the image: only of images narrower than a dilation."""
    assert isinstance(places.before, int)
    assert isinstance(places.count, int)
    starts = (i * w.stride - places.before for i in range(places.count))
    return any(all(not 0 <= s + k * w.dilation < dim for k in range(w.kernel)) for s in starts)


def _pooled_alike(dim: Dim, w: Window, ceil_mode: bool) -> Places:
    count = _ceil(dim, w.stride)
    total = (count - 1) * w.stride + w.kernel - dim
    least = w.kernel - w.stride  # of the total
    places = _split(max_(0, total) if least >= 0 else total, min(least, 0), w.auto_pad, count)
    if w.extent != w.kernel:
        found = _counted(dim, places.before, places.after, w, ceil_mode)
        if static(found) is None or found != count:
            given = f"auto_pad {w.auto_pad} with dilation {w.dilation} of a pool"
            raise Misfit(f"{given} has another size in onnxruntime than in ONNX; give its pads instead")
    return places


def _counted(dim: Dim, before: Dim, after: Dim, w: Window, ceil_mode: bool) -> Dim:
    room, stride = dim + before + after - w.extent, w.stride
    if not ceil_mode:
        return (-(-room // stride) if isinstance(room, int) and room < 0 else floordiv(room, stride)) + 1
    up = _ceil(room, stride) + 1
    last = (up - 1) * stride - before  # where it begins
    if isinstance(last, int) and isinstance(dim, int):
        return up - 1 if last >= dim else up
    if isinstance(after, int) and stride + after <= w.extent:
        return up
    return min_(up, _ceil(dim + before, stride))


def transposed(dim: Dim, w: Window, more: int, size: Dim | None) -> Places:
    """Of a transposed convolution with `more` output_padding, and with an output_shape a size."""
    whole = (dim - 1) * w.stride + (more + w.extent)
    if size is None and w.auto_pad in SAME:
        size = min_(dim * w.stride, whole)  # nothing is added
    if size is not None:
        # with output_shape the odd one goes to the front unless SAME_UPPER says otherwise
        order = "SAME_UPPER" if w.auto_pad == "SAME_UPPER" else "SAME_LOWER"
        return _split(max_(0, whole - size), 0, order, size)
    before, after = w.explicit()
    return Places(before, after, whole - (before + after))


def _ceil(a: Dim, b: int) -> Dim:
    return floordiv(a + (b - 1), b)


def _split(total: Dim, least: int, auto_pad: str, count: Dim) -> Places:
    """Of a total that is at least `least`: the odd one goes to the end with SAME_UPPER; halves are rounded
    towards zero."""
    odd = int(auto_pad == "SAME_LOWER")
    half = floordiv(total + odd, 2)
    if least + odd < 0:
        half = max_(half, 0)
    if least + odd < -1:
        half = half - max_(floordiv(0 - total - odd, 2), 0)
    return Places(half, total - half, count)
