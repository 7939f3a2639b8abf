"""RNN, GRU and LSTM in float64, in every form ONNX gives them; onnx.reference knows only some."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

Function = Callable[[Any, float, float], Any]

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


class _Recurrent(OpRun):
    """One direction after the other, a step and a row of states at a time."""

    def _run(
        self, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h0: Any = None, c0: Any = None,
        p: Any = None, **a: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        batch_first, hidden = bool(a.get("layout")), r.shape[-1]
        if batch_first:
            x = x.swapaxes(0, 1)
            h0, c0 = (None if s is None else s.swapaxes(0, 1) for s in (h0, c0))
        steps, batch, directions = x.shape[0], x.shape[1], w.shape[0]
        y = np.zeros((steps, directions, batch, hidden))
        h = np.zeros((directions, batch, hidden)) if h0 is None else h0.astype(np.float64)
        c = np.zeros((directions, batch, hidden)) if c0 is None else c0.astype(np.float64)
        backwards = {"reverse": [True], "bidirectional": [False, True]}.get(
            _text(a.get("direction")), [False]
        )
        ends = np.full(batch, steps) if lengths is None else lengths
        if lengths is not None:  # a row of no steps has no last state
            h[:, ends == 0] = c[:, ends == 0] = 0
        for d in range(directions):
            bias = np.zeros(2 * w.shape[1]) if b is None else b[d]
            cell = _Cell(self.onnx_node.op_type, w[d], r[d], bias, None if p is None else p[d], a, d)
            for t in reversed(range(steps)) if backwards[d] else range(steps):
                on = t < ends
                h[d, on], c[d, on] = cell.step(x[t, on], h[d, on], c[d, on])
                y[t, d, on] = h[d, on]
        if batch_first:
            y, h, c = y.transpose(2, 0, 1, 3), h.swapaxes(0, 1), c.swapaxes(0, 1)
        return (y, h, c)[: len(self.onnx_node.output)]


class _Cell:
    """The equations of the operators' documentation."""

    def __init__(self, kind: str, w: Any, r: Any, b: Any, p: Any, a: dict[str, Any], d: int) -> None:
        self.kind, self.w, self.r, self.p = kind, w, r, p
        self.wb, self.rb = np.split(b, 2)
        self.clip = a.get("clip") or math.inf
        self.reset_after, self.coupled = bool(a.get("linear_before_reset")), bool(a.get("input_forget"))
        names = [_text(n) for n in a.get("activations") or ()] or DEFAULTS[kind] * 2
        alphas, betas = (list(a.get(f"activation_{k}") or ()) for k in ("alpha", "beta"))
        made: list[tuple[Function, float, float]] = []
        for name in names:
            function, own = FUNCTIONS[name.lower()]
            taken = [s.pop(0) if s else n for s, n in zip((alphas, betas), own, strict=False)] + [0.0, 0.0]
            made.append((function, taken[0], taken[1]))
        count = len(DEFAULTS[kind])
        self.functions = made[d * count : (d + 1) * count]

    def f(self, which: int, x: Any) -> Any:
        function, alpha, beta = self.functions[which]
        return function(np.clip(x, -self.clip, self.clip), alpha, beta)

    def step(self, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
        given, n = x @ self.w.T + self.wb, self.r.shape[-1]
        if self.kind == "RNN":
            return self.f(0, given + h @ self.r.T + self.rb), c
        if self.kind == "GRU":
            return self.gru(given, h, n), c
        i, o, f, g = np.split(given + h @ self.r.T + self.rb, 4, axis=1)
        pi, po, pf = (0, 0, 0) if self.p is None else np.split(self.p, 3)
        i = self.f(0, i + pi * c)
        f = 1 - i if self.coupled else self.f(0, f + pf * c)
        c = f * c + i * self.f(1, g)
        return self.f(0, o + po * c) * self.f(2, c), c

    def gru(self, given: Any, h: Any, n: int) -> Any:
        z, r = np.split(self.f(0, (given + h @ self.r.T + self.rb)[:, : 2 * n]), 2, axis=1)
        weights, bias = self.r[2 * n :].T, self.rb[2 * n :]
        own = r * (h @ weights + bias) if self.reset_after else (r * h) @ weights + bias
        return (1 - z) * self.f(1, given[:, 2 * n :] + own) + z * h


class RNN(_Recurrent):
    pass


class GRU(_Recurrent):
    pass


class LSTM(_Recurrent):
    pass


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
