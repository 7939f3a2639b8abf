"""Which epilogue an expression is: activation(alpha x + addends), or none that the kernels have.

Scale and addends are found by climbing from x through products with constants and sums with other values.
What remains is a function of one number, and is recognised by its values: an exporter's spelling of GELU,
of any length, agrees with GELU everywhere, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.lower.matmul import Activation
from ascend_ep.opdef.expression import Apply, Constant, Expression, Input, walk
from ascend_ep.opdef.operations import OPERATIONS
from ascend_ep.plan.plan import Ref
from ascend_ep.plan.tile_expression import place

Array = NDArray[np.float64]
MOST_ADDENDS = 2
#: Where functions are compared: densely where activations bend, far out where they are straight, and close to
#: 0, where a tiny constant shows.
_FAR = np.array([9.0, 12.5, 20.0, 40.0, 77.0, 1e3, 1e4, 1e10, 1e20, 3.4e38])
_CLOSE = 10.0 ** -np.arange(2, 39)
POINTS: Array = np.sort(np.concatenate([-_FAR, np.linspace(-8, 8, 129), _FAR, -_CLOSE, _CLOSE]))


@dataclass(frozen=True)
class Epilogue:
    """activation(alpha x + sum of addends); low, high: the bounds of CLIP; low: LEAKY_RELU's slope."""

    alpha: float
    addends: tuple[Ref, ...]
    activation: Activation
    low: float = 0.0
    high: float = 0.0


def match(expression: Expression, x: Input, leaves: Sequence[Ref]) -> Epilogue | None:
    """The epilogue that turns x into the expression, whose inputs name places in `leaves`."""
    head: Expression = x
    alpha, addends = 1.0, list[Ref]()
    while (parent := _only_parent(expression, head)) is not None:
        scale = _scale(parent, head)
        addend = _addend(parent, head)
        if scale is not None and not addends:
            alpha *= scale
        elif addend is not None and len(addends) < MOST_ADDENDS:
            addends.append(leaves[place(addend)])
        else:
            break
        head = parent
    if any(isinstance(node, Input) and node != x for node in walk(_without(expression, head))):
        return None
    found = _activation(expression, head)
    return None if found is None else Epilogue(alpha, tuple(addends), *found)


def _same(a: Expression, b: Expression) -> bool:
    return a is b or a == b


def _only_parent(root: Expression, child: Expression) -> Apply | None:
    """The one operation that reads `child`, wherever that occurs."""
    parents: list[Apply] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if _same(node, child) or not isinstance(node, Apply):
            continue
        if any(_same(a, child) for a in node.args) and not any(_same(node, p) for p in parents):
            parents.append(node)
        stack += node.args
    return parents[0] if len(parents) == 1 and not _same(root, child) else None


def _scale(parent: Apply, head: Expression) -> float | None:
    """The constant that `parent` multiplies its operand by."""
    if len(parent.args) != 2:
        return None
    first, second = parent.args
    if parent.op == "mul" and isinstance(first, Constant):
        return float(first.value)
    if parent.op == "mul" and isinstance(second, Constant):
        return float(second.value)
    if parent.op == "div" and isinstance(second, Constant) and second.value and _same(first, head):
        return 1.0 / float(second.value)
    return None


def _addend(parent: Apply, head: Expression) -> Input | None:
    """The other value of a sum."""
    if parent.op != "add":
        return None
    others = [a for a in parent.args if not _same(a, head)]
    return others[0] if len(others) == 1 and isinstance(others[0], Input) else None


def _without(expression: Expression, head: Expression) -> Expression:
    """The expression with `head` replaced by a number."""
    if _same(expression, head):
        return Constant(0.0)
    if isinstance(expression, Apply):
        return Apply(expression.op, tuple(_without(a, head) for a in expression.args))
    return expression


# ---- functions of one number ----------------------------------------------------------------------


#: What activations are made of.
PRIMITIVES: dict[str, Callable[..., Array]] = {
    op: OPERATIONS[op].numpy
    for op in [
        "abs", "add", "div", "erf", "exp", "ge", "gt", "le", "lt", "max", "min", "mul", "neg", "pow",
        "select", "sigmoid", "sub", "tanh",
    ]
} | {"reciprocal": np.reciprocal}  # fmt: skip
_erf, _sigmoid = PRIMITIVES["erf"], PRIMITIVES["sigmoid"]

ACTIVATIONS: dict[Activation, Callable[[Array], Array]] = {
    Activation.NONE: lambda x: x,
    Activation.RELU: lambda x: np.maximum(x, 0),
    Activation.GELU: lambda x: x / 2 * (1 + _erf(x / np.sqrt(2))),
    Activation.GELU_TANH: lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    Activation.SILU: lambda x: x * _sigmoid(x),
    Activation.SIGMOID: _sigmoid,
    Activation.TANH: np.tanh,
    Activation.HARD_SWISH: lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
}


#: Those that have no constants to round.
STRAIGHT = frozenset({Activation.NONE, Activation.RELU})


def _activation(expression: Expression, head: Expression) -> tuple[Activation, float, float] | None:
    """The activation that the expression is of `head`, with the bounds of a clip, or the slope below 0."""
    with np.errstate(all="ignore"):
        values = _evaluate(expression, head)
        if values is None:
            return None
        for activation, function in ACTIVATIONS.items():
            if _agree(values, function(POINTS), activation not in STRAIGHT):
                return activation, 0.0, 0.0
        low = float(values[0]) if values[0] > POINTS[0] else -np.inf
        high = float(values[-1]) if values[-1] < POINTS[-1] else np.inf
        if low < high and _agree(values, np.clip(POINTS, low, high), bent=False):
            return Activation.CLIP, low, high
        slope = float(values[0] / POINTS[0])
        if 0 < slope < 1 and _agree(values, np.where(POINTS < 0, slope * POINTS, POINTS), bent=False):
            return Activation.LEAKY_RELU, slope, 0.0
    return None


def _agree(a: Array, b: Array, bent: bool) -> bool:
    """Equal but for constants that exporters round to float32.

    The bent ones are small by cancellation, far out. What is straight has no such excuse, and at 0 nothing
    has: a model adds 1e-10 where a logarithm or a quotient comes next.
    """
    near = 1e-7 * np.minimum(np.abs(POINTS), 1) if bent else 0.0
    return bool(np.all((a == b) | (np.abs(a - b) <= 1e-6 * np.abs(b) + near)))


def _evaluate(expression: Expression, head: Expression) -> Array | None:
    """The expression over POINTS; None when it holds a primitive that no activation needs."""
    if _same(expression, head):
        return POINTS
    if isinstance(expression, Constant):
        return np.full_like(POINTS, float(expression.value))
    if not isinstance(expression, Apply) or expression.op not in PRIMITIVES:
        return None
    args = [_evaluate(a, head) for a in expression.args]
    return None if any(a is None for a in args) else PRIMITIVES[expression.op](*args)
