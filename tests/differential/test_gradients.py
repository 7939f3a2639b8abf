"""The gradients of random operators against central differences of their float64 reference.

Of each operator one number is differentiated: the sum of its float outputs times random weights, along one
random direction in all its float inputs together. Where differences of two steps disagree there is a kink or
a step in between, and nothing to compare; how many those are is bounded.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from features import features_of
from programs import Operator, drawn

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.derivative import differentiate
from ascend_ep.opdef.expression import REDUCTIONS, Apply, Cast, Expression, TopK
from ascend_ep.opdef.reference import evaluate

EXAMPLES = 100
STEP = 1e-5
#: Of a central difference at STEP, beside its own change when the step is halved: cancellation of 2^-53/STEP.
TOLERANCE = 1e-5
#: How many examples may have a kink within a step, no finite difference, or a slope that is infinite inside
#: (acosh at 1) though nothing depends on it.
MOST_KINKS, MOST_INFINITE, MOST_SINGULAR = 5, 30, 1
_ROUNDING = (dtypes.FLOAT16, dtypes.BFLOAT16, dtypes.FLOAT32)


def is_smooth(node: Expression) -> bool:
    """Not rounding to floats, whose gradient is by convention that of no rounding; nor top-k values."""
    return not (isinstance(node, Cast) and node.dtype in _ROUNDING) and not (
        isinstance(node, TopK) and not node.indices
    )


def small(operator: Operator) -> Operator:
    """The operator with one case of few elements."""
    least = [min(s[letter] for s in operator.sizes[:2]) for letter in operator.sizes[0]]
    sizes = {letter: min(n, 3) for letter, n in zip(operator.sizes[0], least, strict=True)}
    return replace(operator, sizes=(sizes,))


def differences(operator: Operator) -> tuple[float, float, float]:
    """The derivative along a direction by the gradient, and by central differences of STEP and half of it.
    Raises AscendError E42006 when no output depends smoothly on an input."""
    gradient = differentiate(operator.opdef)
    rng = np.random.default_rng(operator.seed)
    inputs = [
        None if a is None else a if a.dtype == np.bool_ else a.astype(float) for a in operator.inputs(0)
    ]
    floats = [
        a is not None and spec.types[0] in dtypes.FLOATS
        for a, spec in zip(inputs, operator.opdef.inputs, strict=True)
    ]
    direction = [
        rng.choice((-1.0, 1.0), np.shape(a)) if f else None for a, f in zip(inputs, floats, strict=True)
    ]
    outputs = evaluate(operator.opdef, inputs, operator.given)
    kept = [i for i, o in enumerate(operator.opdef.outputs) if o.types[0] in dtypes.FLOATS]
    weights = [rng.uniform(0.5, 1.5, outputs[i].shape) for i in kept]

    def total(step: float) -> float:
        moved = [a if d is None else a + step * d for a, d in zip(inputs, direction, strict=True)]
        results = evaluate(operator.opdef, moved, operator.given)
        return float(sum(np.sum(w * results[i]) for w, i in zip(weights, kept, strict=True)))

    found = evaluate(gradient, [*inputs, *weights], operator.given)
    wanted = [
        d for d, spec in zip(direction, operator.opdef.inputs, strict=True) if spec.types[0] in dtypes.FLOATS
    ]
    exact = sum(float(np.sum(g * d)) for g, d in zip(found, wanted, strict=True) if d is not None)
    first, second = ((total(h) - total(-h)) / (2 * h) for h in (STEP, STEP / 2))
    if np.spacing(abs(total(0))) > TOLERANCE * STEP:  # of numbers as large rounding leaves no difference
        second = np.inf
    return exact, first, second


@pytest.fixture(scope="module")
def smooth() -> list[Operator]:
    """Operators with a gradient by some input."""
    found = []
    for operator in drawn(4 * EXAMPLES):
        if all(map(is_smooth, operator.program.expressions())):
            try:
                differentiate(operator.opdef)
            except AscendError as error:
                assert error.code == "E42006", operator  # noqa: PT017
            else:
                found.append(small(operator))
    return found[:EXAMPLES]


def test_gradients_are_slopes(smooth: list[Operator]) -> None:
    assert len(smooth) == EXAMPLES
    kinks = infinite = singular = 0
    for operator in smooth:
        with np.errstate(all="ignore"):
            exact, first, second = differences(operator)
        if not np.isfinite([first, second]).all() or max(abs(first), abs(second)) > 1e8:
            infinite += 1
            continue
        if not np.isfinite(exact):
            singular += 1
            continue
        change = abs(first - second)
        if change > 1e-3 * (1 + abs(second)):
            kinks += 1
            continue
        room = 2 * change + TOLERANCE * (1 + abs(second))
        assert abs(exact - second) <= room, f"{exact} instead of {second} +- {room}\n{operator}"
    assert kinks <= MOST_KINKS
    assert infinite <= MOST_INFINITE
    assert singular <= MOST_SINGULAR


def test_every_rule_is_used(smooth: list[Operator]) -> None:
    """Every reduction and most operations stand in an operator that has a gradient."""
    seen = Counter(f for operator in smooth for f in features_of(operator))
    operations = {n.op for o in smooth for n in o.program.expressions() if isinstance(n, Apply)}
    assert len(operations) > 45
    assert {f"reduction {op}" for op in REDUCTIONS} <= set(seen)
    assert {"node SumTo", "node Unsqueeze", "optional input", "absent input"} <= set(seen)
