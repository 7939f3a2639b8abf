"""Whole numbers from numbers beyond them: the nearest of the type, 0 for NaN, in every reader."""

from __future__ import annotations

import json

import compiled
import interpreted
import numpy as np
import pytest
from ascendc import compile_ascend_c
from programs import Array, Operator

from ascend_ep.codegen.graph import ELEMENTS
from ascend_ep.opbuild.proof.prove import levels
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.reference import evaluate

WHOLE = [t for t in ELEMENTS if t in dtypes.INTEGERS]
VALUES = [0.0, -0.0, 0.9, -0.9, -1.5, 127.9, 128.0, 255.5, -128.9, -129.0, 65535.9, 65536.0, 16777217.0]
VALUES += [2.0**31 - 128, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 3e38, -3e38, 1e-40]
VALUES += [np.inf, -np.inf, np.nan]


def operator(name: str, dtype: int, kind: int) -> Operator:
    """Casts to `dtype` of an input of type `kind`: as an output and on the way."""
    text = dtypes.name(dtype)
    entry = {
        "op": name,
        "inputs": [{"name": "x", "type": dtypes.name(kind)}],
        "outputs": [{"name": "y", "type": text}, {"name": "z", "type": dtypes.name(kind)}],
        "formula": ["y = x", f"z = {text}(x)*2"],
    }
    opdef = parse_definitions(json.dumps(entry))[0]
    sizes = ({"d": len(VALUES)},)
    return Operator(opdef, (("d",),), (kind,), {}, sizes, frozenset(), 0, formula_program(opdef))


@pytest.mark.parametrize("kind", [dtypes.FLOAT32, dtypes.FLOAT64], ids=dtypes.name)
def test_casts_saturate(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array(VALUES, dtypes.NUMPY[kind])
    operators = [operator(f"To{dtypes.name(t).capitalize()}", t, kind) for t in WHOLE]
    expected = {o.opdef.op: evaluate(o.opdef, [x]) for o in operators}

    def check(o: Operator, results: list[Array]) -> None:
        whole, number = expected[o.opdef.op]
        np.testing.assert_array_equal(results[0], whole, str(o))
        np.testing.assert_array_equal(results[1], number.astype(dtypes.NUMPY[kind]), str(o))

    for level in {levels()[0], levels()[-1]}:  # between them lies the same code generator
        monkeypatch.setenv("ASCEND_EP_CPU", level)
        sources, reasons = compiled.generated(operators)
        assert not reasons
        libraries = compiled.compile_all(list(sources.values()), [level])
        for o in operators:
            check(o, interpreted.run(o, [x]))
            check(o, compiled.run(libraries[o.opdef.op, level], o, [x]))
    if kind == dtypes.FLOAT32:
        kernels, reasons = compile_ascend_c(operators)
        assert not reasons
        for o in operators:
            check(o, kernels[o.opdef.op](x))
