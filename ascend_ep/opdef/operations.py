"""The catalogue of elementwise operations: one row each, with what every reader of formulas needs to know.

The reference, derivatives, front ends, generators of C, Ascend C and TBE, and proofs take theirs from here.
What remains is its loop in the kernels (docs/adding-an-operator.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_ep.opdef.expression import Constant, Expression, Kind

#: Makes the value of an operation on values and numbers.
Do = Callable[..., Expression]
#: The derivative of an operation of one number at x, where its value is y: slope(do, x, y).
Slope = Callable[[Do, Expression, Expression], Expression]
#: The adjoint of an operand of one of two numbers with value y, whose adjoint is g: partial(do, g, a, b, y).
Partial = Callable[[Do, Expression, Expression, Expression, Expression], Expression]


@dataclass(frozen=True)
class Operation:
    """takes, gives: kinds of the operands and of the result. numpy: what it computes, on float64 and bool
    arrays. slope, partials: its derivatives; None where it has none.

    names: what torch and numpy call it beside its own name. cost: of a vector of elements, an addition being
    1. ulp: its largest error in native/kernels/vmath.h, as tests/kernels/test_vmath.py holds it to; of "div"
    and "pow" also where they are products. device_ulp: that of Ascend C's sequence of instructions, where it
    is another. double_ulp: of the C library's function and NumPy's together. None: correctly rounded, or
    computed in float64 and rounded once.

    libm: the C library's function that generated code may call, math: Python's in `math`. ascend_c: the
    function of Ascend C's high-level library. tbe_helper: TBE files have it written in smaller steps.
    """

    takes: tuple[Kind, ...]
    gives: Kind
    doc: str
    numpy: Callable[..., Any]
    slope: Slope | None = None
    partials: tuple[Partial, Partial] | None = None
    names: tuple[str, ...] = ()
    cost: int = 1
    ulp: float | None = None
    device_ulp: float | None = None
    double_ulp: float | None = None
    libm: str = ""
    math: str = ""
    ascend_c: str = ""
    tbe_helper: bool = False


#: NumPy's functions have up to 4 units, the C library's hardly more than a half.
_DOUBLE = 6.0


def _one(doc: str, numpy: Callable[..., Any], slope: Slope | None = None, **more: Any) -> Operation:
    return Operation(("number",), "number", doc, numpy, slope, **more)


def _function(
    name: str, doc: str, numpy: Callable[..., Any], slope: Slope, cost: int = 40, **more: Any
) -> Operation:
    """One that the C library has under this name, and Python's math."""
    named = {"libm": name, "math": name, "double_ulp": _DOUBLE, "tbe_helper": True}
    return _one(doc, numpy, slope, cost=cost, **(named | more))


def _two(
    doc: str, numpy: Callable[..., Any], a: Partial | None = None, b: Partial | None = None, **more: Any
) -> Operation:
    partials = None if a is None or b is None else (a, b)
    return Operation(("number",) * 2, "number", doc, numpy, partials=partials, **more)


def _compare(doc: str, numpy: Callable[..., Any], *names: str) -> Operation:
    return Operation(("number",) * 2, "bool", doc, numpy, names=names)


# --- functions of one number ------------------------------------------------------------------------


def _sigmoid(x: Any) -> Any:
    return np.where(np.asarray(x) >= 0, 1, np.exp(np.minimum(x, 0))) / (1 + np.exp(-np.abs(x)))


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _erf(x: Any) -> Any:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), dtype=np.float64)


