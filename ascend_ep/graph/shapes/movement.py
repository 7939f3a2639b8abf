"""Shapes of operators that move elements: reshaping, permuting, joining, splitting, repeating, padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shape_constraints import shared_factors_removed
from ascend_ep.graph.shapes.rule import (
    Call,
    UnknownShape,
    VaryingRank,
    broadcast,
    infers,
    same_as_input,
    tracked,
)
from ascend_ep.opdef.dims import Dim, DimExpr, bounds, floordiv, product

infers("Trilu")(same_as_input)


def reshaped(call: Call, dims: Sequence[Dim]) -> Fact:
    """Input 0's elements, if tracked, in the new shape."""
    array = call.elements(0)
    static = [d for d in dims if isinstance(d, int)]
    if array is not None and len(static) == len(dims) and array.size == np.prod(static, dtype=np.int64):
        return tracked(array.reshape(static)) or Fact(dims=dims)
    return Fact(dims=dims)


@infers("Reshape")
def infer_reshape(call: Call) -> Fact:
    if call.version < 5:
        wanted: Sequence[Dim] = call.attr("shape", ())
    else:
        target = call.fact(1)
        if target.shape_value is None:
            return Fact(dims=call.fresh_dims(0, call.count(1)))
        wanted = target.shape_value
    allow_zero = bool(call.attr("allowzero", 0))
    dims: list[Dim] = []
    unknown: int | None = None
    for index, dim in enumerate(wanted):
        if dim == -1:
            if unknown is not None:
                call.fail("shape has two -1")
            unknown = index
            dims.append(1)
        elif dim == 0 and not allow_zero:
            source = call.dims(0)
            if index >= len(source):
                call.fail(f"shape copies dimension {index} of an input of rank {len(source)}")
            dims.append(source[index])
        elif isinstance(dim, int) and dim < 0:
            call.fail(f"shape has dimension {dim}")
        else:
            dims.append(dim)
    if call.fact(0).dims is None:
        if unknown is not None:
            dims[unknown] = call.fresh(0, unknown)
        return Fact(dims=dims)
    total, rest = product(call.dims(0)), product(dims)
    if unknown is not None:
        dims[unknown] = _remaining(call, total, rest)
        call.constraints.see_quotient(dims[unknown], total, rest)
    elif isinstance(total, int) and isinstance(rest, int) and total != rest:
        call.fail(f"{total} elements don't fit shape {list(wanted)}")
    else:
        call.require(*shared_factors_removed(total, rest), "the number of elements")
    return reshaped(call, dims)


def _remaining(call: Call, total: Dim, rest: Dim) -> Dim:
    if rest == 0:
        call.fail("-1 is undetermined beside a dimension of 0")
    if isinstance(total, int) and isinstance(rest, int) and total % rest:
        call.fail(f"{total} elements don't divide by {rest}")
    return floordiv(total, rest)


@infers("Flatten")
def infer_flatten(call: Call) -> Fact:
    if call.fact(0).dims is None:
        return Fact(dims=call.fresh_dims(0, 2))
    dims = call.dims(0)
    axis = int(call.attr("axis", 1))
    axis = len(dims) if axis == len(dims) else call.axis(axis, len(dims))
    return reshaped(call, [product(dims[:axis]), product(dims[axis:])])


@infers("Transpose")
def infer_transpose(call: Call) -> Fact:
    dims = call.dims(0)
    order = call.axes(call.attr("perm", tuple(reversed(range(len(dims))))), len(dims))
    if len(order) != len(dims):
        call.fail(f"perm {order} doesn't fit rank {len(dims)}")
    array = call.elements(0)
    return tracked(None if array is None else array.transpose(order)) or Fact(dims=[dims[i] for i in order])


def _axes_operand(call: Call, since: int = 13) -> list[int] | None:
    """The axes of Squeeze, Unsqueeze and reductions: attribute before `since`, then input 1."""
    if call.version < since:
        axes = call.attr("axes")
        return None if axes is None else list(axes)
    return call.ints(1) if call.has(1) else None


