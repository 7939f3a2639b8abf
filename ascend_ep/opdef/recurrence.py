"""The equations of RNN, GRU and LSTM in float64, in every form ONNX gives them.

How a matrix is multiplied with weights is given, so that operators on 8-bit integers have the same equations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Function = Callable[[Any, float, float], Any]
#: A matrix times weights.
Product = Callable[[Array], Array]

#: Activations of x, alpha and beta, with the defaults of these.
FUNCTIONS: dict[str, tuple[Function, tuple[float, ...]]] = {
    "sigmoid": (lambda x, a, b: 0.5 * (1 + np.tanh(0.5 * x)), ()),
    "tanh": (lambda x, a, b: np.tanh(x), ()),
    "relu": (lambda x, a, b: np.maximum(x, 0), ()),
    "affine": (lambda x, a, b: a * x + b, (1.0, 0.0)),
    "leakyrelu": (lambda x, a, b: np.where(x < 0, a * x, x), (0.01,)),
    "thresholdedrelu": (lambda x, a, b: np.where(x <= a, 0, x), (1.0,)),
    "scaledtanh": (lambda x, a, b: a * np.tanh(b * x), (1.0, 1.0)),
    "hardsigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), (0.2, 0.5)),
    "elu": (lambda x, a, b: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x), (1.0,)),
    "softsign": (lambda x, a, b: x / (1 + np.abs(x)), ()),
    "softplus": (lambda x, a, b: np.logaddexp(x, 0), ()),
}
DEFAULTS = {"RNN": ("tanh",), "GRU": ("sigmoid", "tanh"), "LSTM": ("sigmoid", "tanh", "tanh")}


@dataclass(frozen=True)
class Direction:
    """What one direction has: its products with W and R, the biases of both one behind the other, and an
    LSTM's peepholes; None for those that are absent."""

    of_x: Product
    of_h: Product
    bias: Array | None = None
    peepholes: Array | None = None


def recurrence(
    kind: str,
    x: Array,
    hidden: int,
    directions: Sequence[Direction],
    attributes: Mapping[str, Any],
    lengths: Array | None = None,
    h0: Array | None = None,
    c0: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Y [steps, directions, batch, hidden], and the last h and c [directions, batch, hidden], of x
    [steps, batch, inputs]. kind: RNN, GRU or LSTM; attributes: ONNX's."""
    steps, batch = x.shape[:2]
    count = len(directions)
    y = np.zeros((steps, count, batch, hidden))
    h = np.zeros((count, batch, hidden)) if h0 is None else h0.astype(np.float64)
    c = np.zeros((count, batch, hidden)) if c0 is None else c0.astype(np.float64)
    ends = np.full(batch, steps) if lengths is None else lengths
    if lengths is not None:  # a row of no steps has no last state
        h[:, ends == 0] = c[:, ends == 0] = 0
    for d, direction in enumerate(directions):
        backwards = text_of(attributes.get("direction")) == "reverse" or d == 1
        cell = _Cell(kind, direction, attributes, d, hidden)
        of_x = direction.of_x(x.reshape(steps * batch, x.shape[2]))
        of_x = of_x.reshape(steps, batch, of_x.shape[1])
        for t in reversed(range(steps)) if backwards else range(steps):
            on = (t < ends)[:, None]
            shown, state = cell.step(of_x[t], h[d], c[d])
            h[d], c[d] = np.where(on, shown, h[d]), np.where(on, state, c[d])
            y[t, d] = np.where(on, shown, 0)
    return y, h, c


class _Cell:
    """The equations of the operators' documentation."""

    def __init__(self, kind: str, direction: Direction, a: Mapping[str, Any], d: int, hidden: int) -> None:
        self.kind, self.n, self.of_h = kind, hidden, direction.of_h
        gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind] * hidden
        bias = np.zeros(2 * gates) if direction.bias is None else direction.bias.astype(np.float64)
        self.wb, self.rb = np.split(bias, 2)
        peepholes = direction.peepholes
        self.peepholes = (0, 0, 0) if peepholes is None else np.split(peepholes.astype(np.float64), 3)
        self.clip = a.get("clip") or math.inf
        self.reset_after, self.coupled = bool(a.get("linear_before_reset")), bool(a.get("input_forget"))
        self.functions = _functions(kind, a)[d * len(DEFAULTS[kind]) :]

    def f(self, which: int, x: Any) -> Any:
        function, alpha, beta = self.functions[which]
        return function(np.clip(x, -self.clip, self.clip), alpha, beta)

    def step(self, of_x: Array, h: Array, c: Array) -> tuple[Any, Any]:
        given = of_x + self.wb
        if self.kind == "GRU":
            return self.gru(given, h), c
        sums = given + self.of_h(h) + self.rb
        if self.kind == "RNN":
            return self.f(0, sums), c
        i, o, f, g = np.split(sums, 4, axis=1)
        pi, po, pf = self.peepholes
        i = self.f(0, i + pi * c)
        f = 1 - i if self.coupled else self.f(0, f + pf * c)
        c = f * c + i * self.f(1, g)
        return self.f(0, o + po * c) * self.f(2, c), c

    def gru(self, given: Array, h: Array) -> Any:
        of_h, two = self.of_h(h) + self.rb, 2 * self.n
        z, r = np.split(self.f(0, (given + of_h)[:, :two]), 2, axis=1)
        own = r * of_h[:, two:] if self.reset_after else (self.of_h(r * h) + self.rb)[:, two:]
        return (1 - z) * self.f(1, given[:, two:] + own) + z * h


def _functions(kind: str, a: Mapping[str, Any]) -> list[tuple[Function, float, float]]:
    """The activations of all directions, one behind the other."""
    names = [text_of(n) for n in a.get("activations") or ()] or DEFAULTS[kind] * 2
    alphas, betas = (list(a.get(f"activation_{k}") or ()) for k in ("alpha", "beta"))
    made: list[tuple[Function, float, float]] = []
    for name in names:
        function, own = FUNCTIONS[name.lower()]
        taken = [s.pop(0) if s else n for s, n in zip((alphas, betas), own, strict=False)] + [0.0, 0.0]
        made.append((function, taken[0], taken[1]))
    return made


def text_of(value: Any) -> str:
    """An attribute's text, which onnx has as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)
