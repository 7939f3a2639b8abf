"""The module `acl` with acl.rt, acl.mdl and the others; functions are made when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from ascend_ep.errors import nearest

from . import callbacks, memory
from .calls import python_function
from .library import constants, declarations, ffi, native
from .names import MODULES, python_name

_UTIL: dict[str, Callable[..., Any]] = {
    "bytes_to_ptr": memory.bytes_to_ptr,
    "ptr_to_bytes": memory.ptr_to_bytes,
    "numpy_to_ptr": memory.numpy_to_ptr,
    "numpy_contiguous_to_ptr": memory.numpy_contiguous_to_ptr,
    "ptr_to_numpy": memory.ptr_to_numpy,
    "start_thread": callbacks.start_thread,
    "stop_thread": callbacks.stop_thread,
}


@cache
def functions() -> dict[str, dict[str, str]]:
    """By module and name there, the C function."""
    found: dict[str, dict[str, str]] = {module: {} for module in ("", *MODULES)}
    for name in declarations():
        module, called = python_name(name)
        found[module][called] = name
    return found


class Functions(ModuleType):
    """A module whose functions are those of AscendCL with a certain beginning."""

    def __init__(self, name: str, part: str) -> None:
        super().__init__(name, "AscendCL for Python, on this machine's CPU.")
        self._part = part

    def __getattr__(self, name: str) -> Any:
        c_name = functions()[self._part].get(name)
        made: Any
        if c_name is not None:
            made = python_function(c_name, name, declarations()[c_name])
        elif self._part == "" and name == "app_log":
            made = _app_log
        elif self._part == "" and name in constants():
            made = constants()[name]
        else:
            close = nearest(name, dir(self), 1)
            hint = f". Did you mean {self.__name__}.{close[0]}?" if close else ""
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}{hint}")
        setattr(self, name, made)
        return made

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *functions()[self._part]})


def _app_log(log_level: int, message: str) -> None:
    """Writes a line of the program to the log of the library, with the place in the program."""
    caller = sys._getframe(1)
    code = caller.f_code
    words = (code.co_name, code.co_filename, "%s", message)
    func, file, form, text = (ffi().new("char[]", str(word).encode()) for word in words)
    native("aclAppLog")(log_level, func, file, caller.f_lineno, form, text)


def make() -> Functions:
    """The module acl with its parts, in sys.modules."""
    functions()
    made = Functions("acl", "")
    made.__path__ = []
    util = ModuleType("acl.util", "Addresses, bytes, arrays, threads.")
    util.__dict__.update(_UTIL)
    parts: dict[str, ModuleType] = {part: Functions(f"acl.{part}", part) for part in MODULES}
    for part, module in {**parts, "util": util}.items():
        setattr(made, part, module)
        sys.modules[f"acl.{part}"] = module
    return made
