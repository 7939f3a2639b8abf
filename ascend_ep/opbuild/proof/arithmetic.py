"""How exact each way of running an expression is: its number format, and the error of every operation.

Errors are in units in the last place of the result (ulp). An addition, a product, a quotient and a square
root are correctly rounded: half a unit. A function computed in float64 and rounded once has hardly more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ascend_ep.opdef.operations import OPERATIONS

#: Correctly rounded, or computed in float64 and rounded once.
ROUNDED = 0.51
ULPS = {name: o.ulp for name, o in OPERATIONS.items() if o.ulp is not None}
#: Of the instruction sequences of ascendc/instructions.py: an exponential or a logarithm has one unit, and
#: every step after it half a unit.
ASCEND_C_ULPS = ULPS | {name: o.device_ulp for name, o in OPERATIONS.items() if o.device_ulp is not None}
_DOUBLE_ULPS = {name: o.double_ulp for name, o in OPERATIONS.items() if o.double_ulp is not None}


@dataclass(frozen=True)
class Arithmetic:
    """A compute type: its spacing at 1, the distance between its least numbers, its largest finite number,
    the whole numbers that it holds without gaps; what operations add in ulp, and those not listed."""

    spacing: float
    least: float
    most: float
    whole: float
    ulps: Mapping[str, float]
    rounded: float

    def hold(self, value: object) -> np.ndarray:
        """Numbers as this type has them, in float64."""
        array = np.asarray(value, dtype=np.float64)
        if self.spacing < 2.0**-24:
            return array
        with np.errstate(all="ignore"):
            return array.astype(np.float32).astype(np.float64)


FLOAT32 = Arithmetic(2.0**-23, 2.0**-149, float(np.finfo(np.float32).max), 2.0**24, ULPS, ROUNDED)
#: The reference is in this type itself, so what lies between a kernel and it has two roundings.
FLOAT64 = Arithmetic(
    2.0**-52, 5e-324, float(np.finfo(np.float64).max), 2.0**53,
    _DOUBLE_ULPS, 2 * ROUNDED,
)  # fmt: skip
#: A vector unit may lose what lies below the normal numbers: 1/(1 + e^-x) is 0 where e^-x overflows.
ASCEND_C = Arithmetic(FLOAT32.spacing, 2.0**-126, FLOAT32.most, FLOAT32.whole, ASCEND_C_ULPS, ROUNDED)
