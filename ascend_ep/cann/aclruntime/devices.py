"""The devices that programs may name: simulated ones, which all are this machine."""

from __future__ import annotations

import os

from .failure import Failure

#: How many there are without ASCEND_EP_DEVICES, as in libascendcl.
USUAL = 1


def device_count() -> int:
    """How many there are. Raises Failure E45006 for a value of ASCEND_EP_DEVICES that is no number."""
    text = os.environ.get("ASCEND_EP_DEVICES", "")
    if not text:
        return USUAL
    if not text.isdecimal() or int(text) < 1:
        raise Failure("E45006", text, "ASCEND_EP_DEVICES is a number, 1 or more")
    return int(text)


def check_device(number: int) -> int:
    """The number of a device that there is. Raises Failure E45006."""
    count = device_count()
    if not 0 <= number < count:
        fix = f"ASCEND_EP_DEVICES={number + 1} simulates so many." if number >= 0 else None
        raise Failure("E45006", number, f"there are {count}, numbered from 0", fix=fix)
    return number
