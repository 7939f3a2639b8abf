"""MaxPool, AveragePool and their global forms as calls of native/kernels/pooling/pooling.c."""

from __future__ import annotations

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.windows import Window, spatial_ints, window_of
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Unsupported, lowers
from ascend_ep.opdef.dtypes import FLOAT32, INT8, UINT8
from ascend_ep.plan.kernel_params import POOL, POOL_AXIS


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
    """The window that a pooling node slides over the spatial axes of x."""
    if not node.has_attr("kernel_shape"):
        raise Unsupported("its kernel_shape is missing")
    return window_of(node, x.dims[2:], spatial_ints(node, "kernel_shape", x.rank - 2))


@lowers("max_pool")
def lower_max_pool(node: NodeView, b: PlanBuilder) -> None:
    x, indices = _input(node), operand(node.outputs, 1)
    column_major = int(bool(node.attr("storage_order", 0)))
    if column_major and indices is not None and x.rank > 4:
        raise Unsupported("storage_order 1 counts positions over at most two spatial axes")
    arguments = _arguments(column_major if indices is not None else 0, pool_window(node, x))
    places = [] if indices is None else [b.out(indices)]
    target = needed(node.outputs, 0)
    if x.dtype in (INT8, UINT8) and indices is None:
        b.emit("max_pool_bytes", [b.ref(x)], [b.out(target)], arguments)
    elif x.dtype in (INT8, UINT8):  # float32 holds them all
        most = b.temp(FLOAT32, target.dims)
        b.emit("max_pool", [b.cast(b.ref(x), FLOAT32)], [most, *places], arguments)
        b.bind(target, b.cast(most, x.dtype))
    else:
        b.emit("max_pool", [b.ref(x)], [b.out(target), *places], arguments)


@lowers("average_pool")
def lower_average_pool(node: NodeView, b: PlanBuilder) -> None:
    x = _input(node)
    mode = int(bool(node.attr("count_include_pad", 0)))
    b.emit(
        "average_pool", [b.ref(x)], [b.out(needed(node.outputs, 0))], _arguments(mode, pool_window(node, x))
    )


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
