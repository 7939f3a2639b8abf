"""Every formula of op_schemas: its bundle, interpreted in float32, against the float64 reference of its text.

The bound is that of ascend_ep.opbuild.proof.error_bound: the roundings of each operation, carried through
the expression from its inputs. What it says nothing about is held to 1e-5 relative and absolute: top-k, and
where it can't tell which way a comparison goes.
"""

from __future__ import annotations

import numpy as np
import pytest
from library_cases import LIBRARY, Case, cases, run

from ascend_ep.opbuild.proof.error_bound import NoBound, propagate
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.reference import evaluate
from ascend_ep.opdef.specialize import specialize


def test_the_library_is_large() -> None:
    assert len(LIBRARY) >= 60


@pytest.mark.parametrize("op", LIBRARY)
def test_definition_against_bundle(op: str) -> None:
    opdef = LIBRARY[op]
    wanted = list(cases(opdef))
    for case, found in zip(wanted, run(opdef, wanted), strict=True):
        expected = evaluate(opdef, case.inputs, case.attributes)
        for y, exact, bound in zip(found, expected, bounds(opdef, case, expected), strict=True):
            assert y.shape == exact.shape
            np.testing.assert_array_equal(np.isnan(y), np.isnan(exact))
            finite = np.isfinite(exact)
            np.testing.assert_array_equal(y[~finite], exact[~finite].astype(y.dtype))
            excess = np.abs(y.astype(np.float64) - exact)[finite] - bound[finite]
            assert np.all(excess <= 0), f"{case.attributes}: {excess.max()} beyond the bound"


def bounds(opdef: OpDef, case: Case, expected: list[np.ndarray]) -> list[np.ndarray]:
    """How far each output may lie from the exact one."""
    given = {t.name: a for t, a in zip(opdef.inputs, case.inputs, strict=True) if a is not None}
    program = specialize(formula_program(opdef), bind_attributes(opdef, case.attributes), given)
    plain = [1e-5 * (1 + np.abs(y.astype(np.float64))) for y in expected]
    try:
        reached = propagate(program, given)
    except NoBound:
        return plain
    made = []
    for y, bounded, otherwise in zip(expected, reached, plain, strict=True):
        error = np.broadcast_to(np.asarray(bounded.error, dtype=np.float64), y.shape)
        rounding = np.abs(y) * 2**-24 + 2**-149 if y.dtype == np.float64 else 1.0 * (error > 0)
        made.append(np.where(np.isfinite(error), error + rounding, otherwise))
    return made
