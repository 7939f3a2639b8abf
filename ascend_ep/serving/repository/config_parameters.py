"""The keys of `parameters` that mean something to this server:

parameters { key: "threads" value { string_value: "2" } }            of one run
parameters { key: "split" value { string_value: "1:0.9, 2:0.1" } }   weights of versions
parameters { key: "auto_implementation" value { string_value: "true" } }   the fastest one, by live runs
parameters { key: "shadow" value { string_value: "2:0.1" } }         the version that runs a share once more
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Split = tuple[tuple[int, float], ...]
Shadow = tuple[int | None, float]

_KEYS = ("threads", "split", "shadow", "auto_implementation")
MAX_THREADS = 1024


def read_parameters(
    given: Mapping[str, Any], refuse: Callable[[str, str], None], say: Callable[[str, str], None]
) -> tuple[int | None, Split, Shadow, bool | None]:
    """threads, split, shadow with its share, auto_implementation. `refuse` raises; `say` is for keys that
    mean nothing here."""
    for key in given:
        if key not in _KEYS:
            say("parameters", f"the key [{key}] is none of {', '.join(_KEYS)}")
    threads: int | None = None
    split: Split = ()
    shadow: Shadow = (None, 1.0)
    if "threads" in given:
        threads = _whole(given["threads"].string_value)
        if not 1 <= threads <= MAX_THREADS:
            refuse("parameters", f"threads is a number from 1 to {MAX_THREADS}")
    if "shadow" in given:
        shadow = _shadow(given["shadow"].string_value)
        if shadow[0] is None:
            refuse("parameters", 'shadow is the number of a version, with a share as in "2:0.1"')
    if "split" in given:
        split = _split(given["split"].string_value)
        if not split:
            refuse("parameters", 'split is weights of versions, such as "1:0.9, 2:0.1"')
    automatic: bool | None = None
    if "auto_implementation" in given:
        automatic = {"true": True, "false": False}.get(given["auto_implementation"].string_value)
        if automatic is None:
            refuse("parameters", "auto_implementation is true or false")
    return threads, split, shadow, automatic


def _whole(text: str) -> int:
    """The number, -1 for what is none."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else -1


def _shadow(text: str) -> Shadow:
    """(None, ...) unless it is a version, or version:share with a share of more than 0 up to 1."""
    version, colon, given = text.partition(":")
    number = _whole(version)
    try:
        share = float(given) if colon else 1.0
    except ValueError:
        return None, 0.0
    return (number, share) if number >= 1 and 0 < share <= 1 else (None, 0.0)


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
