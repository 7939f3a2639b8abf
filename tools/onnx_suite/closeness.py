"""Whether two programs computed the same, give or take the order of sums."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Relative to the largest element.
CLOSE = 1e-5


def same(wanted: Any, got: Any) -> bool:
    a, b = np.asarray(wanted), np.asarray(got)
    if a.shape != b.shape:
        return False
    if a.dtype != b.dtype:  # onnxruntime gives the narrow floats as their bytes
        return a.dtype.itemsize == b.dtype.itemsize == 1 and a.tobytes() == b.tobytes()
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    largest = float(np.max(np.abs(a[np.isfinite(a)]), initial=0))
    bound = max(CLOSE, 4 * float(np.finfo(a.dtype).eps)) * largest + 1e-6
    return bool(np.allclose(a, b, rtol=1e-3, atol=bound, equal_nan=True))
