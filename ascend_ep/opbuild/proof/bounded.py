"""A value and how far off a kernel's may be, through elementwise operations.

An operation adds its own rounding and passes its operands' errors on by being evaluated at the ends of their
intervals (interval arithmetic: Moore, Interval Analysis, ch. 3), so a cancellation, a step or the edge of a
domain widens the bound where it widens the error. At the ends is enough for what is monotone, linear in each
operand, or convex; the others are named here. A value beyond the compute type is infinite. Where a value may
or may not be beyond it, or on either side of a pole, the bound is infinite: nothing can be said there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.opbuild.proof.arithmetic import Arithmetic
from ascend_ep.opdef.operations import OPERATIONS

Array = NDArray[Any]

_EXACT = frozenset({"neg", "abs", "sign", "min", "max", "select", "floor", "ceil", "round", "trunc"})
_BOOLS = frozenset({"and", "or", "not"})
_COMPARES = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


@dataclass(frozen=True)
class Bounded:
    """`value` (float64 or bool) and the distance `error` at which a kernel's may lie; of a bool 0 or 1."""

    value: Any
    error: Any = 0.0

    def moved(self, move: Callable[[Array], Array]) -> Bounded:
        """The same elements in another shape."""
        value = np.asarray(self.value)
        error = np.broadcast_to(np.asarray(self.error, dtype=np.float64), value.shape)
        return Bounded(move(value), move(error))


def distance(a: Any, b: Any) -> Array:
    """|a - b|; 0 between equal infinities and two NaNs, infinite between NaN or an infinity and a number."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf))


def held(value: Any, arithmetic: Arithmetic) -> Bounded:
    """A number that a kernel first converts to its compute type."""
    return Bounded(value, distance(arithmetic.hold(value), value))


def apply(op: str, args: list[Bounded], arithmetic: Arithmetic) -> Bounded:
    """An operation of OPERATIONS."""
    if op in _COMPARES:
        a, b = args
        error = np.asarray(a.error + b.error)
        unsure = (distance(a.value, b.value) <= error) & (error > 0)
        return Bounded(OPERATIONS[op].numpy(a.value, b.value), unsure * 1.0)
    if op in ("isnan", "isinf"):
        return Bounded(OPERATIONS[op].numpy(args[0].value), ~np.isfinite(args[0].error) * 1.0)
    if op in _BOOLS:
        ends = [np.not_equal(x.value, np.asarray(x.error) > 0) for x in args]
        choices = itertools.product(*zip([x.value for x in args], ends, strict=True))
        results = [OPERATIONS[op].numpy(*c) for c in choices]
        return Bounded(results[0], np.any([r != results[0] for r in results], axis=0) * 1.0)
    if op == "select":
        return _select(*args)
    result = _unsteady(op, args, at_ends(OPERATIONS[op].numpy, args))
    if op in ("floordiv", "mod"):
        result = _quotient(op, args, result, arithmetic)
    if op in ("max", "min"):  # of zeros of both signs either, which atan2 and 1/x tell apart
        p, q = (np.asarray(x.value, dtype=np.float64) for x in args)
        either = (p == 0) & (q == 0) & (np.signbit(p) != np.signbit(q))
        result = Bounded(result.value, np.maximum(result.error, np.where(either, arithmetic.least, 0.0)))
    return result if op in _EXACT else rounded(result, arithmetic, op)


def at_ends(function: Any, args: list[Bounded]) -> Bounded:
    """A function and the largest change of its value over the corners of its operands' intervals."""
    value = np.asarray(function(*(x.value for x in args)), dtype=np.float64)
    error = np.zeros(value.shape)
    for signs in itertools.product((-1.0, 1.0), repeat=len(args)):
        corner = [
            x.value + s * x.error if np.any(x.error) else x.value for x, s in zip(args, signs, strict=True)
        ]
        error = np.maximum(error, distance(np.asarray(function(*corner), dtype=np.float64), value))
    lost = np.zeros(value.shape, dtype=bool)
    for x in args:
        lost = lost | ~np.isfinite(x.error)
    return Bounded(value, unbounded_where(lost, error))