def _are_fed(call: Call, since: int = 13) -> bool:
    """Whether the axes come with the data."""
    return call.version >= since and call.has(1) and not call.fact(1).is_const


@infers("Unsqueeze")
def infer_unsqueeze(call: Call) -> Fact:
    dims = call.dims(0)
    if _are_fed(call):
        return Fact(dims=call.fresh_dims(0, len(dims) + call.count(1)))
    axes = _axes_operand(call)
    if axes is None:
        call.fail("no axes")
    rank = len(dims) + len(axes)
    places = set(call.axes(axes, rank))
    rest = iter(dims)
    return reshaped(call, [1 if i in places else next(rest) for i in range(rank)])


def may_be_one(dim: Dim) -> bool:
    """Whether some sizes make it 1."""
    low, high = bounds(dim)
    return (low is None or low <= 1) and (high is None or high >= 1)


@infers("Squeeze")
def infer_squeeze(call: Call) -> Fact:
    dims = call.dims(0)
    axes = None
    if _are_fed(call):
        count = call.count(1)
        if count > len(dims):
            call.fail(f"{count} axes to squeeze of rank {len(dims)}")
        if count:
            return Fact(dims=call.fresh_dims(0, len(dims) - count))
    else:
        axes = _axes_operand(call)
    if not axes:
        if any(may_be_one(d) for d in dims if isinstance(d, DimExpr)):
            raise VaryingRank
        places = {i for i, d in enumerate(dims) if d == 1}
    else:
        places = set(call.axes(axes, len(dims)))
        for place in places:
            call.require(dims[place], 1, f"dimension {place} to squeeze")
    return reshaped(call, [d for i, d in enumerate(dims) if i not in places])


@infers("Concat")
def infer_concat(call: Call) -> Fact:
    known = [f.dims for f in call.inputs if f is not None and f.dims is not None]
    if not known:
        raise UnknownShape
    rank = len(known[0])
    if any(len(d) != rank for d in known):
        call.fail("inputs differ in rank")
    axis = call.axis(int(call.attr("axis", 1 if call.version < 4 else 0)), rank)
    dims = list(known[0])
    for other in known[1:]:
        for i in range(rank):
            if i != axis:
                dims[i] = call.require(dims[i], other[i], f"dimension {i}")
    if len(known) < len(call.inputs):
        dims[axis] = call.fresh(0, axis)
        return Fact(dims=dims)
    total: Dim = 0
    for other in known:
        total = total + other[axis]
    dims[axis] = total
    arrays = [call.elements(i) for i in range(len(call.inputs))]
    if all(a is not None for a in arrays):
        return tracked(np.concatenate([a for a in arrays if a is not None], axis=axis)) or Fact(dims=dims)
    return Fact(dims=dims)


@infers("Split")
def infer_split(call: Call) -> list[Fact]:
    dims = call.dims(0)
    axis = call.axis(int(call.attr("axis", 0)), len(dims))
    sizes = _split_sizes(call, dims[axis])
    array = call.elements(0)
    facts: list[Fact] = []
    start: Dim = 0
    for size in sizes:
        piece = None
        if array is not None and isinstance(size, int) and isinstance(start, int):
            piece = tracked(array.take(range(start, min(start + size, array.shape[axis])), axis=axis))
        facts.append(piece or Fact(dims=[*dims[:axis], size, *dims[axis + 1 :]]))
        start = start + size
    return facts


def _split_sizes(call: Call, dim: Dim) -> list[Dim]:
    count = call.n_outputs
    given = call.attr("split") if call.version < 13 else None
    if call.version >= 13 and call.has(1):
        values = call.fact(1).shape_value
        given = [call.fresh(i, 0) for i in range(count)] if values is None else values
    if given is not None:
        sizes: list[Dim] = list(given)
        if len(sizes) != count:
            call.fail(f"{len(sizes)} sizes for {count} outputs")
        if all(isinstance(s, int) for s in sizes):
            call.require(dim, sum(s for s in sizes if isinstance(s, int)), "the sum of the sizes")
        return sizes
    count = int(call.attr("num_outputs", count))
    if count != call.n_outputs:
        call.fail(f"num_outputs is {count}, but the node has {call.n_outputs} outputs")
    if call.version < 18 and isinstance(dim, int) and dim % count:
        call.fail(f"{dim} elements don't split into {count} equal parts")
    chunk = floordiv(dim + (count - 1), count) if call.version >= 18 else floordiv(dim, count)
    last = dim - chunk * (count - 1) if call.version >= 18 else chunk
    return [chunk] * (count - 1) + [last]


