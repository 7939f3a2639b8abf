"""How far a kernel's result may be from the exact one: rounding errors carried through an expression.

Every value is a float64 number and the largest distance at which a kernel's value may lie from it. An
operation adds its own rounding (ULPS) and passes its operands' errors on by being evaluated at the ends of
their intervals, so a cancellation, a step or the edge of a domain widens the bound where it widens the error.
Sums may be in any order: n - 1 additions of relative error u (Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., section 4.2). A value beyond float32 is infinite. Where a value may or may not be beyond
it the bound is infinite: nothing can be said there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.elementwise import ELEMENTWISE, round_to
from ascend_ep.opdef.expression import (
    Apply,
    AttributeRef,
    Cast,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    Program,
    Reduce,
    SumTo,
    TopK,
    Unsqueeze,
)
from ascend_ep.opdef.formula_shape import resolve_axes, topk_axis
from ascend_ep.opdef.kernel_references import topk
from ascend_ep.opdef.reductions import ELEMENTARY, expanded

Array = NDArray[Any]

#: Errors of operations in units in the last place. The first eight are those that tests/kernels/test_vmath.py
#: holds native/kernels/vmath.h to. A quotient by a constant is the product with its rounded reciprocal.
ULPS = {
    "exp": 1.5, "expm1": 2, "log": 1.5, "log1p": 1.5, "tanh": 4, "sigmoid": 3, "erf": 4, "softplus": 2,
    "div": 1.5, "log2": 3, "log10": 3, "rsqrt": 2,
}  # fmt: skip
#: All others: correctly rounded, or computed in float64 and rounded once.
ROUNDED = 0.51
_EXACT = frozenset({"neg", "abs", "sign", "min", "max", "select", "floor", "ceil", "round", "trunc"})
_BOOLS = frozenset({"and", "or", "not"})
_COMPARES = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


class NoBound(Exception):
    """The expression has a part whose errors this module can't carry; the text says which."""


@dataclass(frozen=True)
class Arithmetic:
    """A compute type: its spacing at 1, its smallest subnormal and its largest finite number."""

    spacing: float
    least: float
    most: float


FLOAT32 = Arithmetic(2.0**-23, 2.0**-149, float(np.finfo(np.float32).max))
FLOAT64 = Arithmetic(2.0**-52, 5e-324, float(np.finfo(np.float64).max))


@dataclass(frozen=True)
class Bounded:
    """`value` (float64 or bool) and the distance `error` at which a kernel's may lie; of a bool 0 or 1."""

    value: Any
    error: Any = 0.0


def propagate(program: Program, inputs: Mapping[str, Array], wide: bool = False) -> list[Bounded]:
    """The outputs of a specialised program with their bounds, before rounding to the outputs' types.

    `wide`: the kernel computes in float64. Raises NoBound.
    """
    reader = _Propagation(inputs, FLOAT64 if wide else FLOAT32)
    with np.errstate(all="ignore"):
        for name, value in program.lets:
            reader.locals[name] = reader.read(value)
        return [reader.read(value) for _, value in program.outputs]


