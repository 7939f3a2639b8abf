"""Functions that descriptions may call beside those of formula text, with PyTorch's parameters and defaults.

Each is a formula itself: name(parameters) = assignments and a value. `dim` stands for an axis.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from ascend_ep.opdef.expression import Expression, Kind
from ascend_ep.opdef.formula import FormulaParser
from ascend_ep.opdef.formula_nodes import Axes, NodeBuilder, Value
from ascend_ep.opdef.formula_text import Token


@dataclass(frozen=True)
class Definition:
    """A function: parameters in order, None for one that must be given; `formula` is its body."""

    parameters: Mapping[str, float | None]
    formula: str


def _read(text: str) -> dict[str, Definition]:
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        match = re.fullmatch(r"(\w+)\((.*?)\) = (.*)", line)
        assert match is not None, line
        name, listed, body = match.groups()
        pairs = (p.partition("=") for p in listed.split(", "))
        found[name] = Definition({p: float(d) if d else None for p, _, d in pairs}, body)
    return found


LIBRARY = _read(
    """
    relu6(x) = min(max(x, 0), 6)
    leaky_relu(x, negative_slope=0.01) = x if x > 0 else negative_slope*x
    elu(x, alpha=1) = x if x > 0 else alpha*expm1(x)
    celu(x, alpha=1) = x if x > 0 else alpha*expm1(x/alpha)
    selu(x) = 1.0507009873554805*(x if x > 0 else 1.6732632423543772*expm1(x))
    swish(x) = silu(x)
    hardtanh(x, min_val=-1, max_val=1) = clip(x, min_val, max_val)
    hardsigmoid(x) = clip(x/6 + 0.5, 0, 1)
    hardswish(x) = x*clip(x/6 + 0.5, 0, 1)
    mish(x) = x*tanh(softplus(x))
    logsigmoid(x) = -softplus(-x)
    softsign(x) = x/(1 + abs(x))
    tanhshrink(x) = x - tanh(x)
    hardshrink(x, lambd=0.5) = x if x > lambd or x < -lambd or isnan(x) else 0
    softshrink(x, lambd=0.5) = x - lambd if x > lambd else (x + lambd if x < -lambd else 0*x)
    threshold(x, threshold, value) = value if x <= threshold else x
    gelu_tanh(x) = 0.5*x*(1 + tanh(sqrt(2/pi)*(x + 0.044715*x^3)))
    softmin(x, dim=-1) = softmax(-x, axis=dim)
    log_softmax(x, dim=-1) = d = x - max(x, axis=dim); d - log(sum(exp(d), axis=dim))
    normalize(x, dim=1, eps=1e-12) = x/max(sqrt(sum(x*x, axis=dim)), eps)
    layer_norm(x, dim=-1, eps=1e-5) = d = x - mean(x, axis=dim); d/sqrt(mean(d*d, axis=dim) + eps)
    rms_norm(x, dim=-1, eps=1e-6) = x/sqrt(mean(x*x, axis=dim) + eps)
    fmod(a, b) = a - b*trunc(a/b)
    lerp(a, b, weight) = a + weight*(b - a)
    addcmul(x, a, b, value=1) = x + value*a*b
    addcdiv(x, a, b, value=1) = x + value*a/b
    hypot(a, b) = sqrt(a*a + b*b)
    logaddexp(a, b) = max(a, b) + log1p(exp(-abs(a - b)))
    xlogy(a, b) = 0 if a == 0 and not isnan(b) else a*log(b)
    exp2(x) = 2^x
    cbrt(x) = sign(x)*abs(x)^(1/3)
    frac(x) = x - trunc(x)
    logit(x) = log(x/(1 - x))
    deg2rad(x) = x*(pi/180)
    rad2deg(x) = x*(180/pi)
    isfinite(x) = not (isnan(x) or isinf(x))
    """
)


def takes_one_tensor(name: str) -> bool:
    """Whether name(x) is an operator with a name of its own, not a word that any sentence may have."""
    if name in LIBRARY:
        required = [p for p, default in LIBRARY[name].parameters.items() if default is None]
        return required == ["x"] and name not in ("threshold", "normalize")
    return name in ("softmax", "gelu", "silu", "relu", "sigmoid", "tanh", "erf", "softplus", "logsumexp")


def inline(
    caller: NodeBuilder, name: str, arguments: Mapping[str, Value], axes: Mapping[str, Axes], at: int
) -> Value:
    """The value of a function of LIBRARY. `arguments` has every parameter without default but `dim`."""
    definition = LIBRARY[name]
    bound = {p: caller.shared(v) for p, v in arguments.items()}
    for parameter, default in definition.parameters.items():
        if parameter not in bound and parameter != "dim" and default is not None:
            bound[parameter] = caller.constant(default, at)
    dim = int(definition.parameters.get("dim") or -1)
    return _Inlined(caller, definition.formula, bound, {"dim": (dim,), **axes}, at).result()


class _Inlined(FormulaParser):
    """Reads a body with its parameters bound; nodes, names and errors are the caller's."""

    def __init__(
        self,
        caller: NodeBuilder,
        body: str,
        arguments: Mapping[str, Value],
        axes: Mapping[str, Axes],
        call: int,
    ) -> None:
        super().__init__(body, caller.names, caller.where)
        self.caller = caller
        self.arguments = dict(arguments)
        self.bound_axes = axes
        self.call_at = call

    def result(self) -> Value:
        while self.following.text == "=":
            name = self.next().text
            self.next()
            self.arguments[name] = self.shared(self.expression())
            self.next()
        return self.expression()

    def name(self, token: Token) -> Value:
        return self.arguments[token.text] if token.text in self.arguments else super().name(token)

    def axes(self) -> Axes:
        return self.bound_axes[self.next().text] if self.token.kind == "name" else super().axes()

    def build(self, node: Expression, kind: Kind, at: int, operands: Sequence[Value] = ()) -> Value:
        return self.caller.build(node, kind, self.call_at, operands)

    def shared(self, value: Value, wanted: str = "") -> Value:
        return self.caller.shared(value, wanted)

    def fail(self, code: str, *arguments: object, at: int, fix: str | None = None) -> NoReturn:
        self.caller.fail(code, *arguments, at=self.call_at, fix=fix)
