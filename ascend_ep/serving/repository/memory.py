"""Memory of a process whose threads come and go with the versions of its models.

The C library gives every few threads a heap of their own and keeps what is freed there, so that such a
process grows with every reload although nothing is lost. Both calls do nothing where it has no such thing.
"""

from __future__ import annotations

import ctypes

_M_ARENA_MAX = -8
_HEAPS = 2


def bound_heaps() -> None:
    """No more than a few heaps, for a process that only serves: called before it starts threads."""
    bound = getattr(ctypes.CDLL(None), "mallopt", None)
    if bound is not None:
        bound(_M_ARENA_MAX, _HEAPS)


def trim() -> None:
    """Gives what was freed back to the system."""
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(0)
