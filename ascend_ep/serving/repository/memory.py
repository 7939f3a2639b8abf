"""The memory of a process whose threads come and go with the versions of its models.

The C library gives every few threads a heap of their own and keeps what is freed there, so that such a
process grows with every reload although nothing is lost. Where it has no such thing, the calls do nothing.
"""

from __future__ import annotations

import ctypes

_M_ARENA_MAX = -8
_HEAPS = 2

_LIBRARY = ctypes.CDLL(None)
_bound = getattr(_LIBRARY, "mallopt", None)
_trim = getattr(_LIBRARY, "malloc_trim", None)


def bound_heaps() -> None:
    """No more than a few heaps, for a process that only serves: called before it starts threads."""
    if _bound is not None:
        _bound(_M_ARENA_MAX, _HEAPS)


def trim() -> None:
    """Gives what was freed back to the system."""
    if _trim is not None:
        _trim(0)
