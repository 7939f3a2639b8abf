"""Ratios of two backends over the rounds of a run, and how sure they are.

In round i both were timed in slots close together, so what slows the machine for a while slows both, and in
processes of their own and new, so what is peculiar to a process is in one round only. That leaves
l_i = ln(peer_i / own_i) alone. The ratio is exp(median l), and its error that of the median l.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

#: Deviations beyond which a change counts.
DEVIATIONS = 3.0
#: No ratio is believed to be surer than this, whatever its rounds say (relative).
LEAST_ERROR = 0.01
#: The same of two sessions that take turns in one process.
LEAST_PAIRED_ERROR = 0.003


@dataclass(frozen=True)
class Ratio:
    """peer / own, and the standard error of its logarithm."""

    value: float
    error: float


def ratio(peer: Sequence[float], own: Sequence[float]) -> Ratio:
    """Of the times of the same rounds."""
    logs = [math.log(p / o) for p, o in zip(peer, own, strict=True)]
    return Ratio(math.exp(statistics.median(logs)), error_of_median(logs))


def error_of_median(values: Sequence[float]) -> float:
    """The standard error of the median of these rounds, 1.2533 * 1.4826 * MAD / sqrt(rounds): 1.4826 makes
    the median absolute deviation estimate a normal standard deviation, 1.2533 = sqrt(pi/2) is the median's
    efficiency."""
    middle = statistics.median(values)
    spread = 1.4826 * statistics.median(abs(x - middle) for x in values)
    return 1.2533 * spread / math.sqrt(len(values))


def typical_error(ratios: Sequence[Ratio]) -> float:
    """The median error of a run: a row whose few rounds agree by luck is not surer than the others."""
    return max(LEAST_ERROR, statistics.median(r.error for r in ratios)) if ratios else LEAST_ERROR


def has_fallen(
    before: Ratio, now: Ratio, typical_before: float, typical_now: float, margin: float = 0.0
) -> bool:
    """Whether `now` lies below `before` by more than DEVIATIONS of their common error, and by more than the
    share `margin`: what may lie between two days that neither run could see."""
    errors = (max(before.error, typical_before), max(now.error, typical_now))
    beyond_noise = math.log(before.value / now.value) > DEVIATIONS * math.hypot(*errors)
    return beyond_noise and now.value < before.value * (1.0 - margin)
