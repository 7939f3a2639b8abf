"""The devices that programs may name: simulated ones, which all are this machine."""

from __future__ import annotations

from ascend_ep.cann.device_count import device_count
from ascend_ep.errors import AscendError

from .failure import Failure


def check_device(number: int) -> int:
    """The number of a device that there is. Raises Failure E45006."""
    try:
        count = device_count()
    except AscendError as error:
        raise Failure.of(error) from None
    if not 0 <= number < count:
        fix = f"ASCEND_EP_DEVICES={number + 1} simulates so many." if number >= 0 else None
        raise Failure("E45006", number, f"there are {count}, numbered from 0", fix=fix)
    return number
