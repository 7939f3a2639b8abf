"""Whether two runs of a model agree: one number for each, relative to the largest magnitude of an output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What is counted as an error of shapes, types, or places of infinities and NaN.
WRONG = math.inf
#: Outputs smaller than this are compared as if they were this large.
LEAST_SCALE = 1e-6


def plain(output: Any) -> list[NDArray[Any]]:
    """The arrays of an output: of a sequence its elements', of a map its keys and its values."""
    if isinstance(output, dict):
        return [np.array(list(output.keys())), np.array(list(output.values()))]
    if isinstance(output, list):
        return [array for element in output for array in plain(element)]
    return [] if output is None else [np.asarray(output)]


def error(expected: Sequence[NDArray[Any]], found: Sequence[NDArray[Any]]) -> float:
    """The largest over the outputs; WRONG when they can't be compared. Whole numbers and text must be equal:
    for them it is the share of elements that differ."""
    if len(expected) != len(found):
        return WRONG
    return max((_of_one(e, f) for e, f in zip(expected, found, strict=True)), default=0.0)


def _of_one(expected: NDArray[Any], found: NDArray[Any]) -> float:
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return WRONG
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind not in "fc":
        return float(np.mean(expected != found))
    true, ours = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(true)
    if (
        not np.array_equal(true[~finite], ours[~finite], equal_nan=True)
        or not np.isfinite(ours[finite]).all()
    ):
        return WRONG
    if not finite.any():
        return 0.0
    scale = max(float(np.abs(true[finite]).max()), LEAST_SCALE)
    return float(np.abs(true[finite] - ours[finite]).max()) / scale
