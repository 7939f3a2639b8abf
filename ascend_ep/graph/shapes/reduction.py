"""Shapes of reductions, arg-reductions and running sums."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, UnknownShape, infers, same_as_input, tracked
from ascend_ep.opdef.dims import Dim, max_, min_, product

infers("CumProd", "CumSum")(same_as_input)


def _reduced(dims: Sequence[Dim], axes: Sequence[int], keep: bool) -> list[Dim]:
    return [1 if i in axes else d for i, d in enumerate(dims) if keep or i not in axes]


@infers(
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
    "ReduceLogSumExp", "ReduceSumSquare",
)  # fmt: skip
def infer_reduction(call: Call) -> Fact:
    dims = call.dims(0)
    keep = bool(call.attr("keepdims", 1))
    operand_since = 13 if call.node.op_type == "ReduceSum" else 18
    if call.version < operand_since:
        axes = call.attr("axes")
    elif call.has(1):
        try:
            axes = call.ints(1)
        except UnknownShape:
            noop = bool(call.attr("noop_with_empty_axes", 0))
            given = 0 if keep else call.count(1) or (0 if noop else len(dims))
            return Fact(dims=call.fresh_dims(0, max(len(dims) - given, 0)))
    else:
        axes = None
    if not axes:
        if call.attr("noop_with_empty_axes", 0) and call.version >= operand_since:
            return Fact(dims=dims)
        axes = range(len(dims))
    places = call.axes(axes, len(dims))
    return _reduced_elements(call, places, keep) or Fact(dims=_reduced(dims, places, keep))


def _reduced_elements(call: Call, axes: Sequence[int], keep: bool) -> Fact | None:
    """Integer reductions over a vector: sizes computed by exporters."""
    array = call.elements(0)
    if array is None or array.ndim != 1 or list(axes) != [0]:
        return None
    values: list[Dim] = list(array)
    result: Dim
    if call.node.op_type == "ReduceProd":
        result = product(values)
    elif call.node.op_type == "ReduceSum":
        result = sum(values[1:], values[0]) if values else 0
    elif values and call.node.op_type in ("ReduceMax", "ReduceMin"):
        result = reduce(max_ if call.node.op_type == "ReduceMax" else min_, values)
    else:
        return None
    array = array[:1].copy() if array.size else None
    if array is None:
        return None
    array[0] = result
    return tracked(array if keep else array.reshape(()))


@infers("ArgMax", "ArgMin")
def infer_arg(call: Call) -> Fact:
    dims = call.dims(0)
    axis = call.axis(int(call.attr("axis", 0)), len(dims))
    rest = [d for i, d in enumerate(dims) if i != axis]
    if dims[axis] == 0 and all(isinstance(d, int) and d > 0 for d in rest):
        call.fail("the reduced dimension is empty")
    return Fact(7, _reduced(dims, [axis], bool(call.attr("keepdims", 1))))