_ONE_NUMBER = {
    "neg": _one("-x", np.negative, lambda do, x, y: Constant(-1.0), names=("negative",)),
    "abs": _one("|x|", np.abs, lambda do, x, y: do("sign", x), names=("absolute", "fabs")),
    "sign": _one("-1, 0 or 1", np.sign, names=("sgn",), tbe_helper=True),
    "exp": _function(
        "exp", "e^x", np.exp, lambda do, x, y: y, 8, ulp=1.5, device_ulp=1.0, tbe_helper=False
    ),
    "expm1": _function(
        "expm1", "e^x - 1 without cancellation", np.expm1, lambda do, x, y: do("add", y, 1.0), 10,
        ulp=2.0, device_ulp=4.0,
    ),
    "log": _function(
        "log", "natural logarithm", np.log, lambda do, x, y: do("div", 1.0, x), 12,
        ulp=1.5, device_ulp=1.0, tbe_helper=False,
    ),
    "log1p": _function(
        "log1p", "log(1 + x) without cancellation", np.log1p,
        lambda do, x, y: do("div", 1.0, do("add", 1.0, x)), 16, ulp=1.5, device_ulp=4.0,
    ),
    "log2": _function(
        "log2", "logarithm to base 2", np.log2, lambda do, x, y: do("div", 1 / math.log(2), x), 1,
        ulp=3.0, tbe_helper=False,
    ),
    "log10": _function(
        "log10", "logarithm to base 10", np.log10, lambda do, x, y: do("div", 1 / math.log(10), x), 1,
        ulp=3.0, tbe_helper=False,
    ),
    "sqrt": _one(
        "square root", np.sqrt, lambda do, x, y: do("div", 0.5, y), cost=3, libm="sqrt", math="sqrt"
    ),
    "rsqrt": _one(
        "1 / sqrt(x)", lambda x: 1 / np.sqrt(x),
        lambda do, x, y: do("mul", -0.5, do("mul", y, do("mul", y, y))), cost=5, ulp=2.0, double_ulp=4.0,
    ),
    "sin": _function("sin", "sine", np.sin, lambda do, x, y: do("cos", x), ascend_c="Sin"),
    "cos": _function("cos", "cosine", np.cos, lambda do, x, y: do("neg", do("sin", x)), ascend_c="Cos"),
    "tan": _function(
        "tan", "tangent", np.tan, lambda do, x, y: do("add", 1.0, do("mul", y, y)), ascend_c="Tan"
    ),
    "asin": _function(
        "asin", "arc sine", np.arcsin, lambda do, x, y: do("rsqrt", do("sub", 1.0, do("mul", x, x))),
        ascend_c="Asin", names=("arcsin",), tbe_helper=False,
    ),
    "acos": _function(
        "acos", "arc cosine", np.arccos,
        lambda do, x, y: do("neg", do("rsqrt", do("sub", 1.0, do("mul", x, x)))),
        ascend_c="Acos", names=("arccos",), tbe_helper=False,
    ),
    "atan": _function(
        "atan", "arc tangent", np.arctan, lambda do, x, y: do("div", 1.0, do("add", 1.0, do("mul", x, x))),
        ascend_c="Atan", names=("arctan",), tbe_helper=False,
    ),
    "sinh": _function(
        "sinh", "hyperbolic sine", np.sinh, lambda do, x, y: do("cosh", x), ascend_c="Sinh"
    ),
    "cosh": _function(
        "cosh", "hyperbolic cosine", np.cosh, lambda do, x, y: do("sinh", x), ascend_c="Cosh"
    ),
    "tanh": _function(
        "tanh", "hyperbolic tangent", np.tanh, lambda do, x, y: do("sub", 1.0, do("mul", y, y)), 10,
        ulp=4.0, device_ulp=6.0,
    ),
    "asinh": _function(
        "asinh", "inverse hyperbolic sine", np.arcsinh,
        lambda do, x, y: do("rsqrt", do("add", do("mul", x, x), 1.0)), ascend_c="Asinh", names=("arcsinh",),
    ),
    "acosh": _function(
        "acosh", "inverse hyperbolic cosine", np.arccosh,
        lambda do, x, y: do("rsqrt", do("sub", do("mul", x, x), 1.0)), ascend_c="Acosh", names=("arccosh",),
    ),
    "atanh": _function(
        "atanh", "inverse hyperbolic tangent", np.arctanh,
        lambda do, x, y: do("div", 1.0, do("sub", 1.0, do("mul", x, x))),
        ascend_c="Atanh", names=("arctanh",),
    ),
    "erf": _function(
        "erf", "error function", _erf,
        lambda do, x, y: do("mul", 2 / math.sqrt(math.pi), do("exp", do("neg", do("mul", x, x)))), 12,
        ulp=4.0, ascend_c="Erf",
    ),
    "sigmoid": _one(
        "1 / (1 + exp(-x))", _sigmoid, lambda do, x, y: do("mul", y, do("sub", 1.0, y)),
        names=("expit",), cost=10, ulp=3.0, double_ulp=_DOUBLE, tbe_helper=True,
    ),
    "softplus": _one(
        "log(1 + exp(x)) without overflow", _softplus, lambda do, x, y: do("sigmoid", x),
        cost=24, ulp=2.0, device_ulp=5.0, double_ulp=_DOUBLE, tbe_helper=True,
    ),
    "floor": _one("largest integer not above x", np.floor, libm="floor", math="floor"),
    "ceil": _one("smallest integer not below x", np.ceil, libm="ceil", math="ceil"),
    "round": _one("nearest integer, ties to even", np.rint, names=("rint",), libm="rint"),
    "trunc": _one("integer part", np.trunc, names=("fix",), libm="trunc", math="trunc"),
}  # fmt: skip


