"""How many devices are simulated: what ASCEND_EP_DEVICES says, as native/acl/settings.c reads it."""

from __future__ import annotations

import os

from ascend_ep.errors import AscendError

#: Without the variable, and at most.
USUAL, MOST = 1, 64


def device_count() -> int:
    """Raises AscendError E45006 for a value of ASCEND_EP_DEVICES that is no such number."""
    text = os.environ.get("ASCEND_EP_DEVICES", "")
    if not text:
        return USUAL
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise AscendError("E45006", text, f"ASCEND_EP_DEVICES is a number, 1 to {MOST}")
    return int(text)
