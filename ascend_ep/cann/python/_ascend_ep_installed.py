"""A package of a name that is here, installed by its own wheel, goes before ours.

A toolkit's folder stands on PYTHONPATH, so in front of what pip installed: the real aclruntime and ais_bench
would be there and never run. This imports nothing of ascend_ep, which their Python may lack.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType


def installed(name: str, ours: str) -> ModuleType | None:
    """The module `name` of the first folder of `sys.path` whose file isn't `ours`, executed; or None."""
    for folder in sys.path:
        spec = PathFinder.find_spec(name, [folder])
        if spec is None or spec.loader is None or spec.origin is None:
            continue
        if Path(spec.origin).resolve() != Path(ours).resolve():
            module = sys.modules[name] = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    return None
