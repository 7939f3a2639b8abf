"""Registers the plugin with onnxruntime, whichever of the two is imported first.

`import ascend_ep` registers at once when onnxruntime is there, and otherwise waits on `sys.meta_path` for
it. `ASCEND_EP_REGISTER=0` opts out; `register()` still registers when asked.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ascend_ep.provider.plugin_library import EP_NAME, get_library_path

#: The first release whose `providers=[...]` finds plugin providers.
OLDEST = (1, 25)


def install() -> None:
    """Registers with onnxruntime now, or as soon as it is imported. Does nothing the second time."""
    if os.environ.get("ASCEND_EP_REGISTER") == "0":
        return
    module = sys.modules.get("onnxruntime")
    if module is not None:
        _register_quietly(module)
    elif not any(isinstance(finder, _PostImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _PostImport())


def register(module: Any = None) -> None:
    """Registers the provider with onnxruntime (imported here when `module` is None). Idempotent.

    Raises RuntimeError when onnxruntime is older than 1.25, ImportError when there is none.
    """
    module = module or importlib.import_module("onnxruntime")
    from ascend_ep.provider import session_hook

    if not is_supported(module):
        session_hook.attach_warning(module)
        raise RuntimeError(f"{EP_NAME} needs onnxruntime >= 1.25; this is {module.__version__}")
    from ascend_ep.provider import callbacks

    callbacks.install()
    if EP_NAME not in module.get_available_providers():
        module.register_execution_provider_library(EP_NAME, get_library_path())
    session_hook.attach(module)


def unregister(module: Any = None) -> None:
    """Takes the provider out of onnxruntime; sessions that exist keep working."""
    module = module or importlib.import_module("onnxruntime")
    module.unregister_execution_provider_library(EP_NAME)


def is_supported(module: ModuleType) -> bool:
    """Whether this onnxruntime finds plugin providers by name."""
    return _version(str(getattr(module, "__version__", "0"))) >= OLDEST


def _version(text: str) -> tuple[int, int]:
    parts = [*text.split("."), "0", "0"][:2]
    return (int(parts[0]), int(parts[1])) if all(p.isdecimal() for p in parts) else (0, 0)


def _register_quietly(module: ModuleType) -> None:
    """For imports: a failure is a warning, never a broken `import onnxruntime`."""
    from ascend_ep.provider import session_hook

    if not is_supported(module):
        session_hook.attach_warning(module)
        return
    try:
        register(module)
    except Exception as error:
        warnings.warn(f"{EP_NAME} could not be registered with onnxruntime: {error}", stacklevel=2)


class _PostImport(importlib.abc.MetaPathFinder):
    """Lets the other finders find onnxruntime, and registers after its module has run."""

    def __init__(self) -> None:
        self._searching = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "onnxruntime" or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching = False
        if spec is not None and spec.loader is not None:
            self._run_after(spec.loader)
        return spec

    def _run_after(self, loader: Any) -> None:
        original = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            loader.exec_module = original
            original(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _register_quietly(module)

        loader.exec_module = exec_module
