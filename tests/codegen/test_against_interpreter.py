"""Compiled formulas give the interpreter's bits for every operation; tests/differential has random ones."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ascend_ep.opdef.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, INT8, INT32
from ascend_ep.opdef.operations import OPERATIONS

UNARY = [n for n, o in OPERATIONS.items() if o.takes == ("number",) and o.gives == "number"]
BINARY = [n for n, o in OPERATIONS.items() if o.takes == ("number",) * 2 and o.gives == "number"]
INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "^"}
CORNERS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    0.5,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-40,
    3.4e38,
    1e-30,
    88.0,
    -88.0,
    1e7,
]


def values(rng: np.random.Generator, shape: Any, dtype: Any) -> np.ndarray:
    """Ordinary numbers with the awkward ones among them."""
    if np.issubdtype(dtype, np.integer):
        return rng.integers(-100, 100, shape).astype(dtype)
    array = rng.standard_normal(shape) * np.exp(rng.uniform(-3, 3, shape))
    flat = array.reshape(-1)
    if flat.size:
        flat[rng.integers(0, flat.size, min(len(CORNERS), flat.size))] = CORNERS[
            : min(len(CORNERS), flat.size)
        ]
    with np.errstate(over="ignore"):
        return array.astype(dtype)


def assert_same_bits(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if found.dtype == np.bool_:
        np.testing.assert_array_equal(found, expected, what)
        return
    nan = np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), nan, what)
    kind = {2: np.uint16, 4: np.uint32, 8: np.uint64, 1: np.uint8}[found.dtype.itemsize]
    np.testing.assert_array_equal(found.view(kind)[~nan], expected.view(kind)[~nan], what)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_every_operation(both: Any, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    x, y = (values(rng, (7, 37), dtype) for _ in "xy")
    lines = [f"{op}(x)" if op != "neg" else "-x" for op in UNARY]
    lines += [f"x {INFIX[op]} y" if op in INFIX else f"{op}(x, y)" for op in BINARY]
    lines += ["where(x < y or not (x >= 0) and isnan(y), x, y)", "where(isinf(x) or x == y, 1, 2)"]
    lines += ["float16(x)", "bfloat16(x)", "int8(x)", "uint8(x)", "int32(x)", "x^2 + x^3 - x/3", "x*y + x"]
    kind = FLOAT32 if dtype == np.float32 else FLOAT64
    for start in range(0, len(lines), 8):
        part = lines[start : start + 8]
        formula = "; ".join(f"y{i} = {line}" for i, line in enumerate(part))
        compiled, interpreted = both(formula, {"x": x, "y": y}, [kind] * len(part), [x.shape] * len(part))
        for line, a, b in zip(part, compiled, interpreted, strict=True):
            assert_same_bits(a, b, line)


@pytest.mark.parametrize(
    ("dtype", "out"),
    [
        (np.float16, FLOAT16),
        (ml_dtypes.bfloat16, BFLOAT16),
        (np.int8, INT8),
        (np.int32, INT32),
        (np.float32, BOOL),
        (np.float16, FLOAT32),
    ],
)
@pytest.mark.parametrize("shapes", [((3, 5, 33), (5, 1)), ((1,), (1,)), ((2, 0, 3), (3,)), ((4, 65), (4, 1))])
def test_types_and_broadcasts(both: Any, dtype: Any, out: int, shapes: Any) -> None:
    rng = np.random.default_rng(2)
    x, y = (values(rng, s, dtype) for s in shapes)
    formula = "x > 3*y" if out == BOOL else "x*tanh(x) + 3*y"
    compiled, interpreted = both(formula, {"x": x, "y": y}, [out], [np.broadcast_shapes(*shapes)])
    assert_same_bits(compiled[0], interpreted[0], formula)


@pytest.mark.parametrize("shape", [(3, 7), (5, 1000), (2, 1025), (17, 64), (1, 5000), (0, 4)])
def test_folds_of_rows(both: Any, shape: Any) -> None:
    x = values(np.random.default_rng(3), shape, np.float32)
    x[~np.isfinite(x)] = 1.0
    g = np.linspace(-1, 1, shape[1], dtype=np.float32)
    lines = [
        "y0 = x - max(x)",
        "y1 = exp(x - max(x))/sum(exp(x - max(x)))",
        "y2 = (x - mean(x))/sqrt(var(x) + 0.1)*g",
        "y3 = min(x) + prod(x/8) - x",
    ]
    compiled, interpreted = both("; ".join(lines), {"x": x, "g": g}, [FLOAT32] * 4, [shape] * 4)
    for line, a, b in zip(lines, compiled, interpreted, strict=True):
        assert_same_bits(a, b, line)


@pytest.mark.parametrize("axes", ["0", "1", "[0, 2]", "[1, 2]", "[0, 1, 2]"])
def test_folds_of_other_axes(both: Any, axes: str) -> None:
    x = values(np.random.default_rng(4), (5, 6, 35), np.float32)
    x[~np.isfinite(x)] = 1.0
    formula = f"(x - mean(x, axis={axes}))/sqrt(var(x, axis={axes}) + 0.1) + index(x, axis=1)*size(x, axis=2)"
    compiled, interpreted = both(formula, {"x": x}, [FLOAT32], [x.shape])
    assert_same_bits(compiled[0], interpreted[0], formula)
