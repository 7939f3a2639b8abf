"""Layer (b): results against the float64 reference, within the bound carried through the expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.proof.arithmetic import FLOAT32, FLOAT64, Arithmetic
from ascend_ep.opbuild.proof.bounded import Bounded
from ascend_ep.opbuild.proof.error_bound import interval, propagate
from ascend_ep.opbuild.proof.harness import Array, Case
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.proof_report import Check
from ascend_ep.opdef.reference import evaluate_program

#: Significant bits, the exponent of the smallest subnormal, per type of floats.
_SPACING = {
    dtypes.FLOAT32: (24, -149),
    dtypes.FLOAT16: (11, -24),
    dtypes.BFLOAT16: (8, -133),
    dtypes.FLOAT64: (53, -1074),
}


#: Results whose bound is at most so many ulp say how exact a kernel is; those of wider bounds cancel or step.
WELL_CONDITIONED = 64.0


@dataclass(frozen=True)
class Expected:
    """Per output: the float64 reference, the least and greatest number that is right, and where NaN is."""

    reference: list[Array]
    low: list[Array]
    high: list[Array]
    nan: list[Array]

    def lost(self, o: int) -> Array:
        """Where nothing can be said of output `o`."""
        low, high = self.low[o], self.high[o]
        result: Array = np.isinf(low) & np.isinf(high) & (low < high)
        return result

    def holds(self, o: int, got: Array) -> Array:
        """Where results (as float64) of output `o` are right."""
        inside = (got >= self.low[o]) & (got <= self.high[o])
        result: Array = inside | (np.isnan(got) & (self.nan[o] | self.lost(o)))
        return result


@dataclass
class Tally:
    """elements: how many were compared. unbounded: those the bound says nothing about; loose: those whose
    bound is wider than WELL_CONDITIONED. worst: the largest error of the others in ulp of the output's type;
    allowed: the bound there. share: the largest part of a bound used."""

    elements: int = 0
    unbounded: int = 0
    loose: int = 0
    worst: float = 0.0
    allowed: float = 0.5
    share: float = 0.0
    failure: str = ""

    def __str__(self) -> str:
        text = (
            f"{self.elements} elements, worst error {self.worst:.2f} ulp where {self.allowed:.2f} are allowed"
        )
        if self.loose:
            text += f", {self.loose} badly conditioned ones within their wider bounds"
        return text + (f", {self.unbounded} beyond any bound (overflow of a part)" if self.unbounded else "")


def expected(subject: Subject, case: Case, arithmetic: Arithmetic | None = None) -> Expected | None:
    """None when the reference doesn't take these shapes (a maximum of nothing). `arithmetic`: the kernel's,
    by default that of generated C. Raises NoBound."""
    program, types = subject.program, subject.output_types
    arrays = {
        n: a if a.dtype == np.bool_ else a.astype(np.float64)
        for n, a in zip(subject.names, case.inputs, strict=False)
        if a is not None
    }
    try:
        reference = evaluate_program(program, arrays, {})
        bounds = propagate(program, arrays, arithmetic or (FLOAT64 if subject.wide else FLOAT32))
    except (AscendError, ValueError):
        return None
    found = Expected([np.asarray(r, dtype=np.float64) for r in reference], [], [], [])
    for exact, bound, dtype in zip(found.reference, bounds, types, strict=True):
        error = np.broadcast_to(np.asarray(bound.error, dtype=np.float64), exact.shape)
        value = np.broadcast_to(np.asarray(bound.value, dtype=np.float64), exact.shape)
        known = np.where(np.isfinite(exact) | ~np.isfinite(error), error, 0.0)
        (low, high), (other_low, other_high) = (
            interval(Bounded(value, error), dtype),
            interval(Bounded(exact, known), dtype),
        )
        found.low.append(np.fmin(low, other_low))
        found.high.append(np.fmax(high, other_high))
        found.nan.append(np.isnan(low) | np.isnan(other_low))
    return found


def check_numbers(
    subject: Subject,
    cases: Sequence[Case],
    wanted: Sequence[Expected | None],
    found: Sequence[Sequence[Array]],
) -> Check:
    """The results of one element type's cases against the reference."""
    name = subject.label
    tally = Tally()
    for case, expect, outputs in zip(cases, wanted, found, strict=False):
        if expect is not None:
            compare(subject, case, expect, outputs, tally)
            if tally.failure:
                return Check("numerical", name, False, tally.failure)
    if len(found) < len(cases):
        return Check(
            "numerical", name, False, f"no results from case {len(found)} on ({cases[len(found)].about})"
        )
    if tally.elements and tally.unbounded * 2 > tally.elements:
        return Check("numerical", name, False, f"nothing can be said about most results: {tally}")
    return Check("numerical", name, True, f"{len(cases)} cases, {tally}")


