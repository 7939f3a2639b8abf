"""onnx_ir without the 0.3 s that sympy takes to import.

onnx_ir computes with symbolic dims through sympy, which few conversions need and all would wait for. While
onnx_ir is imported, `sympy` is a module that imports the real one at the first use of a name. Once it is
imported, `sympy` means the real package again for everybody else.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

NAME, READER = "sympy", "onnx_ir"


class _Deferred(ModuleType):
    """What onnx_ir knows as sympy. Names that it reads while it is imported are functions that look them up
    when called; later ones are sympy's own."""

    #: Whether onnx_ir is still being imported.
    is_early = True

    def __getattr__(self, name: str) -> Any:
        if self.is_early and not name.startswith("__"):
            return _late_call(name)
        return getattr(importlib.import_module(NAME), name)


def _late_call(name: str) -> Callable[..., Any]:
    return lambda *args, **kwargs: getattr(importlib.import_module(NAME), name)(*args, **kwargs)


class _Loader(Loader):
    """Runs a package's own loader with sympy deferred; as usual where the package can't do without it."""

    def __init__(self, own: Loader) -> None:
        self._own = own

    def __getattr__(self, name: str) -> Any:  # get_source, get_resource_reader...
        return getattr(self._own, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        deferred = _Deferred(NAME)
        sys.modules[NAME] = deferred
        try:
            self._own.exec_module(module)
        except Exception:
            for name in [n for n in sys.modules if n.startswith(READER + ".")]:
                del sys.modules[name]
            _restore(deferred)
            self._own.exec_module(module)
        finally:
            _restore(deferred)


def _restore(deferred: _Deferred) -> None:
    deferred.is_early = False
    if sys.modules.get(NAME) is deferred:
        del sys.modules[NAME]


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != READER or NAME in sys.modules:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def install() -> None:
    """Defers sympy for an onnx_ir that is imported from now on."""
    if READER not in sys.modules and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
