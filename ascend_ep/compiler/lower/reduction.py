"""Reduce*, ArgMax and ArgMin, CumSum and CumProd."""

from __future__ import annotations

from ascend_ep.compiler.lower.arguments import (
    axis_of,
    is_run_time,
    known_ints,
    needed,
    operand,
    run_time_ints,
    wrap_axis,
)
from ascend_ep.compiler.lower.elementwise import Program, emit_program
from ascend_ep.compiler.lower.views import permuted
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, Ref, lowers
from ascend_ep.opdef.dtypes import (
    BOOL,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    INTEGERS,
    UINT8,
    UINT16,
    UINT32,
)
from ascend_ep.plan.kernel_params import ARG_REDUCE, CUMSUM, REDUCE, REDUCE_GIVEN, SOFTMAX, choices

#: The kernel's number of each operator.
OPS = {
    operator: choices("asc_reduce")[operator.removeprefix("Reduce").lower()]
    for operator in (
        "ReduceSum",
        "ReduceMean",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
        "ReduceL1",
        "ReduceL2",
        "ReduceSumSquare",
        "ReduceLogSum",
    )
}


#: The least and the greatest number of the types whose extremes are found in a wider one.
NARROW_LIMITS = {
    BOOL: (0, 1),
    INT8: (-(2**7), 2**7 - 1),
    UINT8: (0, 2**8 - 1),
    INT16: (-(2**15), 2**15 - 1),
    UINT16: (0, 2**16 - 1),
    UINT32: (0, 2**32 - 1),
}


def reduced_axes(node: NodeView) -> list[int]:
    """The axes, ascending: from the attribute, or from input 1 (ReduceSum since 13, the others since 18).

    None given means all, or none at all with noop_with_empty_axes.
    """
    rank = needed(node.inputs, 0).rank
    given = operand(node.inputs, 1)
    axes = known_ints(given, "axes") if given else [int(a) for a in node.attr("axes") or []]
    if not axes and not int(node.attr("noop_with_empty_axes", 0)):
        return list(range(rank))
    return sorted({wrap_axis(a, rank) for a in axes})


@lowers("reduce")
def lower_reduce(node: NodeView, b: PlanBuilder) -> None:
    """The square root and the logarithm of integers are those of float64."""
    x, target = b.ref(needed(node.inputs, 0)), needed(node.outputs, 0)
    if node.op_type in ("ReduceL2", "ReduceLogSum") and x.dtype in INTEGERS:
        made = b.temp(FLOAT64, target.dims)
        _emit(node, b, b.cast(x, FLOAT64), made)
        b.bind(target, b.cast(made, target.dtype))
    elif node.op_type in ("ReduceMax", "ReduceMin") and x.dtype in NARROW_LIMITS:
        wide = INT64 if x.dtype == UINT32 else INT32
        made = b.temp(wide, target.dims)
        _emit(node, b, b.cast(x, wide), made)
        program = Program()  # the extreme of nothing is the wide type's
        extreme = program.clip(program.input(made, wide), *NARROW_LIMITS[x.dtype])
        program.output(program.cast(extreme, target.dtype), target.dtype)
        emit_program(b, program, [b.out(target)])
    else:
        _emit(node, b, x, b.out(target))


def _emit(node: NodeView, b: PlanBuilder, x: Ref, out: Ref) -> None:
    given = operand(node.inputs, 1)
    if is_run_time(given):
        noop = int(bool(node.attr("noop_with_empty_axes", 0)))
        b.emit(
            "reduce", [x, run_time_ints(b, given)], [out], REDUCE_GIVEN.pack(op=OPS[node.op_type], noop=noop)
        )
    else:
        b.emit("reduce", [x], [out], REDUCE.pack(reduced_axes(node), op=OPS[node.op_type]))


@lowers("logsumexp")
def lower_logsumexp(node: NodeView, b: PlanBuilder) -> None:
    """ReduceLogSumExp: the kernel takes neighbouring axes, so others are moved to the end first."""
    axes, x = reduced_axes(node), b.ref(needed(node.inputs, 0))
    first = axes[0] if axes else 0
    if axes != list(range(first, first + len(axes))):
        kept = [i for i in range(x.rank) if i not in axes]
        x, first = permuted(b, x, [*kept, *axes]), len(kept)
    ints = SOFTMAX.pack(axis=first, axes=len(axes))
    b.emit("logsumexp", [x], [b.out(needed(node.outputs, 0))], ints)


def _lower_arg(kernel: str, node: NodeView, b: PlanBuilder) -> None:
    source = needed(node.inputs, 0)
    last = int(node.attr("select_last_index", 0))
    ints = ARG_REDUCE.pack(axis=axis_of(node, source.rank, 0), last=last)
    b.emit(kernel, [b.ref(source)], [b.out(needed(node.outputs, 0))], ints)


@lowers("argmax")
def lower_argmax(node: NodeView, b: PlanBuilder) -> None:
    _lower_arg("argmax", node, b)


@lowers("argmin")
def lower_argmin(node: NodeView, b: PlanBuilder) -> None:
    _lower_arg("argmin", node, b)


@lowers("cumsum")
def lower_cumsum(node: NodeView, b: PlanBuilder) -> None:
    _lower_running(node, b, "cumsum")


@lowers("cumprod")
def lower_cumprod(node: NodeView, b: PlanBuilder) -> None:
    _lower_running(node, b, "cumprod")


def _lower_running(node: NodeView, b: PlanBuilder, kernel: str) -> None:
    source = needed(node.inputs, 0)
    given = needed(node.inputs, 1)
    run_time = run_time_ints(b, given) if is_run_time(given) else None
    axis = 0 if run_time else wrap_axis(known_ints(given, "axis")[0], source.rank)
    exclusive, reverse = int(node.attr("exclusive", 0)), int(node.attr("reverse", 0))
    ints = CUMSUM.pack(axis=axis, exclusive=exclusive, reverse=reverse)
    b.emit(kernel, [b.ref(source), run_time], [b.out(needed(node.outputs, 0))], ints)