# --- functions of two numbers -----------------------------------------------------------------------


def _power_base(do: Do, g: Expression, a: Expression, b: Expression, y: Expression) -> Expression:
    if isinstance(b, Constant):
        return do("mul", g, do("mul", b, do("pow", a, do("sub", b, 1.0))))
    slope = do("mul", b, do("pow", a, do("sub", b, 1.0)))
    return do("mul", g, do("select", do("eq", b, 0.0), 0.0, slope))


def _power_exponent(do: Do, g: Expression, a: Expression, b: Expression, y: Expression) -> Expression:
    slope = do("mul", y, do("log", a))
    return do("mul", g, do("select", do("eq", a, 0.0), 0.0, slope))


def _angle(do: Do, g: Expression, a: Expression, b: Expression) -> Expression:
    return do("div", g, do("add", do("mul", a, a), do("mul", b, b)))


_TWO_NUMBERS = {
    "add": _two("a + b", np.add, lambda do, g, a, b, y: g, lambda do, g, a, b, y: g),
    "sub": _two(
        "a - b", np.subtract, lambda do, g, a, b, y: g, lambda do, g, a, b, y: do("neg", g),
        names=("subtract",),
    ),
    "mul": _two(
        "a * b", np.multiply,
        lambda do, g, a, b, y: do("mul", g, b), lambda do, g, a, b, y: do("mul", g, a), names=("multiply",),
    ),
    "div": _two(
        "a / b", np.divide,
        lambda do, g, a, b, y: do("div", g, b),
        lambda do, g, a, b, y: do("neg", do("mul", g, do("div", y, b))),
        names=("divide", "true_divide"), cost=3, ulp=1.5, double_ulp=3.0,
    ),
    "floordiv": _two("floor(a / b)", lambda a, b: np.floor(np.divide(a, b)), names=("floor_divide",)),
    "mod": _two(
        "a - b*floor(a / b), with the sign of b", np.mod, lambda do, g, a, b, y: g,
        lambda do, g, a, b, y: do("neg", do("mul", g, do("floor", do("div", a, b)))),
        names=("remainder",), cost=100, device_ulp=1.5,
    ),
    "pow": _two(
        "a to the power b", np.power, _power_base, _power_exponent,
        names=("power",), cost=60, ulp=1.5, double_ulp=_DOUBLE, libm="pow",
    ),
    "min": _two(
        "the smaller; NaN if either is", np.minimum,
        lambda do, g, a, b, y: do("select", do("lt", a, b), g, 0.0),
        lambda do, g, a, b, y: do("select", do("lt", a, b), 0.0, g), names=("minimum", "fmin"),
    ),
    "max": _two(
        "the larger; NaN if either is", np.maximum,
        lambda do, g, a, b, y: do("select", do("gt", a, b), g, 0.0),
        lambda do, g, a, b, y: do("select", do("gt", a, b), 0.0, g), names=("maximum", "fmax"),
    ),
    "atan2": _two(
        "angle of the point (b, a)", np.arctan2, lambda do, g, a, b, y: do("mul", b, _angle(do, g, a, b)),
        lambda do, g, a, b, y: do("neg", do("mul", a, _angle(do, g, a, b))),
        names=("arctan2",), cost=60, device_ulp=3.0, double_ulp=_DOUBLE, libm="atan2",
    ),
}  # fmt: skip

#: Every elementwise operation.
OPERATIONS: dict[str, Operation] = {
    **_ONE_NUMBER,
    **_TWO_NUMBERS,
    "eq": _compare("a == b", np.equal, "equal"),
    "ne": _compare("a != b", np.not_equal, "not_equal"),
    "lt": _compare("a < b", np.less, "less"),
    "le": _compare("a <= b", np.less_equal, "less_equal"),
    "gt": _compare("a > b", np.greater, "greater"),
    "ge": _compare("a >= b", np.greater_equal, "greater_equal"),
    "isnan": Operation(("number",), "bool", "whether x is NaN", np.isnan),
    "isinf": Operation(("number",), "bool", "whether x is infinite", np.isinf),
    "and": Operation(("bool",) * 2, "bool", "both", np.logical_and, names=("logical_and",)),
    "or": Operation(("bool",) * 2, "bool", "either", np.logical_or, names=("logical_or",)),
    "not": Operation(("bool",), "bool", "the opposite", np.logical_not, names=("logical_not",)),
    "select": Operation(
        ("bool", "number", "number"), "number", "a where the condition holds, else b", np.where
    ),
}
