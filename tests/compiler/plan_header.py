"""What the header of a bundle's plan says."""

from __future__ import annotations

import struct

from ascend_ep.runtime._rt import lib


def min_reader(image: bytes) -> int:
    """The oldest reader that a bundle says it needs."""
    at = image.index(struct.pack("<IH", lib.ASC_PLAN_MAGIC, lib.ASC_PLAN_VERSION))
    found: int = struct.unpack_from("<H", image, at + 6)[0]
    return found
