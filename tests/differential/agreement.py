"""How near results are to each other and to the bound carried through the expression."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from programs import Array, Operator

from ascend_ep.opbuild.proof.arithmetic import Arithmetic
from ascend_ep.opbuild.proof.bounded import Bounded
from ascend_ep.opbuild.proof.error_bound import interval, propagate
from ascend_ep.opbuild.proof.numerical import spacing
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.specialize import specialize

#: Of an operator's results, in the mean over operators: those that no bound covers because a part may or
#: may not overflow, or a decision (a comparison, an order, a cut to whole numbers) is in doubt; and those
#: whose bound is wide.
MOST_UNBOUNDED, MOST_VAGUE, LEAST_FINITE = 0.05, 0.15, 0.8
#: Standard errors by which a mean over random operators may be beyond that: chance does it to one in 30,000.
CHANCE = 4
#: A bound says something when it is narrower than this share of the result.
USEFUL = 1e-2


@dataclass
class Results:
    """elements: results compared with a bound. unbounded: those it says nothing about, because a part may or
    may not overflow. vague: those with bounds wider than USEFUL, most often because a decision (a comparison,
    an order, a cut to whole numbers) is in doubt. finite: the finite ones with a bound."""

    elements: int = 0
    unbounded: int = 0
    vague: int = 0
    finite: int = 0


@dataclass
class Tally:
    """of: the results of each operator, by its name. different: those to which two readers give other bits.
    failures: what disagrees."""

    of: defaultdict[str, Results] = field(default_factory=lambda: defaultdict(Results))
    different: int = 0
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Allowed:
    """Per output the least and the greatest right result; NaN where only NaN is right."""

    low: list[Array]
    high: list[Array]

    def holds(self, o: int, got: Array) -> Array:
        """Where results of output `o` are right."""
        low, high, y = self.low[o], self.high[o], got.astype(np.float64)
        inside = (y >= low) & (y <= high)
        result: Array = inside | (np.isnan(y) & (np.isnan(low) | self.lost(o)))
        return result

    def lost(self, o: int) -> Array:
        result: Array = np.isinf(self.low[o]) & np.isinf(self.high[o]) & (self.low[o] < self.high[o])
        return result


def allowed(operator: Operator, inputs: Sequence[Array | None], arithmetic: Arithmetic) -> Allowed:
    """The bound of an operator's results. Raises AscendError or ValueError for inputs it doesn't take."""
    program = specialize(
        operator.program, bind_attributes(operator.opdef, operator.given), operator.given_inputs
    )
    named = {
        spec.name: a if a.dtype == np.bool_ else a.astype(np.float64)
        for spec, a in zip(operator.opdef.inputs, inputs, strict=True)
        if a is not None
    }
    found = Allowed([], [])
    for bound, spec in zip(propagate(program, named, arithmetic), operator.opdef.outputs, strict=True):
        low, high = interval(Bounded(bound.value, bound.error), spec.types[0])
        found.low.append(low)
        found.high.append(high)
    return found


def judge(reader: str, operator: Operator, outputs: Sequence[Array], right: Allowed, tally: Tally) -> None:
    """Adds a reader's results to a tally."""
    for o, (got, spec) in enumerate(zip(outputs, operator.opdef.outputs, strict=True)):
        if got.shape != right.low[o].shape:
            shapes = f"{got.shape} instead of {right.low[o].shape}"
            tally.failures.append(f"{reader}: y{o} has shape {shapes}\n{operator}")
            continue
        holds, lost = right.holds(o, got), right.lost(o)
        with np.errstate(all="ignore"):
            width, size = right.high[o] - right.low[o], np.maximum(np.abs(right.low[o]), 1e-30)
            wide = ~lost & (width > USEFUL * size) & (width > 2 * _step(right.high[o], spec.types[0]))
        results = tally.of[operator.opdef.op]
        results.elements += got.size
        results.unbounded += int(np.sum(lost))
        results.vague += int(np.sum(wide))
        results.finite += int(np.sum(np.isfinite(got.astype(np.float64)) & ~lost))
        if not np.all(holds):
            at = tuple(int(i) for i in np.argwhere(~holds)[0])
            limits = f"{right.low[o][at]!r} to {right.high[o][at]!r}"
            count = f"{int(np.sum(~holds))} of {got.size}"
            tally.failures.append(
                f"{reader}: y{o}{list(at)} is {got[at]!r}, allowed is {limits}; {count} wrong\n{operator}"
            )


def compare(
    readers: str,
    operator: Operator,
    first: Sequence[Array],
    second: Sequence[Array],
    ulps: float,
    tally: Tally,
) -> None:
    """Two readers' results: whole numbers and truth alike, floats within `ulps`, NaN in the same places."""
    for o, (a, b) in enumerate(zip(first, second, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            tally.failures.append(f"{readers}: y{o} is {a.dtype}{a.shape} and {b.dtype}{b.shape}\n{operator}")
            continue
        apart = ulps_between(a, b, operator.opdef.outputs[o].types[0])
        tally.different += int(np.sum(apart > 0))
        if np.any(apart > ulps):
            at = tuple(int(i) for i in np.argwhere(apart > ulps)[0])
            what = f"y{o}{list(at)} is {a[at]!r} and {b[at]!r}, {apart[at]:.3g} ulp apart"
            count = f"{int(np.sum(apart > ulps))} of {a.size}"
            tally.failures.append(f"{readers}: {what}; {count}\n{operator}")


def ulps_between(a: Array, b: Array, dtype: int) -> Array:
    """|a - b| in units in the last place of the larger; 0 between equals and NaNs, else infinite."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    same = (a == b) | (np.isnan(x) & np.isnan(y))
    with np.errstate(all="ignore"):
        apart = np.abs(x - y) / _step(np.fmax(np.abs(x), np.abs(y)), dtype)
    found: Array = np.where(same, 0.0, np.nan_to_num(apart, nan=np.inf, posinf=np.inf))
    return found


def _step(value: Array, dtype: int) -> Array:
    return spacing(value, dtype) if dtype in dtypes.FLOATS else np.full(np.shape(value), 1e-9)


def check_tally(tally: Tally) -> None:
    """Nothing disagrees, and the bounds say something. Each operator counts alike, however many results it
    has, since the results of one are most often unbounded together."""
    assert not tally.failures, report(tally)
    found = [r for r in tally.of.values() if r.elements]
    assert sum(r.elements for r in found) > 50_000
    assert _mean([r.unbounded / r.elements for r in found], -CHANCE) <= MOST_UNBOUNDED
    assert _mean([r.vague / r.elements for r in found], -CHANCE) <= MOST_VAGUE
    assert _mean([r.finite / r.elements for r in found], CHANCE) >= LEAST_FINITE


def _mean(shares: Sequence[float], errors: float) -> float:
    """The mean, moved by so many of its standard errors."""
    return float(np.mean(shares) + errors * np.std(shares, ddof=1) / np.sqrt(len(shares)))


def report(tally: Tally) -> str:
    return f"{len(tally.failures)} disagreements\n" + "\n\n".join(tally.failures[:5])
