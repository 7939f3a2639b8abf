"""DynamicRNN of the graph engine, an LSTM of one layer with what its gradient needs, and DynamicRNNGrad.

Inputs x [T, B, I], w [I + H, 4 H], b [4 H], seq_length, init_h and init_c [1, B, H]; outputs y, output_h,
output_c, i, j, f, o and tanhc, each [T, B, H]. The four blocks of w and b come in the order of `gate_order`:
input, cell ("j") and forget gate, output. After the public description of mindspore.ops.DynamicRNN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .ge_builder import Builder

#: What attributes may be here, the default first; torch_npu gives the gradient others that mean the same. (It
#: names the cell's type by a character pointer, which C++ takes for a bool.)
_FIXED: dict[str, tuple[Any, ...]] = {
    "cell_type": ("LSTM", True),
    "cell_depth": (1, 0),
    "use_peephole": (False,),
    "keep_prob": (1.0, -1.0),
    "cell_clip": (-1.0,),
    "num_proj": (0,),
    "activation": ("tanh",),
}
_NOT_READ = {3: "seq_length", 6: "wci", 7: "wcf", 8: "wco", 9: "mask"}
#: Of the gradient, and which of them have a row for each step.
_GIVEN = ("x", "w", "b", "y", "init_h", "init_c", "h", "c", "dy", "dh", "dc", "i", "j", "f", "o", "tanhc")
_STEPS = ("x", "h", "c", "dy", "i", "j", "f", "o", "tanhc")
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

    def each(self, name: str, steps: int) -> list[str]:
        """Step by step, [1, B, ...]."""
        if steps == 1:
            return [name]
        first = self.b.add("Split", name, outputs=steps, axis=0, num_outputs=steps)
        return [first, *(f"{first}_{i}" for i in range(1, steps))]

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


def _order(b: Builder) -> tuple[str, bool]:
    """That of the gates, and whether the layer runs backwards."""
    for name, values in _FIXED.items():
        if b.attr(name, values[0]) not in values:
            raise b.wrong(name, f"only {values[0]} is computed here.")
    order, direction = b.attr("gate_order", _ORDERS[0]), b.attr("direction", _DIRECTIONS[0])
    if order not in _ORDERS:
        raise b.wrong("gate_order", f"it must be {' or '.join(_ORDERS)}.")
    if direction not in _DIRECTIONS:
        raise b.wrong("direction", f"it must be {' or '.join(_DIRECTIONS)}.")
    return order, direction == _DIRECTIONS[1]


def dynamic_rnn(b: Builder) -> Sequence[str]:
    order, reverse = _order(b)
    b.attr("is_training")
    for index, name in _NOT_READ.items():
        if b.given(index):
            raise b.wrong(name, "this input isn't read here.")
    g = _Graph(b)
    in_time = b.attr("time_major", True)
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


def dynamic_rnn_grad(b: Builder) -> Sequence[str]:
    """Of what DynamicRNN gave, as torch_npu asks for it: dw, db, dx, and the gradients of the first states.

    Each step needs the product of the one after it, so its nodes are there once a step."""
    order, reverse = _order(b)
    if not b.attr("time_major", True) or b.attr("forget_bias", 0.0):
        raise b.wrong("time_major", "the gradient has time first, and no forget_bias.")
    for index in range(len(_GIVEN), len(b.inputs)):
        if b.given(index) and b.tensor(index).shape:
            raise b.wrong("seq_length", "lengths, masks and peepholes are not computed here.")
    g, t = _Graph(b), {name: b.input(i) for i, name in enumerate(_GIVEN)}
    (steps, batch, width), hidden = b.tensor(0).shape, b.tensor(6).shape[-1]
    if reverse:
        t |= {name: g.backwards(t[name]) for name in _STEPS}
    for name in ("init_h", "init_c", "dh", "dc"):
        t[name] = b.add("Reshape", t[name], g.ints(1, batch, hidden))
    one = b.constant(np.array(1, g.dtype))
    h_before, c_before = (g.later(t[n], steps, t[f"init_{n}"]) for n in "hc")

    def slope(name: str) -> str:
        """Of a sigmoid, or of the tanh of j and tanhc, by its value."""
        value = t[name]
        if name in ("j", "tanhc"):
            return b.add("Sub", one, b.add("Mul", value, value))
        return b.add("Mul", value, b.add("Sub", one, value))

    beside = {"i": t["j"], "j": t["i"], "f": c_before}
    of_cell = [b.add("Mul", beside[k], slope(k)) for k in order[:3]]
    by_step = {
        "dy": g.each(t["dy"], steps),
        "f": g.each(t["f"], steps),
        "o": g.each(b.add("Mul", t["tanhc"], slope("o")), steps),
        "tanhc": g.each(b.add("Mul", t["o"], slope("tanhc")), steps),
        "cell": g.each(b.add("Concat", *of_cell, axis=2), steps),
    }
    transposed = b.add("Transpose", t["w"], perm=[1, 0])
    to_h = g.part(transposed, width, width + hidden, 1)
    dh, dc, made = t["dh"], t["dc"], []
    for s in reversed(range(steps)):
        dh = b.add("Add", by_step["dy"][s], dh)
        dc = b.add("Add", dc, b.add("Mul", dh, by_step["tanhc"][s]))
        gates = b.add("Mul", b.add("Concat", dc, dc, dc, axis=2), by_step["cell"][s])
        made.append(b.add("Concat", gates, b.add("Mul", dh, by_step["o"][s]), axis=2))
        dh, dc = b.add("MatMul", made[-1], to_h), b.add("Mul", dc, by_step["f"][s])
    gates = b.add("Concat", *reversed(made), axis=0)
    dx = b.add("MatMul", gates, g.part(transposed, 0, width, 1))
    if reverse:
        dx = g.backwards(dx)
    rows = b.add("Reshape", gates, g.ints(steps * batch, 4 * hidden))
    read = b.add("Reshape", b.add("Concat", t["x"], h_before, axis=2), g.ints(steps * batch, width + hidden))
    dw = b.add("MatMul", b.add("Transpose", read, perm=[1, 0]), rows)
    results = [dw, b.add("ReduceSum", rows, g.ints(0), keepdims=0), dx, dh, dc]
    shapes = [output.shape for output in b.desc.outputs]
    return [b.add("Reshape", r, g.ints(*shape)) for r, shape in zip(results, shapes, strict=False)]
