"""Shapes of normalisations."""

from __future__ import annotations

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, infers


@infers("InstanceNormalization", "GroupNormalization", "RMSNormalization")
def infer_normalization(call: Call) -> Fact:
    if call.node.op_type == "RMSNormalization":
        call.axis(int(call.attr("axis", -1)), len(call.dims(0)))
    return Fact(dims=call.dims(0))


@infers("LayerNormalization")
def infer_layer_normalization(call: Call) -> list[Fact]:
    dims = call.dims(0)
    axis = call.axis(int(call.attr("axis", -1)), len(dims))
    reduced = [*dims[:axis], *(1 for _ in dims[axis:])]
    stash = int(call.attr("stash_type", 1))
    return [Fact(dims=dims), Fact(stash, reduced), Fact(stash, reduced)][: call.n_outputs]


@infers("BatchNormalization")
def infer_batch_normalization(call: Call) -> list[Fact]:
    dims = call.dims(0)
    channels = dims[1] if len(dims) > 1 else 1
    for index in range(1, 5):
        if call.has(index) and call.fact(index).dims is not None:
            channels = call.require(channels, (*call.dims(index), 1)[0], "the number of channels")
    return [Fact(dims=dims), *(Fact(call.dtype(3), [channels]) for _ in range(call.n_outputs - 1))]
