"""libascendcl and what its headers declare."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import ascend_ep
from ascend_ep.errors import AscendError

Parameter = tuple[str, str]
Declaration = tuple[str, tuple[Parameter, ...]]


@cache
def _declared() -> Any:
    try:
        from ascend_ep.cann import _acl
    except ImportError:
        where = "ascend_ep/cann/_acl.py"
        fix = "Install the package again, or run tools/build in the source tree."
        raise AscendError(
            "E40002", "the declarations of AscendCL weren't built", where=where, fix=fix
        ) from None
    return _acl


def ffi() -> Any:
    """cffi's types of AscendCL."""
    return _declared().ffi


def declarations() -> dict[str, Declaration]:
    """By name the result and the parameters of every function of AscendCL."""
    found: dict[str, Declaration] = _declared().FUNCTIONS
    return found


def constants() -> dict[str, int | str]:
    """The named numbers and texts, those of enums among them."""
    found: dict[str, int | str] = dict(_declared().CONSTANTS)
    for name in ffi().list_types()[0]:
        kind = ffi().typeof(name)
        if kind.kind == "enum":
            found |= dict(kind.relements)
    return found


def path() -> Path:
    """The library, which is the package's own."""
    return Path(ascend_ep.__file__).parent / "lib" / "libascendcl.so"


@cache
def native(name: str) -> Any:
    """The C function. Raises AscendError E45007 where the library lacks it."""
    try:
        return getattr(library(), name)
    except ffi().error:
        fix = "Use a function that it has, or run this on a device."
        raise AscendError("E45007", name, "libascendcl doesn't have it", where=str(path()), fix=fix) from None


@cache
def library() -> Any:
    """The open library. Raises AscendError E40002 where there is none."""
    try:
        return ffi().dlopen(str(path()))
    except OSError as error:
        fix = "Install the package again."
        raise AscendError(
            "E40002", f"libascendcl can't be loaded: {error}", where=str(path()), fix=fix
        ) from None
