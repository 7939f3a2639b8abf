"""Shapes of recurrent operators."""

from __future__ import annotations

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, infers
from ascend_ep.opdef.dims import Dim


@infers("LSTM", "GRU", "RNN")
def infer_recurrent(call: Call) -> list[Fact]:
    x, r = call.dims(0, 3), call.dims(2, 3)
    directions = 2 if call.attr("direction", "forward") == "bidirectional" else 1
    hidden: Dim = int(call.attr("hidden_size", 0)) or r[-1]
    batch_first = bool(call.attr("layout", 0))
    steps, batch = (x[1], x[0]) if batch_first else (x[0], x[1])
    sequence: list[Dim] = (
        [batch, steps, directions, hidden] if batch_first else [steps, directions, batch, hidden]
    )
    state: list[Dim] = [batch, directions, hidden] if batch_first else [directions, batch, hidden]
    return [Fact(call.dtype(0), sequence), Fact(call.dtype(0), state), Fact(call.dtype(0), state)][
        : call.n_outputs
    ]