class _Propagation:
    def __init__(self, inputs: Mapping[str, Array], arithmetic: Arithmetic) -> None:
        self.inputs = inputs
        self.arithmetic = arithmetic
        self.locals: dict[str, Bounded] = {}

    def read(self, node: Expression) -> Bounded:
        if isinstance(node, Constant):
            return self.constant(node)
        if isinstance(node, Local):
            return self.locals[node.name]
        if isinstance(node, Input):
            array = self.inputs[node.name]
            return Bounded(array if array.dtype == np.bool_ else array.astype(np.float64))
        if isinstance(node, Cast):
            return _at_ends(lambda x: round_to(x, node.dtype), [self.read(node.arg)])
        if isinstance(node, Apply):
            return self.apply(node.op, [self.read(arg) for arg in node.args])
        if isinstance(node, Reduce):
            return self.reduce(node)
        if isinstance(node, Index):
            return self.index(node)
        if isinstance(node, TopK):
            return self.topk(node)
        if isinstance(node, Unsqueeze):
            return _moved(self.read(node.arg), lambda a: np.expand_dims(a, _new_axes(node, a.ndim)))
        if isinstance(node, SumTo):
            return self.sum_to(node)
        raise NoBound(f"there is no error bound for {type(node).__name__}")

    def constant(self, node: Constant) -> Bounded:
        if isinstance(node.value, bool):
            return Bounded(np.asarray(node.value))
        value = np.float64(node.value)
        held = np.float64(np.float32(value)) if self.arithmetic is FLOAT32 else value
        return Bounded(value, _distance(held, value))

    def index(self, node: Index) -> Bounded:
        array = np.asarray(self.read(node.like).value)
        (axis,) = resolve_axes(node.axis, array.ndim)
        if node.size:
            return Bounded(np.float64(array.shape[axis]))
        shape = [array.shape[axis] if i == axis else 1 for i in range(array.ndim)]
        return Bounded(np.arange(array.shape[axis], dtype=np.float64).reshape(shape))

    def apply(self, op: str, args: list[Bounded]) -> Bounded:
        if op in _COMPARES:
            a, b = args
            near = _distance(a.value, b.value) <= a.error + b.error
            unsure = near & (np.asarray(a.error + b.error) > 0)
            return Bounded(ELEMENTWISE[op](a.value, b.value), unsure * 1.0)
        if op in ("isnan", "isinf"):
            return Bounded(ELEMENTWISE[op](args[0].value), ~np.isfinite(args[0].error) * 1.0)
        if op in _BOOLS:
            ends = [np.not_equal(x.value, np.asarray(x.error) > 0) for x in args]
            results = [
                ELEMENTWISE[op](*c)
                for c in itertools.product(*zip([x.value for x in args], ends, strict=True))
            ]
            return Bounded(results[0], np.any([r != results[0] for r in results], axis=0) * 1.0)
        if op == "select":
            return _select(*args)
        result = _at_ends(ELEMENTWISE[op], args)
        if op in ("sin", "cos"):
            result = Bounded(result.value, np.maximum(result.error, np.minimum(args[0].error, 2.0)))
        if op in ("floordiv", "mod"):
            result = self.quotient(op, args, result)
        return result if op in _EXACT else self.rounded(result, ULPS.get(op, ROUNDED))

    def quotient(self, op: str, args: list[Bounded], found: Bounded) -> Bounded:
        """floor(a / b) of a quotient that is rounded may be one off where the quotient is nearly whole."""
        b = args[1]
        exact = self.apply("div", args)
        steps = _at_ends(np.floor, [exact]).error
        size = np.abs(b.value) if op == "mod" else 1.0
        extra = np.where(steps > 0, steps * size, 0.0)
        return Bounded(found.value, found.error + extra)

    def rounded(self, x: Bounded, ulps: float) -> Bounded:
        """With the rounding of the result, and infinite where that is beyond the largest number."""
        y, most = np.asarray(x.value, dtype=np.float64), self.arithmetic.most
        own = ulps * np.maximum(np.abs(y) * self.arithmetic.spacing, self.arithmetic.least)
        error = np.where(np.isfinite(y), x.error + own, np.where(np.isnan(x.error), np.inf, x.error))
        beyond = np.isfinite(y) & (np.abs(y) - error > most)
        unsure = np.isfinite(y) & ~beyond & (np.abs(y) + error > most)
        value = np.where(beyond, np.copysign(np.inf, y), y)
        return Bounded(value, np.where(beyond, 0.0, np.where(unsure, np.inf, error)))

    # ---- reductions ----------------------------------------------------------------------------

    def reduce(self, node: Reduce) -> Bounded:
        if node.op != "var" and node.op not in ELEMENTARY:
            return self.read(expanded(node))
        operand = self.read(node.arg)
        x = np.asarray(operand.value, dtype=np.float64)
        error = np.broadcast_to(operand.error, x.shape)
        over: dict[str, Any] = {"axis": resolve_axes(node.axes, x.ndim), "keepdims": node.keepdims}
        if node.op == "var":
            return self.variance(x, error, over)
        count = x.size // max(np.max(x, **over).size if x.size else 1, 1)
        if node.op in ("max", "min"):
            pick = np.max if node.op == "max" else np.min
            y = pick(x, **over)
            ends = np.maximum(_distance(pick(x + error, **over), y), _distance(pick(x - error, **over), y))
            return Bounded(y, _unbounded_where(np.any(np.isinf(error), **over), ends))
        if node.op in ("sum", "mean"):
            return self.total(node.op, x, error, over, count)
        if node.op == "prod":
            return self.product(x, error, over, count)
        raise NoBound(f"there is no error bound for {node.op}")

    def total(self, op: str, x: Array, error: Array, over: dict[str, Any], count: int) -> Bounded:
        y, size = np.sum(x, **over), np.sum(np.abs(x) + error, **over)
        spread = np.sum(error, **over) + count * (self.arithmetic.spacing / 2) * size
        finite = np.isfinite(y) & np.isfinite(size)
        spread = np.where(finite, spread, np.where(np.any(~np.isfinite(error), **over), np.inf, 0.0))
        spread = _unbounded_where(
            finite & (size > self.arithmetic.most) & (np.abs(y) - spread <= self.arithmetic.most), spread
        )
        result = self.rounded(Bounded(y, spread), ROUNDED)
        if op == "sum":
            return result
        return self.rounded(
            Bounded(result.value / count if count else np.sum(x, **over) / 0, result.error / max(count, 1)),
            1.5,
        )

    def product(self, x: Array, error: Array, over: dict[str, Any], count: int) -> Bounded:
        y, size = np.prod(x, **over), np.prod(np.abs(x) + error, **over)
        above = np.prod(np.maximum(np.abs(x) + error, 1.0), **over)
        below = np.prod(np.minimum(np.abs(x), 1.0), **over)
        spread = size - np.abs(y) + count * self.arithmetic.spacing * size
        spread = spread + np.where(below < 2.0**-126, count * self.arithmetic.least * above, 0.0)
        strange = ~np.isfinite(spread) | (above > self.arithmetic.most)
        clear = np.isnan(y) & ~np.any(~np.isfinite(error), **over)
        return self.rounded(Bounded(y, np.where(clear, 0.0, _unbounded_where(strange, spread))), ROUNDED)

    def topk(self, node: TopK) -> Bounded:
        """Order statistics move no further than what is ordered; of positions nothing is known then."""
        operand = self.read(node.arg)
        x = np.asarray(operand.value, dtype=np.float64)
        error = np.broadcast_to(operand.error, x.shape)
        axis = topk_axis(node, x.shape)
        found = topk([x], {"k": node.k, "axis": axis, "largest": node.largest})[node.indices]
        most = np.max(error, axis=axis, keepdims=True) if x.size else np.zeros(1)
        found = found.astype(np.float64)
        if node.indices:
            return Bounded(found, np.where(np.broadcast_to(most, found.shape) > 0, np.inf, 0.0))
        return Bounded(found, np.broadcast_to(most, found.shape))

    def sum_to(self, node: SumTo) -> Bounded:
        """Sums over the dimensions that `like` lacks, then the shape of `like`."""
        operand = self.read(node.arg)
        shape = np.asarray(self.read(node.like).value).shape
        x = np.asarray(operand.value, dtype=np.float64)
        lacking = x.ndim - len(shape)
        axes = [d for d in range(x.ndim) if d < lacking or (shape[d - lacking] == 1 and x.shape[d] != 1)]
        error = np.broadcast_to(operand.error, x.shape)
        count = int(np.prod([x.shape[d] for d in axes]))
        over = {"axis": tuple(axes), "keepdims": True}
        total = self.total("sum", x, error, over, count) if axes else Bounded(x, error)
        return _moved(total, lambda a: np.broadcast_to(a.reshape(a.shape[max(lacking, 0) :]), shape))

    def variance(self, x: Array, error: Array, over: dict[str, Any]) -> Bounded:
        """The mean of the squared distances from the mean."""
        kept = {**over, "keepdims": True}
        count = x.size // max(np.max(x, **over).size if x.size else 1, 1)
        mean = self.total("mean", x, error, kept, count)
        distance = self.apply("sub", [Bounded(x, error), mean])
        square = self.apply("mul", [distance, distance])
        return self.total(
            "mean", np.asarray(square.value), np.broadcast_to(square.error, x.shape), over, count
        )


