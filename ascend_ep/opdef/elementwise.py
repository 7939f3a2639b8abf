"""What each elementwise operation computes in float64 NumPy, and rounding to element types."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_ep.opdef import dtypes

Array = npt.NDArray[Any]


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
