"""From what was seen of an activation to its scale and zero point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .observe import BINS, Floats, Seen
from .settings import Settings

#: Steps of ifmr's search: shares of the range that percentiles leave.
_SHARES = np.arange(0.7, 1.3001, 0.01)


@dataclass(frozen=True)
class Scale:
    """An element is (integer - zero) * scale; the integers are of the type of `zero`, a scalar."""

    scale: np.float32
    zero: NDArray[np.integer]


def scale_of(seen: Seen, settings: Settings) -> Scale:
    """The scale of a value in 8 bits."""
    low, high = _clipped(seen, settings)
    return _scale(low, high, settings.activation_offset)


def _scale(low: float, high: float, offset: bool) -> Scale:
    """Zero itself is always among the elements, exactly."""
    low, high = min(low, 0.0), max(high, 0.0)
    if not offset:
        step = max(-low, high) / 127
        return Scale(np.float32(step if step > 0 else 1), np.zeros((), np.int8))
    step = (high - low) / 255
    if not np.float32(step) > 0:
        return Scale(np.float32(1), np.zeros((), np.uint8))
    zero = np.clip(np.rint(-low / step), 0, 255).astype(np.uint8)
    return Scale(np.float32(step), np.asarray(zero))


def _clipped(seen: Seen, settings: Settings) -> tuple[float, float]:
    if seen.low > seen.high:  # nothing finite, or no sample
        return 0.0, 0.0
    if settings.method == "min-max" or seen.high == seen.low or not seen.histogram.any():
        return seen.low, seen.high
    if settings.method == "entropy":
        limit = _entropy_limit(seen)
        return max(seen.low, -limit), min(seen.high, limit)
    low, high = _percentiles(seen, settings.percentile)
    return (low, high) if settings.method == "percentile" else _nearest(seen, low, high, settings)


def _edges(seen: Seen) -> Floats:
    return np.linspace(seen.low, seen.high, BINS + 1)


def _percentiles(seen: Seen, percentile: float) -> tuple[float, float]:
    """What leaves this share of elements, in percent, below it, and above it."""
    counts = np.cumsum(seen.histogram)
    share, edges = percentile / 100, _edges(seen)
    low = np.searchsorted(counts, counts[-1] * (1 - share), side="right")
    high = np.searchsorted(counts, counts[-1] * share, side="left")
    return float(edges[low]), float(edges[min(high + 1, BINS)])


def _nearest(seen: Seen, low: float, high: float, settings: Settings) -> tuple[float, float]:
    """The range, a share of the given one, whose integers are nearest to the elements, by squares."""
    edges = _edges(seen)
    centres, weights = (edges[1:] + edges[:-1]) / 2, seen.histogram
    used = weights > 0
    centres, weights = centres[used], weights[used]
    best, least = (low, high), np.inf
    for share in _SHARES:
        tried = (max(low * share, seen.low), min(high * share, seen.high))
        found = _scale(*tried, settings.activation_offset)
        limits, zero = np.iinfo(found.zero.dtype), float(found.zero)
        steps = np.clip(np.rint(centres / found.scale) + zero, limits.min, limits.max)
        error = float(weights @ np.square((steps - zero) * found.scale - centres))
        if error < least:
            best, least = tried, error
    return best


def _entropy_limit(seen: Seen) -> float:
    """The magnitude at which to clip, such that the distribution in 128 levels tells least from the clipped
    one: least Kullback-Leibler divergence (Migacz 2017)."""
    edges = _edges(seen)
    largest = max(-seen.low, seen.high)
    magnitudes = np.abs((edges[1:] + edges[:-1]) / 2)
    bins, levels = _entropy_bins(int(seen.histogram.sum())), 128
    counts = np.histogram(magnitudes, bins, (0, largest), weights=seen.histogram)[0]
    total = np.concatenate([[0.0], np.cumsum(counts)])
    best, least = bins, np.inf
    for size in range(levels, bins + 1, bins // 256):
        kept = counts[:size].copy()
        kept[-1] += total[-1] - total[size]  # what is cut off counts at the limit
        divergence = _divergence(kept, counts[:size], levels)
        if divergence < least:
            best, least = size, divergence
    return float(largest * best / bins)


def _entropy_bins(elements: int) -> int:
    """2048 where there are elements enough that a bin's count tells more than chance, 256 at least."""
    return int(2 ** np.clip(np.floor(np.log2(max(elements, 1) / 64)), 8, 11))


def _divergence(wanted: Floats, counts: Floats, levels: int) -> float:
    """Of `wanted` from `counts` spread evenly over the bins of each level that hold any."""
    level = np.arange(len(counts)) * levels // len(counts)
    some = counts > 0
    sums = np.bincount(level, counts, levels)
    held = np.bincount(level[some], minlength=levels)
    spread = np.where(some, (sums / np.maximum(held, 1))[level], 0.0)
    p, q = wanted / max(wanted.sum(), 1), spread / max(spread.sum(), 1)
    used = p > 0
    return float(np.sum(p[used] * np.log(p[used] / np.maximum(q[used], 1e-12))))