def rounded(x: Bounded, arithmetic: Arithmetic, op: str = "") -> Bounded:
    """With the rounding of what a kernel has, which may lie as far off as the error, and infinite where that
    is beyond the largest number. Exactly 0 has no rounding."""
    y, most = np.asarray(x.value, dtype=np.float64), arithmetic.most
    size = np.abs(y) + np.where(np.isfinite(x.error), x.error, 0.0)
    own = arithmetic.ulps.get(op, arithmetic.rounded) * np.maximum(
        size * arithmetic.spacing, arithmetic.least
    )
    own = np.where(size == 0, 0.0, own)
    error = np.where(np.isfinite(y), x.error + own, np.where(np.isnan(x.error), np.inf, x.error))
    beyond = np.isfinite(y) & (np.abs(y) - error > most)
    unsure = np.isfinite(y) & ~beyond & (np.abs(y) + error > most)
    value = np.where(beyond, np.copysign(np.inf, y), y)
    return Bounded(value, np.where(beyond, 0.0, unbounded_where(unsure, error)))


def unbounded_where(condition: Any, error: Any) -> Array:
    return np.where(condition, np.inf, error)


def _select(condition: Bounded, a: Bounded, b: Bounded) -> Bounded:
    """The branch that is taken; both where that is in doubt."""
    value = np.where(condition.value, a.value, b.value)
    error = np.where(condition.value, a.error, b.error)
    either = distance(a.value, b.value) + a.error + b.error
    return Bounded(value, np.where(np.asarray(condition.error) > 0, either, error))


def _unsteady(op: str, args: list[Bounded], found: Bounded) -> Bounded:
    """What the ends don't show: extremes of sine and cosine, poles, and the cut of atan2."""
    value, error = found.value, found.error
    first, last = args[0], args[-1]
    if op in ("sin", "cos"):
        error = np.maximum(error, np.minimum(first.error, 2.0))
    elif op == "tan":
        branches = [np.floor((first.value + s * first.error) / math.pi + 0.5) for s in (-1.0, 1.0)]
        error = unbounded_where((branches[0] != branches[1]) & np.isfinite(first.value), error)
    elif op in ("div", "floordiv", "mod"):
        error = unbounded_where(may_be_zero(last), error)
    elif op == "pow":
        error = unbounded_where(may_be_zero(first) & (last.value - last.error < 0), error)
        low, high = (
            last.value - last.error,
            last.value + last.error,
        )  # negative numbers have whole powers alone
        whole = (low < high) & (np.ceil(low) <= np.floor(high))
        error = unbounded_where(whole & (first.value - first.error < 0), error)
        # 1^NaN and NaN^0 are 1
        may_be_one = (first.error > 0) & (np.abs(first.value - 1) <= first.error)
        nan_or_one = (np.isnan(last.value) & may_be_one) | (np.isnan(first.value) & may_be_zero(last))
        error = unbounded_where(nan_or_one, error)
    elif op == "atan2":
        across = (np.abs(first.value) <= first.error) & (last.value - last.error <= 0)
        unsure = np.asarray(first.error + last.error) > 0
        error = np.where(across & unsure, np.maximum(error, 2 * math.pi), error)
    return Bounded(value, error)


def may_be_zero(x: Bounded) -> Any:
    return (np.abs(x.value) <= x.error) & (np.asarray(x.error) > 0)


def _quotient(op: str, args: list[Bounded], found: Bounded, arithmetic: Arithmetic) -> Bounded:
    """floor(a / b) of a quotient that is rounded may be one off where the quotient is nearly whole."""
    quotient = apply("div", args, arithmetic)
    steps = at_ends(np.floor, [quotient]).error
    if op == "mod":
        steps = unbounded_where(np.isinf(quotient.value), steps)
        certain = (np.asarray(args[0].error + args[1].error) == 0) * np.ones(np.shape(steps))
        steps = np.where(certain > 0, 0.0, steps)
    size = np.abs(args[1].value) + args[1].error if op == "mod" else 1.0
    extra = np.where(steps > 0, steps * size, 0.0)
    return Bounded(found.value, found.error + extra)
