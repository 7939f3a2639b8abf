"""MaxPool, AveragePool and their global forms as calls of native/kernels/pooling/pooling.c."""

from __future__ import annotations

from dataclasses import replace

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.windows import Window, placed, spatial_ints, windows
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.graph import sliding
from ascend_ep.opdef.dims import bounds, max_, static
from ascend_ep.opdef.dtypes import FLOAT32, INT8, UINT8
from ascend_ep.plan.kernel_params import POOL, POOL_AXIS
from ascend_ep.plan.plan import contiguous_strides


def _input(node: NodeView) -> Operand:
    x = needed(node.inputs, 0)
    if not 3 <= x.rank <= 5:
        raise Unsupported(f"it has {x.rank - 2} spatial axes; the kernel has one to three")
    return x


def _arguments(mode: int, window: Window) -> tuple[Dim, ...]:
    sizes = zip(window.kernel, window.stride, window.dilation, window.before, window.after, strict=True)
    axes = [POOL_AXIS.pack(kernel=k, stride=s, dilation=d, before=b, after=a) for k, s, d, b, a in sizes]
    return POOL.pack(*axes, mode=mode)


def pool_window(node: NodeView, x: Operand) -> Window:
    """The window that a pooling node slides over the spatial axes of x, whose padding may be less than 0."""
    if not node.has_attr("kernel_shape"):
        raise Unsupported("its kernel_shape is missing")
    parts = windows(node, spatial_ints(node, "kernel_shape", x.rank - 2))
    ceil_mode, axes = bool(node.attr("ceil_mode", 0)), list(zip(x.dims[2:], parts, strict=True))
    return placed(parts, lambda: [sliding.pooled(dim, w, ceil_mode) for dim, w in axes])


def cropped(node: NodeView, b: PlanBuilder, x: Ref, window: Window) -> tuple[Ref, Window]:
    """x without what no window sees in front of the first, and padding of at least 0 over it. What is behind
    the last stays: no window reaches it."""
    least = [bounds(p)[0] for p in window.before]
    after = tuple(max_(p, 0) for p in window.after)
    if all(low is not None and low >= 0 for low in least):
        return x, replace(window, after=after)
    known = [static(p) for p in window.before]
    skipped = [0, 0, *(max(-p, 0) for p in known if p is not None)]
    if len(skipped) != len(x.dims) or len([o for o in node.outputs if o is not None]) > 1:
        raise Unsupported("its steps are longer than its windows, which leaves out elements of its front")
    strides = contiguous_strides(x.dims)
    offset = sum((n * s for n, s in zip(skipped, strides, strict=True)), 0)
    dims = [d - n for d, n in zip(x.dims, skipped, strict=True)]
    rest = b.contiguous(b.view(b.contiguous(x), dims, offset, strides))
    return rest, replace(window, before=tuple(max(p, 0) for p in known if p is not None), after=after)


@lowers("max_pool")
def lower_max_pool(node: NodeView, b: PlanBuilder) -> None:
    x, indices = _input(node), operand(node.outputs, 1)
    column_major = int(bool(node.attr("storage_order", 0)))
    if column_major and indices is not None and x.rank > 4:
        raise Unsupported("storage_order 1 counts positions over at most two spatial axes")
    given, window = cropped(node, b, b.ref(x), pool_window(node, x))
    arguments = _arguments(column_major if indices is not None else 0, window)
    places = [] if indices is None else [b.out(indices)]
    target = needed(node.outputs, 0)
    if x.dtype in (INT8, UINT8) and indices is None:
        b.emit("max_pool_bytes", [given], [b.out(target)], arguments)
    elif x.dtype in (INT8, UINT8):  # float32 holds them all
        most = b.temp(FLOAT32, target.dims)
        b.emit("max_pool", [b.cast(given, FLOAT32)], [most, *places], arguments)
        b.bind(target, b.cast(most, x.dtype))
    else:
        b.emit("max_pool", [given], [b.out(target), *places], arguments)


@lowers("average_pool")
def lower_average_pool(node: NodeView, b: PlanBuilder) -> None:
    x = _input(node)
    mode = int(bool(node.attr("count_include_pad", 0)))
    given, window = cropped(node, b, b.ref(x), pool_window(node, x))
    b.emit("average_pool", [given], [b.out(needed(node.outputs, 0))], _arguments(mode, window))


def _emit_global(node: NodeView, b: PlanBuilder, kernel: str) -> None:
    x = _input(node)
    whole = [POOL_AXIS.pack(kernel=dim, stride=1, dilation=1, before=0, after=0) for dim in x.dims[2:]]
    b.emit(kernel, [b.ref(x)], [b.out(needed(node.outputs, 0))], POOL.pack(*whole, mode=0))


@lowers("global_average_pool")
def lower_global_average_pool(node: NodeView, b: PlanBuilder) -> None:
    _emit_global(node, b, "average_pool")


@lowers("global_max_pool")
def lower_global_max_pool(node: NodeView, b: PlanBuilder) -> None:
    _emit_global(node, b, "max_pool")
