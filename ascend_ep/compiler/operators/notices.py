"""What a conversion says of the definitions in force, beside its table of nodes."""

from __future__ import annotations

import warnings

from ascend_ep.opdef.registry import Registry

#: Files that are named one by one before the rest is counted.
SHOWN = 10


def say_unused(registry: Registry) -> None:
    """Warns of each file in $ASCEND_CUSTOM_OPS that no operator is taken from. Raises what reading raises."""
    unused = registry.unused()
    for file in unused[:SHOWN]:
        _warn(file.text)
    if len(unused) > SHOWN:
        _warn(f"{len(unused) - SHOWN} more files there aren't used; `ascend-op list` names all")


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=3)