def _new_axes(node: Unsqueeze, rank: int) -> tuple[int, ...]:
    axes = node.axes
    assert not isinstance(axes, AttributeRef), "a specialized program has no attributes"
    return resolve_axes(axes, rank + len(axes))


def _moved(x: Bounded, move: Callable[[Array], Array]) -> Bounded:
    """The same elements in another shape."""
    value = np.asarray(x.value)
    return Bounded(move(value), move(np.broadcast_to(np.asarray(x.error, dtype=np.float64), value.shape)))


def _select(condition: Bounded, a: Bounded, b: Bounded) -> Bounded:
    value = np.where(condition.value, a.value, b.value)
    error = np.where(condition.value, a.error, b.error)
    either = _distance(a.value, b.value) + a.error + b.error
    return Bounded(value, np.where(np.asarray(condition.error) > 0, either, error))


def _at_ends(function: Any, args: list[Bounded]) -> Bounded:
    """A function and the largest change of its value over the corners of its operands' intervals."""
    value = np.asarray(function(*(x.value for x in args)), dtype=np.float64)
    error = np.zeros(value.shape)
    for signs in itertools.product((-1.0, 1.0), repeat=len(args)):
        corner = [
            x.value + s * x.error if np.any(x.error) else x.value for x, s in zip(args, signs, strict=True)
        ]
        error = np.maximum(error, _distance(np.asarray(function(*corner), dtype=np.float64), value))
    lost = np.zeros(value.shape, dtype=bool)
    for x in args:
        lost = lost | ~np.isfinite(x.error)
    return Bounded(value, np.where(lost, np.inf, error))


def _distance(a: Any, b: Any) -> Array:
    """|a - b|; 0 between equal infinities and two NaNs, infinite between NaN or an infinity and a number."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf))


def _unbounded_where(condition: Any, error: Any) -> Array:
    return np.where(condition, np.inf, error)


def interval(bounded: Bounded, dtype: int) -> tuple[Array, Array]:
    """The least and greatest results of an output of this type that the bound allows, as float64.

    NaN stands where only NaN is right; -inf to inf where nothing can be said.
    """
    with np.errstate(all="ignore"):
        y = np.asarray(bounded.value, dtype=np.float64)
        error = np.broadcast_to(np.asarray(bounded.error, dtype=np.float64), y.shape)
        low, high = _rounded_to(y - error, dtype), _rounded_to(y + error, dtype)
        lost = ~np.isfinite(error)
        exact = np.isinf(y) & ~lost
        low, high = np.where(lost, -np.inf, low), np.where(lost, np.inf, high)
        rounded = _rounded_to(y, dtype)
        return np.where(exact, rounded, low), np.where(exact, rounded, high)


def _rounded_to(y: Array, dtype: int) -> Array:
    return y if dtype == dtypes.FLOAT64 else round_to(y, dtype)
