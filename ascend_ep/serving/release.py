"""Which ascend-ep this is."""

from __future__ import annotations

import importlib.metadata
from functools import cache


@cache
def installed_version() -> str:
    """The package's; "source" for a tree that isn't installed."""
    try:
        return importlib.metadata.version("ascend-ep")
    except importlib.metadata.PackageNotFoundError:
        return "source"
