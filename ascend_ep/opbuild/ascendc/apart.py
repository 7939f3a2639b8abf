"""The part of our headers that is the same for all kernels: compiled once for a set of flags, and not again with every
kernel, of whose unit it is two thirds (native/include/ascendc/cpu/apart.h)."""

from __future__ import annotations

from .precompiled import beginning_of

#: What a unit that leaves it out is compiled with.
LEFT_OUT = ("-DASC_CPU_APART",)
#: What its own unit is compiled with, and the text of that.
WHOLE = ("-DASC_CPU_RUNTIME",)
_HEADERS = ('#include "kernel_operator.h"', '#include "host/launch.h"')
RUNTIME = "".join(f"{header}\n" for header in _HEADERS)


def is_of_kernels(text: str) -> bool:
    """Whether a unit begins with the headers that have it."""
    return set(_HEADERS) <= set(beginning_of(text))
