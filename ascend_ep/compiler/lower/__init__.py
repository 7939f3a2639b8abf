"""Lowerings, by the names that op_schemas files give as `kernel`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from ascend_ep.compiler.lowering import Lowering, registered


def lowering(name: str) -> Lowering | None:
    """The lowering of that name. The modules of this package are loaded on first use."""
    _load()
    return registered(name)


@cache
def _load() -> None:
    for module in pkgutil.iter_modules(__path__, __name__ + "."):
        importlib.import_module(module.name)
