"""What each elementwise operation computes in float64 NumPy, and rounding to element types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_ep.opdef import dtypes

Array = npt.NDArray[Any]


def _sigmoid(x: Any) -> Any:
    return np.where(np.asarray(x) >= 0, 1, np.exp(np.minimum(x, 0))) / (1 + np.exp(-np.abs(x)))


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _erf(x: Any) -> Any:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), dtype=np.float64)


#: What each operation of expression.OPERATIONS computes, on float64 and bool arrays.
ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _erf,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floordiv": lambda a, b: np.floor(np.divide(a, b)),
    "mod": np.mod,
    "pow": np.power,
    "min": np.minimum,
    "max": np.maximum,
    "atan2": np.arctan2,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "select": np.where,
}


def round_to(value: Any, dtype: int) -> Array:
    """`value` rounded to an element type, as float64. Integers truncate and saturate, and have no -0; NaN
    becomes 0."""
    array = np.asarray(value, dtype=np.float64)
    if dtype == dtypes.BOOL:
        return np.asarray(array != 0, dtype=np.float64)
    if dtype == dtypes.BFLOAT16:
        return _round_to_bfloat16(array)
    if dtype in dtypes.INTEGERS:
        limits = np.iinfo(np.dtype(dtypes.NUMPY[dtype]))
        whole = np.trunc(np.nan_to_num(array, nan=0.0, posinf=np.inf, neginf=-np.inf))
        return np.asarray(np.clip(whole, limits.min, limits.max) + 0.0)
    with np.errstate(over="ignore"):
        return array.astype(dtypes.NUMPY[dtype]).astype(np.float64)


def _round_to_bfloat16(array: Array) -> Array:
    """float32 to the nearest with 8 significant bits, ties to even."""
    with np.errstate(over="ignore"):
        bits = np.ascontiguousarray(array.astype(np.float32)).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    result = rounded.view(np.float32).astype(np.float64).reshape(array.shape)
    return np.where(np.isnan(array), array, result)
