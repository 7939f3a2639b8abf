"""Shapes of operators that order elements."""

from __future__ import annotations

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, infers, same_as_input
from ascend_ep.opdef.dims import Dim

infers("Hardmax")(same_as_input)


@infers("TopK")
def infer_topk(call: Call) -> list[Fact]:
    dims = list(call.dims(0))
    axis = call.axis(int(call.attr("axis", -1)), len(dims))
    values = call.fact(1).shape_value if call.version >= 10 else [int(call.attr("k", 0))]
    k: Dim = call.fresh(0, axis) if not values else values[0]
    if isinstance(k, int) and (k < 0 or (isinstance(dims[axis], int) and k > dims[axis])):  # type: ignore[operator]
        call.fail(f"k is {k} for a dimension of {dims[axis]}")
    dims[axis] = k
    return [Fact(call.dtype(0), dims), Fact(7, dims)]
