"""DynamicRNN of the graph engine: an LSTM of one layer that also gives what its gradient needs.

Inputs x [T, B, I], w [I + H, 4 H], b [4 H], seq_length, init_h and init_c [1, B, H]; outputs y, output_h,
output_c, i, j, f, o and tanhc, each [T, B, H]. The four blocks of w and b come in the order of `gate_order`:
input, cell ("j") and forget gate, output. After the public description of mindspore.ops.DynamicRNN.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .ge_builder import Builder
from .ge_translations import only

#: What is computed is what these have by default.
_FIXED = {
    "cell_type": "LSTM",
    "cell_depth": 1,
    "use_peephole": False,
    "keep_prob": 1.0,
    "cell_clip": -1.0,
    "num_proj": 0,
    "activation": "tanh",
}
_NOT_READ = {3: "seq_length", 6: "wci", 7: "wcf", 8: "wco", 9: "mask"}
_ORDERS = ("ijfo", "ifjo")
_DIRECTIONS = ("UNIDIRECTIONAL", "REDIRECTIONAL")


class _Graph:
    """Steps of tensors [T, B, ...] as nodes."""

    def __init__(self, b: Builder) -> None:
        self.b, self.dtype = b, b.tensor(0).type.numpy()

    def ints(self, *numbers: int) -> str:
        return self.b.constant(np.array(numbers, np.int64))

    def zeros(self, *dims: int) -> str:
        return self.b.constant(np.zeros(dims, self.dtype))

    def part(self, name: str, start: int, end: int, axis: int = 0, step: int = 1) -> str:
        return self.b.add("Slice", name, *(self.ints(n) for n in (start, end, axis, step)))

    def gates(self, name: str, order: str, axis: int) -> dict[str, str]:
        """The four blocks, by letter."""
        first = self.b.add("Split", name, outputs=4, axis=axis, num_outputs=4)
        return dict(zip(order, (first, *(f"{first}_{i}" for i in range(1, 4))), strict=True))

    def backwards(self, name: str) -> str:
        return self.part(name, -1, -(2**31), step=-1)

    def later(self, name: str, steps: int, first: str, by: int = 1) -> str:
        """A tensor of `steps` steps moved by so many: what comes first is given."""
        return self.b.add("Concat", first, self.part(name, 0, steps - by), axis=0) if steps > by else first

    def states(self, f: str, u: str, steps: int, batch: int, hidden: int) -> str:
        """c(t) = f(t) c(t-1) + u(t), c(0) = u(0), for all steps in log2(steps) rounds: after each, f and u
        stand for twice as many steps."""
        b, by = self.b, 1
        while by < steps:
            none = self.zeros(by, batch, hidden)
            u = b.add("Add", u, b.add("Mul", f, self.later(u, steps, none, by)))
            f = b.add("Mul", f, self.later(f, steps, none, by))
            by *= 2
        return u


def dynamic_rnn(b: Builder) -> Sequence[str]:
    for name, default in _FIXED.items():
        only(name, default)(b)
    b.attr("is_training")
    order, direction = b.attr("gate_order", _ORDERS[0]), b.attr("direction", _DIRECTIONS[0])
    if order not in _ORDERS:
        raise b.wrong("gate_order", f"it must be {' or '.join(_ORDERS)}.")
    if direction not in _DIRECTIONS:
        raise b.wrong("direction", f"it must be {' or '.join(_DIRECTIONS)}.")
    for index, name in _NOT_READ.items():
        if b.given(index):
            raise b.wrong(name, "this input isn't read here.")
    g = _Graph(b)
    in_time, reverse = b.attr("time_major", True), direction == _DIRECTIONS[1]
    x, (steps, batch, width) = b.input(0), b.tensor(0).shape
    if not in_time:
        x, steps, batch = b.add("Transpose", x, perm=[1, 0, 2]), batch, steps
    if reverse:
        x = g.backwards(x)
    if min(steps, batch) < 1:
        raise b.wrong("time_major", f"steps and batch are {steps} and {batch}; both must be known.")
    hidden = b.tensor(1).shape[1] // 4
    first_h, first_c = (b.given(i) or g.zeros(1, batch, hidden) for i in (4, 5))
    bias = g.gates(b.input(2), order, 0)
    if forget := b.attr("forget_bias", 0.0):
        bias["f"] = b.add("Add", bias["f"], b.constant(np.array(forget, g.dtype)))
    weights = g.gates(b.input(1), order, 1)

    of_onnx = b.add("Transpose", b.add("Concat", *(weights[k] for k in "iofj"), axis=1), perm=[1, 0])
    layer = [g.part(of_onnx, 0, width, 1), g.part(of_onnx, width, width + hidden, 1)]
    layer.append(b.add("Concat", *(bias[k] for k in "iofj"), g.zeros(4 * hidden), axis=0))
    operands = [b.add("Unsqueeze", name, g.ints(0)) for name in layer]
    y = b.add("LSTM", x, *operands, "", first_h, first_c, hidden_size=hidden)
    y = b.add("Squeeze", y, g.ints(1))

    read = b.add("Concat", x, g.later(y, steps, first_h), axis=2)
    gates = {
        k: b.add("Tanh" if k == "j" else "Sigmoid", b.add("Add", b.add("MatMul", read, weights[k]), bias[k]))
        for k in order
    }
    forgotten = b.add("Concat", g.zeros(1, batch, hidden), gates["f"], axis=0)
    added = b.add("Concat", first_c, b.add("Mul", gates["i"], gates["j"]), axis=0)
    c = g.part(g.states(forgotten, added, steps + 1, batch, hidden), 1, steps + 1)
    results = [y, y, c, *(gates[k] for k in "ijfo"), b.add("Tanh", c)]
    if reverse:
        results = [g.backwards(name) for name in results]
    return results if in_time else [b.add("Transpose", name, perm=[1, 0, 2]) for name in results]
