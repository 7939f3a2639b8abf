"""RNN, GRU and LSTM in PyTorch, in every form that ONNX gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ascend_ep.frameworks.torch.equivalent_arguments import Attributes, Equivalent
from ascend_ep.opdef.recurrence import DEFAULTS, FUNCTIONS

Function = Callable[[Any, float, float], Any]


def _functions() -> dict[str, Function]:
    """Activations of x, alpha and beta."""
    import torch

    own = torch.nn.functional
    return {
        "sigmoid": lambda x, a, b: torch.sigmoid(x),
        "tanh": lambda x, a, b: torch.tanh(x),
        "relu": lambda x, a, b: torch.relu(x),
        "affine": lambda x, a, b: a * x + b,
        "leakyrelu": lambda x, a, b: own.leaky_relu(x, a),
        "thresholdedrelu": lambda x, a, b: torch.where(x <= a, 0.0, x),
        "scaledtanh": lambda x, a, b: a * torch.tanh(b * x),
        "hardsigmoid": lambda x, a, b: (a * x + b).clamp(0, 1),
        "elu": lambda x, a, b: own.elu(x, a),
        "softsign": lambda x, a, b: x / (1 + x.abs()),
        "softplus": lambda x, a, b: own.softplus(x),
    }


def _activations(kind: str, a: Attributes) -> list[Callable[[Any], Any]]:
    """Those of all directions, one behind the other."""
    names, known = a.get("activations") or DEFAULTS[kind] * 2, _functions()
    alphas, betas = (list(a.get(f"activation_{k}") or ()) for k in ("alpha", "beta"))
    made = []
    for name in names:
        own = FUNCTIONS[name.lower()][1]
        given = [s.pop(0) if s else n for s, n in zip((alphas, betas), own, strict=False)] + [0.0, 0.0]
        made.append(_limited(known[name.lower()], given[0], given[1], a.get("clip")))
    return made


def _limited(function: Function, alpha: float, beta: float, clip: float | None) -> Callable[[Any], Any]:
    return lambda x: function(x.clamp(-clip, clip) if clip else x, alpha, beta)


def recurrent(kind: str) -> Equivalent:
    """The equivalent of an operator: RNN, GRU or LSTM."""

    def equivalent(x: Any, w: Any, r: Any, b: Any, lengths: Any, h0: Any, *, a: Attributes) -> Any:
        return _outputs(kind, (x, w, r, b, lengths, h0, None, None), a)

    def with_state(
        x: Any, w: Any, r: Any, b: Any, lengths: Any, h0: Any, c0: Any, p: Any, *, a: Attributes
    ) -> Any:
        return _outputs(kind, (x, w, r, b, lengths, h0, c0, p), a)

    return with_state if kind == "LSTM" else equivalent


def _outputs(kind: str, inputs: tuple[Any, ...], a: Attributes) -> tuple[Any, ...]:
    """Y, the last h, and an LSTM's last c."""
    import torch

    x, w, r, b, lengths, h0, c0, p = inputs
    batch_first = bool(a.get("layout", 0))
    if batch_first:
        x, h0, c0 = (None if t is None else t.transpose(0, 1) for t in (x, h0, c0))
    steps, batch, hidden = x.shape[0], x.shape[1], r.shape[-1]
    functions = _activations(kind, a)
    zero = torch.zeros((batch, hidden), dtype=x.dtype)
    ends = None if lengths is None else lengths[:, None]
    shown, hs, cs = [], [], []
    for d in range(w.shape[0]):
        h, c = (zero if s is None else s[d] for s in (h0, c0))
        if ends is not None:  # a row of no steps has no last state
            h, c = (torch.where(ends == 0, 0.0, s) for s in (h, c))
        cell = _Cell(kind, (w[d], r[d], None if b is None else b[d], None if p is None else p[d]), a)
        cell.functions = functions[d * len(DEFAULTS[kind]) :]
        backwards = a.get("direction") == "reverse" or d == 1
        rows: list[Any] = [None] * steps
        for t in reversed(range(steps)) if backwards else range(steps):
            made, state = cell.step(x[t], h, c)
            if ends is None:
                h, c, rows[t] = made, state, made
            else:
                on = t < ends
                h, c = torch.where(on, made, h), torch.where(on, state, c)
                rows[t] = torch.where(on, made, 0.0)
        shown.append(torch.stack(rows) if rows else zero[None].narrow(0, 0, 0))
        hs.append(h)
        cs.append(c)
    y, last, state = torch.stack(shown, 1), torch.stack(hs), torch.stack(cs)
    if batch_first:
        y, last, state = y.permute(2, 0, 1, 3), last.transpose(0, 1), state.transpose(0, 1)
    return (y, last, state) if kind == "LSTM" else (y, last)


class _Cell:
    """One direction's equations, as ONNX's documentation has them."""

    def __init__(self, kind: str, weights: tuple[Any, Any, Any, Any], a: Attributes) -> None:
        self.kind = kind
        self.w, self.r, bias, peepholes = weights
        biases: tuple[Any, Any] = (0.0, 0.0) if bias is None else bias.chunk(2)
        self.wb, self.rb = biases
        self.peepholes = (0.0, 0.0, 0.0) if peepholes is None else peepholes.chunk(3)
        self.reset_after, self.coupled = bool(a.get("linear_before_reset")), bool(a.get("input_forget"))
        self.functions: list[Callable[[Any], Any]] = []

    def step(self, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
        given, f = x @ self.w.T + self.wb, self.functions
        if self.kind == "GRU":
            return self.gated(given, h), c
        sums = given + h @ self.r.T + self.rb
        if self.kind == "RNN":
            return f[0](sums), c
        i, o, forget, g = sums.chunk(4, 1)
        pi, po, pf = self.peepholes
        i = f[0](i + pi * c)
        keep = 1 - i if self.coupled else f[0](forget + pf * c)
        c = keep * c + i * f[1](g)
        return f[0](o + po * c) * f[2](c), c

    def gated(self, given: Any, h: Any) -> Any:
        of_h, two = h @ self.r.T + self.rb, 2 * h.shape[1]
        z, r = self.functions[0]((given + of_h)[:, :two]).chunk(2, 1)
        own = r * of_h[:, two:] if self.reset_after else ((r * h) @ self.r.T + self.rb)[:, two:]
        return (1 - z) * self.functions[1](given[:, two:] + own) + z * h