def compare(subject: Subject, case: Case, expect: Expected, outputs: Sequence[Array], tally: Tally) -> None:
    """Adds one case to a tally; `failure` is the worst result that isn't right."""
    for o, (result, dtype) in enumerate(zip(outputs, subject.output_types, strict=True)):
        reference, low, high = expect.reference[o], expect.low[o], expect.high[o]
        if result.shape != reference.shape:
            tally.failure = (
                f"output {o} has shape {list(result.shape)} instead of {list(reference.shape)} ({case.about})"
            )
            return
        got = result.astype(np.float64)
        right, lost = expect.holds(o, got), expect.lost(o)
        tally.elements += got.size
        tally.unbounded += int(np.sum(lost))
        if not np.all(right):
            tally.failure = _failure(o, got, reference, low, high, right, dtype, case)
            return
        if dtype in dtypes.FLOATS:
            _measure(got, reference, low, high, lost, dtype, tally)


def _failure(
    o: int, got: Array, reference: Array, low: Array, high: Array, right: Array, dtype: int, case: Case
) -> str:
    at = tuple(int(i) for i in np.argwhere(~right)[0])
    value, exact = float(got[at]), float(reference[at])
    text = f"output {o} at {list(at)} is {value:.9g}, the reference {exact:.9g}"
    if dtype in dtypes.FLOATS and np.isfinite(value) and np.isfinite(exact):
        ulp = float(spacing(np.float64(exact), dtype))
        room = max(high[at] - exact, exact - low[at]) / ulp
        text += f": {abs(value - exact) / ulp:.1f} ulp, {room:.1f} allowed"
    return f"{text}; {int(np.sum(~right))} of {got.size} elements wrong ({case.about})"


def _measure(
    got: Array, reference: Array, low: Array, high: Array, lost: Array, dtype: int, tally: Tally
) -> None:
    with np.errstate(all="ignore"):
        ulp = spacing(reference, dtype)
        error = np.abs(got - reference) / ulp
        allowed = np.maximum(np.maximum(high - reference, reference - low) / ulp, 0.5)
    usable = np.isfinite(error) & np.isfinite(allowed) & ~lost
    strict = usable & (allowed <= WELL_CONDITIONED)
    tally.loose += int(np.sum(usable & ~strict))
    if not np.any(strict):
        return
    flat = np.where(strict, error, -1.0).reshape(-1)
    worst = int(np.argmax(flat))
    tally.share = max(tally.share, float(np.max(error[strict] / allowed[strict])))
    if flat[worst] > tally.worst:
        tally.worst, tally.allowed = float(flat[worst]), float(allowed.reshape(-1)[worst])


def spacing(value: Any, dtype: int) -> Array:
    """The unit in the last place of numbers in a type of floats, down to its smallest subnormal."""
    bits, least = _SPACING[dtype]
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(value), value, 0.0))
    result: Array = np.ldexp(1.0, np.maximum(exponent - bits, least))
    return result
