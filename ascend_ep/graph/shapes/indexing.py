"""Shapes of operators that look elements up: Gather, Scatter, OneHot, NonZero and their kin."""

from __future__ import annotations

import numpy as np

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, VaryingRank, infers, same_as_input, tracked
from ascend_ep.opdef.dims import Dim, DimExpr

infers("ReverseSequence", "TensorScatter")(same_as_input)


@infers("Gather")
def infer_gather(call: Call) -> Fact:
    dims, indices = call.dims(0), call.dims(1)
    axis = call.axis(int(call.attr("axis", 0)), len(dims))
    array, picks = call.elements(0), call.elements(1)
    size = dims[axis]
    known = picks is not None and not any(isinstance(p, DimExpr) for p in picks.reshape(-1))
    places = picks.astype(np.int64) if known and picks is not None else np.zeros(0, np.int64)
    if isinstance(size, int) and places.size and (places.min() < -size or places.max() >= size):
        call.fail(f"an index is outside a dimension of {size}")
    if array is not None and known:
        result = np.asarray(array.take(places, axis=axis), dtype=object)
        return tracked(result) or Fact(dims=[*dims[:axis], *indices, *dims[axis + 1 :]])
    return Fact(dims=[*dims[:axis], *indices, *dims[axis + 1 :]])


@infers("GatherElements")
def infer_gather_elements(call: Call) -> Fact:
    rank = call.fact(0).rank
    return Fact(
        dims=call.fresh_dims(0, len(call.dims(0))) if call.fact(1).dims is None else call.dims(1, rank)
    )


@infers("GatherND")
def infer_gather_nd(call: Call) -> Fact:
    dims, indices = call.dims(0), call.dims(1)
    batch = int(call.attr("batch_dims", 0))
    if not indices or not 0 <= batch < min(len(dims), len(indices)) + 1:
        call.fail("batch_dims doesn't fit the ranks")
    depth = indices[-1]
    if not isinstance(depth, int):
        raise VaryingRank
    if batch + depth > len(dims):
        call.fail(f"indices of depth {depth} into rank {len(dims)}")
    return Fact(dims=[*indices[:-1], *dims[batch + depth :]])


@infers("Scatter", "ScatterElements", "ScatterND")
def infer_scatter(call: Call) -> Fact:
    array, indices, updates = call.elements(0), call.elements(1), call.elements(2)
    tracked_operands = array is not None and indices is not None and updates is not None
    if tracked_operands and call.node.op_type == "ScatterND" and call.attr("reduction", "none") == "none":
        assert array is not None
        assert indices is not None
        assert updates is not None
        picks = indices.reshape(-1)
        if array.ndim == 1 and indices.ndim == 2 and indices.shape[1] == 1 and updates.shape == (len(picks),):
            changed = array.copy()
            for pick, update in zip(picks, updates, strict=True):
                if not isinstance(pick, int) or not -len(changed) <= pick < len(changed):
                    return Fact(dims=call.dims(0))
                changed[pick] = update
            return tracked(changed) or Fact(dims=call.dims(0))
    return Fact(dims=call.dims(0))


@infers("OneHot")
def infer_one_hot(call: Call) -> Fact:
    dims = list(call.dims(0))
    values, const = call.fact(1).shape_value, call.const(1)
    axis = call.axis(int(call.attr("axis", -1)), len(dims) + 1)
    depth: Dim = values[0] if values else call.fresh(0, axis)
    if const is not None and const.size == 1:
        depth = int(const.reshape(-1)[0])
    return Fact(call.dtype(2), [*dims[:axis], depth, *dims[axis:]])


@infers("NonZero")
def infer_nonzero(call: Call) -> Fact:
    rank = call.fact(0).rank
    return Fact(7, [call.fresh(0, 0) if rank is None else rank, call.fresh(0, 1)])


@infers("Compress")
def infer_compress(call: Call) -> Fact:
    if call.attr("axis") is None:
        return Fact(dims=[call.fresh(0, 0)])
    dims = list(call.dims(0))
    axis = call.axis(int(call.attr("axis")), len(dims))
    dims[axis] = call.fresh(0, axis)
    return Fact(dims=dims)


@infers("Unique")
def infer_unique(call: Call) -> list[Fact]:
    count = call.fresh(0, 0)
    dims: list[Dim] = [count]
    if call.attr("axis") is not None:
        dims = list(call.dims(0))
        dims[call.axis(int(call.attr("axis")), len(dims))] = count
    facts = [Fact(call.dtype(0), dims), Fact(7, [count])]
    if call.n_outputs > 2:
        facts += [Fact(7, [call.fresh(2, 0)]), Fact(7, [count])]
    return facts[: call.n_outputs]


@infers("NonMaxSuppression")
def infer_nms(call: Call) -> Fact:
    return Fact(7, [call.fresh(0, 0), 3])


@infers("Multinomial")
def infer_multinomial(call: Call) -> Fact:
    return Fact(int(call.attr("dtype", 6)), [call.dims(0, 2)[0], int(call.attr("sample_size", 1))])
