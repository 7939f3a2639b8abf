"""The keys of `parameters` that mean something to this server:

parameters { key: "threads" value { string_value: "2" } }            of one run
parameters { key: "split" value { string_value: "1:0.9, 2:0.1" } }   weights of versions
parameters { key: "shadow" value { string_value: "2" } }             the version that is run beside
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Split = tuple[tuple[int, float], ...]

_KEYS = ("threads", "split", "shadow")
MAX_THREADS = 1024


def read_parameters(
    given: Mapping[str, Any], refuse: Callable[[str, str], None], say: Callable[[str, str], None]
) -> tuple[int | None, Split, int | None]:
    """threads, split, shadow. `refuse` raises; `say` is for keys that mean nothing here."""
    for key in given:
        if key not in _KEYS:
            say("parameters", f"the key [{key}] is none of {', '.join(_KEYS)}")
    threads = shadow = None
    split: Split = ()
    if "threads" in given:
        threads = _whole(given["threads"].string_value)
        if not 1 <= threads <= MAX_THREADS:
            refuse("parameters", f"threads is a number from 1 to {MAX_THREADS}")
    if "shadow" in given:
        shadow = _whole(given["shadow"].string_value)
        if shadow < 1:
            refuse("parameters", "shadow is the number of a version")
    if "split" in given:
        split = _split(given["split"].string_value)
        if not split:
            refuse("parameters", 'split is weights of versions, such as "1:0.9, 2:0.1"')
    return threads, split, shadow


def _whole(text: str) -> int:
    """The number, -1 for what is none."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else -1


def _split(text: str) -> Split:
    """Nothing unless every part is version:weight, with weights of 0 or more that aren't all 0."""
    found: dict[int, float] = {}
    for part in text.split(","):
        version, _, weight = part.partition(":")
        number = _whole(version)
        try:
            share = float(weight)
        except ValueError:
            return ()
        if number < 1 or number in found or not (math.isfinite(share) and share >= 0):
            return ()
        found[number] = share
    return tuple(sorted(found.items())) if sum(found.values()) > 0 else ()
