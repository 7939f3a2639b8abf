"""Reductions beyond sums, top-k and changes of shape: the interpreter and compiled code against float64."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formula_models import conversion_of, session_of

from ascend_ep.opdef.dtypes import BOOL, FLOAT32, INT64
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.reference import evaluate

#: Formula and element type of the result.
CASES = [
    ("logsumexp(x, axis=1)", FLOAT32),
    ("logsumexp(x, axis=[0, 2], keepdims=false)", FLOAT32),
    ("x/(1 + mean(x*x, axis=all))", FLOAT32),
    ("sum(x*x, axis=all, keepdims=false)", FLOAT32),
    ("log_softmax(x)", FLOAT32),
    ("layer_norm(x)*b", FLOAT32),
    ("rms_norm(x, axis=[-2, -1])", FLOAT32),
    ("any(x > 3)", BOOL),
    ("x*all(x < 3) + any(x > 2)", FLOAT32),
    ("argmax(x)", INT64),
    ("argmin(x, axis=0, keepdims=false)", INT64),
    ("x - argmax(x)", FLOAT32),
    ("where(index(x) == argmin(x), 0, x)", FLOAT32),
    ("topk(x, 4)", FLOAT32),
    ("topk_indices(x, 4, axis=1, largest=false)", INT64),
    ("where(x >= min(topk(x, 3)), x, 0)", FLOAT32),
    ("sum(topk_indices(x, 3)) + x", FLOAT32),
    ("x/unsqueeze(sum(abs(x), axis=-1, keepdims=false), axis=-1)", FLOAT32),
    ("sum_to(x*b, b)", FLOAT32),
    ("sum_to(x*x, max(x))", FLOAT32),
    ("sum_to(2, x)", FLOAT32),
    ("sum(sum_to(b, x))", FLOAT32),
]


def reference(formula: str, out: int, inputs: dict[str, np.ndarray]) -> np.ndarray:
    entry = {
        "op": "A",
        "inputs": [{"name": n} for n in inputs],
        "outputs": [{"name": "y"}],
        "formula": formula,
    }
    (y,) = evaluate(parse_definitions(json.dumps(entry))[0], list(inputs.values()))
    return y


#: Rows shorter than a vector, rows with a tail, rows of several blocks.
SHORT, TAIL, LONG = (3, 4, 5), (2, 5, 37), (1, 4, 1030)


def compilations() -> list[Any]:
    """Each formula with a tail, and in turns with one of the others; with --slow with all."""
    rows = []
    for i, case in enumerate(CASES):
        for shape in (SHORT, TAIL, LONG):
            left_out = shape == (SHORT, LONG)[i % 2]
            rows.append(pytest.param(*case, shape, marks=[pytest.mark.slow] * left_out))
    return rows


@pytest.mark.parametrize(("formula", "out", "shape"), compilations())
def test_both_ways_of_running(tmp_path: Path, compiler: None, formula: str, out: int, shape: Any) -> None:
    rng = np.random.default_rng(shape[-1])
    inputs = {
        "x": rng.normal(0, 2, shape).astype(np.float32),
        "b": rng.normal(size=shape[-1]).astype(np.float32),
    }
    expected = reference(formula, out, inputs)
    for codegen in ("off", "always"):
        conversion = conversion_of(tmp_path, codegen, formula, inputs, [out], [expected.shape])
        insns = conversion.plan.partitions[0].insns
        if codegen == "always":
            assert any(i.native is not None for i in insns), formula
        (y,) = session_of(conversion).run(None, inputs)
        assert y.shape == expected.shape
        # sums of 1030 positive terms in blocks: below 30 roundings of the result
        np.testing.assert_allclose(y, expected, rtol=2e-6, atol=5e-5)
