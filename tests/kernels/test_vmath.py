"""Accuracy of every function on every ISA level: sweeps over all float32 bit patterns against float64.

Bounds are in units in the last place of the float32 result, subnormal results included; those of
vmath.h are stated there, those of elementwise_wide.c are half a unit and the error of its float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from isa_levels import each_isa, isa_levels
from kernel_call import call
from tile_run import encoded_program

from ascend_ep.plan.tile_program import TileProgram

Float64 = np.ndarray[Any, np.dtype[np.float64]]
STEP = 3001  # coprime to 2^32: every exponent and many mantissas

BOUNDS: dict[str, tuple[float, Callable[[Float64], Float64]]] = {
    "exp": (1.5, np.exp),
    "expm1": (2.0, np.expm1),
    "log": (1.5, np.log),
    "log1p": (1.5, np.log1p),
    "tanh": (4.0, np.tanh),
    "sigmoid": (3.0, lambda x: np.exp(-np.logaddexp(0, -x))),
    "softplus": (2.0, lambda x: np.logaddexp(0, x)),
    "erf": (4.0, np.vectorize(math.erf, otypes=[float])),
    "sqrt": (0.5, np.sqrt),
    "rsqrt": (1.5, lambda x: 1 / np.sqrt(x)),
    "reciprocal": (0.5, lambda x: 1 / x),
    "sin": (0.51, np.sin),
    "cos": (0.51, np.cos),
    "tan": (0.51, np.tan),
    "asin": (0.51, np.arcsin),
    "acos": (0.51, np.arccos),
    "atan": (0.51, np.arctan),
    "sinh": (0.51, np.sinh),
    "cosh": (0.51, np.cosh),
    "asinh": (0.51, np.arcsinh),
    "acosh": (0.51, np.arccosh),
    "atanh": (0.51, np.arctanh),
}
LIBRARY = {"sin", "cos", "tan"}  # above 1e6 the C library's float function, good to 1 ulp


@lru_cache(maxsize=1)
def sweep() -> np.ndarray:
    bits = np.arange(0, 2**32, STEP, dtype=np.uint64).astype(np.uint32)
    near_one = np.linspace(-2, 2, 40_001, dtype=np.float32)
    special = np.float32(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 88.72284, -103.97208, -88.0, 1e-45, -1e-45]
    )
    return np.concatenate([bits.view(np.float32), near_one, special])


def ulp_error(got: np.ndarray, exact: Float64) -> np.ndarray:
    """|got - exact| in units in the last place of float32; infinite where the classes differ."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        unit = np.maximum(np.spacing(np.abs(rounded)), np.float32(2.0**-149)).astype(np.float64)
        unit = np.where(np.isfinite(unit), unit, 2.0**104)
        error = np.abs(got.astype(np.float64) - exact) / unit
        overflow = np.isinf(rounded) | np.isinf(got)
        error = np.where(overflow, np.where(got == rounded, 0.0, np.inf), error)
        largest = np.abs(exact) < 2.0**128 * (1 + 2.0**-23)  # an overflow one unit early or late
        error = np.where(overflow & (got != rounded) & largest & (np.abs(exact) > 3.4e38), 1.0, error)
    return np.where(
        np.isnan(exact) | np.isnan(got), np.where(np.isnan(exact) == np.isnan(got), 0.0, np.inf), error
    )


def compute(op: str, *inputs: np.ndarray, isa: int) -> np.ndarray:
    p: TileProgram[int] = TileProgram()
    p.output(p.call(op, *(p.input(i, 1) for i in range(len(inputs)))), 1)
    encoded = encoded_program(p)
    arrays = [inputs[i] for i in encoded.inputs]
    return call("elementwise", arrays, [(np.float32, inputs[0].shape)], encoded.ints, encoded.floats, isa)[0]


@lru_cache(maxsize=32)
def exact_values(op: str) -> Float64:
    with np.errstate(all="ignore"):
        return np.asarray(BOUNDS[op][1](sweep().astype(np.float64)), np.float64)


@pytest.mark.parametrize("op", BOUNDS)
@each_isa
def test_error_bound(op: str, isa: int) -> None:
    x = sweep()
    error = ulp_error(compute(op, x, isa=isa), exact_values(op))
    bound = np.where(np.abs(x) > 1e6, 1.0, BOUNDS[op][0]) if op in LIBRARY else BOUNDS[op][0]
    over = error / bound
    worst = int(np.argmax(over))
    assert over[worst] <= 1, f"{op}({float(x[worst]).hex()}) is off by {error[worst]:.3f} ulp"


@each_isa
def test_odd_functions_keep_the_sign_of_zero(isa: int) -> None:
    zeros = np.float32([0.0, -0.0])
    for op in (
        "expm1",
        "log1p",
        "tanh",
        "erf",
        "sin",
        "tan",
        "asin",
        "atan",
        "sinh",
        "asinh",
        "atanh",
        "sqrt",
    ):
        np.testing.assert_array_equal(np.signbit(compute(op, zeros, isa=isa)), [False, True], err_msg=op)


@each_isa
@pytest.mark.parametrize(("op", "function"), [("pow", np.power), ("atan2", np.arctan2)])
def test_functions_of_two(op: str, function: Callable[..., Float64], isa: int) -> None:
    rng = np.random.default_rng(3)
    special = np.float32(
        [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, np.inf, -np.inf, np.nan, 1e30, -1e-30, 1e-40]
    )
    pairs = np.array(np.meshgrid(special, special)).reshape(2, -1)
    wild = rng.integers(0, 2**32, (2, 100_000), dtype=np.uint32).view(np.float32)
    tame = np.stack([rng.uniform(0, 20, 100_000), rng.uniform(-20, 20, 100_000)]).astype(np.float32)
    x, y = np.concatenate([pairs, wild, tame], axis=1)
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.float64), y.astype(np.float64))
    got = compute(op, x, y, isa=isa)
    error = ulp_error(got, exact)
    worst = int(np.argmax(error))
    assert error[worst] <= 0.51, f"{op}({x[worst]}, {y[worst]}) = {got[worst]}, exactly {exact[worst]}"
    same_sign = np.signbit(got) == np.signbit(exact)
    assert (same_sign | np.isnan(got)).all()


def test_levels_with_fused_multiply_add_agree() -> None:
    """Up to the bound: the last bit may differ between ISA levels, as the header says."""
    x = sweep()
    reference = compute("exp", x, isa=0)
    for isa in isa_levels()[1:]:
        assert ulp_error(compute("exp", x, isa=isa), reference.astype(np.float64)).max() <= 2
