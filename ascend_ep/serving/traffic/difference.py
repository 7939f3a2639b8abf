"""How far the outputs of two versions are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ascend_ep.serving.request import Array


@dataclass(frozen=True)
class Difference:
    """Of one request. absolute, relative: the largest, over all outputs; relative to the larger of the two
    values. mismatch: "" when every element is within atol + rtol * |value|, else what is wrong, output first.
    """

    absolute: float = 0.0
    relative: float = 0.0
    mismatch: str = ""


def difference(
    names: Sequence[str], answered: Sequence[Array], shadowed: Sequence[Array], rtol: float, atol: float
) -> Difference:
    """NaN agrees with NaN, an infinity with itself; what isn't a number agrees when it is equal."""
    absolute = relative = 0.0
    mismatch = ""
    if len(answered) != len(shadowed):
        return Difference(mismatch=f"{len(answered)} outputs, {len(shadowed)} in the shadow")
    for name, left, right in zip(names, answered, shadowed, strict=True):
        if left.shape != right.shape or left.dtype != right.dtype:
            found = (
                f"{left.dtype.name}{list(left.shape)}, {right.dtype.name}{list(right.shape)} in the shadow"
            )
            return Difference(absolute, relative, f"{name}: {found}")
        if left.dtype.kind in "OSUb":
            apart = int(np.count_nonzero(left != right))
            within = apart == 0
        else:
            a, r, apart = _numbers(left, right, rtol, atol)
            absolute, relative, within = max(absolute, a), max(relative, r), apart == 0
        if not within and not mismatch:
            mismatch = f"{name}: {apart} of {left.size} elements differ"
    return Difference(absolute, relative, mismatch)


def _numbers(left: Array, right: Array, rtol: float, atol: float) -> tuple[float, float, int]:
    """The largest differences among finite values, and how many elements are too far apart."""
    if left.size == 0:
        return 0.0, 0.0, 0
    a, b = left.astype(np.float64), right.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
        size = np.maximum(np.abs(a), np.abs(b))
        close = same | (finite & (apart <= atol + rtol * size))
        ratio = np.divide(apart, size, out=np.zeros_like(apart), where=size > 0)
    largest = float(apart.max(where=finite, initial=0.0))
    return largest, float(ratio.max(where=finite, initial=0.0)), int(np.count_nonzero(~close))