@infers("Expand")
def infer_expand(call: Call) -> Fact:
    target = call.fact(1)
    if target.shape_value is None:
        return Fact(dims=call.fresh_dims(0, max(len(call.dims(0)), call.count(1))))
    if any(isinstance(v, int) and v < 0 for v in target.shape_value):
        call.fail(f"shape {[str(v) for v in target.shape_value]} has a negative dimension")
    dims = broadcast(call, call.dims(0), target.shape_value)
    array = call.elements(0)
    static = [d for d in dims if isinstance(d, int)]
    if array is not None and len(static) == len(dims) and np.prod(static, dtype=np.float64) <= 1024:
        return tracked(np.broadcast_to(array, static)) or Fact(dims=dims)
    return Fact(dims=dims)


@infers("Tile")
def infer_tile(call: Call) -> Fact:
    dims = call.dims(0)
    try:
        repeats = call.values(1)
    except UnknownShape:
        return Fact(dims=call.fresh_dims(0, len(dims)))
    if len(repeats) != len(dims):
        call.fail(f"{len(repeats)} repeats for rank {len(dims)}")
    result = [d * r for d, r in zip(dims, repeats, strict=True)]
    array = call.elements(0)
    static = [r for r in repeats if isinstance(r, int)]
    if array is not None and len(static) == len(repeats) and product(d for d in result) in range(1025):
        return tracked(np.tile(array, static)) or Fact(dims=result)
    return Fact(dims=result)


@infers("Pad")
def infer_pad(call: Call) -> Fact:
    dims = call.dims(0)
    rank = len(dims)
    try:
        pads: Sequence[Dim] = call.attr("pads", ()) if call.version < 11 else call.values(1)
        axes = call.axes(call.ints(3) if call.has(3) else range(rank), rank)
    except UnknownShape:
        return Fact(dims=call.fresh_dims(0, rank))
    if len(pads) != 2 * len(axes):
        call.fail(f"{len(pads)} pads for {len(axes)} axes")
    result = list(dims)
    for i, axis in enumerate(axes):
        result[axis] = dims[axis] + pads[i] + pads[i + len(axes)]
    if any(isinstance(d, int) and d < 0 for d in result):
        call.fail("padding removes more than there is")
    return Fact(dims=result)


@infers("DepthToSpace")
def infer_depth_to_space(call: Call) -> Fact:
    n, c, h, w = _nchw(call)
    block = int(call.attr("blocksize", 0))
    if block < 1 or (isinstance(c, int) and c % (block * block)):
        call.fail(f"{c} channels don't split into blocks of {block}")
    return Fact(dims=[n, floordiv(c, block * block), h * block, w * block])


@infers("SpaceToDepth")
def infer_space_to_depth(call: Call) -> Fact:
    n, c, h, w = _nchw(call)
    block = int(call.attr("blocksize", 0))
    if block < 1 or any(isinstance(d, int) and d % block for d in (h, w)):
        call.fail(f"{h}x{w} doesn't split into blocks of {block}")
    return Fact(dims=[n, c * (block * block), floordiv(h, block), floordiv(w, block)])


def _nchw(call: Call) -> tuple[Dim, Dim, Dim, Dim]:
    n, c, h, w = call.dims(0, 4)
    return n, c, h, w


@infers("Identity")
def infer_identity(call: Call) -> Fact:
    fact = call.fact(0)
    return Fact(fact.dtype, fact.dims, fact.shape_value, fact.tensor)
