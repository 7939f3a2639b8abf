"""Shapes of normalisations."""

from __future__ import annotations

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, infers, require_broadcast, same_as_input
from ascend_ep.opdef.dims import Dim

infers("LRN", "LogSoftmax", "LpNormalization", "MeanVarianceNormalization", "Softmax")(same_as_input)


@infers("GroupNormalization")
def infer_group_normalization(call: Call) -> Fact:
    """Scale and bias hold one element for each channel, before opset 21 for each group."""
    dims = call.dims(0)
    wanted = int(call.attr("num_groups", 0)) if call.version < 21 else (*dims, 1, 1)[1]
    for index in (1, 2):
        if call.fact(index).dims is not None:
            call.require((*call.dims(index), 1)[0], wanted, f"the elements of input {index}")
    return Fact(dims=dims)


@infers("InstanceNormalization", "RMSNormalization")
def infer_normalization(call: Call) -> Fact:
    if call.node.op_type == "RMSNormalization":
        call.axis(int(call.attr("axis", -1)), len(call.dims(0)))
        require_broadcast(call, 1, call.dims(0), "scale")
    return Fact(dims=call.dims(0))


@infers("LayerNormalization")
def infer_layer_normalization(call: Call) -> list[Fact]:
    dims = call.dims(0)
    axis = call.axis(int(call.attr("axis", -1)), len(dims))
    reduced = [*dims[:axis], *(1 for _ in dims[axis:])]
    stash = int(call.attr("stash_type", 1))
    for index, name in ((1, "Scale"), (2, "B")):
        require_broadcast(call, index, dims, name)
    return [Fact(dims=dims), Fact(stash, reduced), Fact(stash, reduced)][: call.n_outputs]


@infers("BatchNormalization")
def infer_batch_normalization(call: Call) -> list[Fact]:
    dims = call.fact(0).dims
    channels: Dim | None = None if dims is None else (*dims, 1, 1)[1]
    for index in range(1, 5):
        if call.has(index) and call.fact(index).dims is not None:
            given = (*call.dims(index), 1)[0]
            channels = given if channels is None else call.require(channels, given, "the number of channels")
    statistics = range(1, call.n_outputs)
    sizes = (call.fresh(i, 0) if channels is None else channels for i in statistics)
    return [Fact(dims=dims), *(Fact(call.dtype(3), [size]) for size in sizes)]
