"""The plugin's callbacks: partition, compile, infer, and what calibration has seen.

They run on onnxruntime's thread and must not raise: whatever goes wrong becomes a status, whose text
onnxruntime shows. Nothing of the compile side is imported before the first of them is called.
"""

from __future__ import annotations

import atexit
import os
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.runtime.binding import ffi, lib, new_status, text_of

_TEXT_BYTES = 384  # of asc_status.text


def install() -> None:
    """Gives the plugin its callbacks, and takes them away before the interpreter ends. Idempotent."""
    if _state["installed"]:
        return
    table = ffi.new("asc_ep_callbacks *")
    table.struct_bytes = ffi.sizeof("asc_ep_callbacks")
    table.partition = lib.asc_py_partition
    table.compile = lib.asc_py_compile
    table.infer = lib.asc_py_infer
    table.default_set = lib.asc_py_default_set
    table.recorded = lib.asc_py_recorded
    lib.asc_ep_install(table)
    atexit.register(lib.asc_ep_detach)
    _state["installed"] = True


_state = {"installed": False}


def _guarded(status: Any, work: Callable[[], None]) -> int:
    """Runs `work`; an exception becomes a status."""
    try:
        work()
    except AscendError as error:
        return _fail(
            status,
            lib.ASC_E_UNSUPPORTED,
            " ".join([error.code, *([f"{error.where}:"] if error.where else []), error.text, *error.details]),
        )
    except MemoryError:
        return _fail(status, lib.ASC_E_MEMORY, "out of memory")
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return _fail(
            status, lib.ASC_E_INTERNAL, f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"
        )
    return int(lib.ASC_OK)


def _fail(status: Any, code: int, text: str) -> int:
    status.code = code
    status.text = text.encode("utf-8", "replace")[: _TEXT_BYTES - 1]
    return code


@ffi.def_extern()  # type: ignore[untyped-decorator]
def asc_py_partition(ep: Any, graph: Any, claims: Any, status: Any) -> int:
    def work() -> None:
        from ascend_ep.provider import placement
        from ascend_ep.provider.collection import collection_paused

        with collection_paused():
            placement.partition(ep, graph, claims)

    return _guarded(status, work)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def asc_py_compile(ep: Any, program: Any, status: Any) -> int:
    def work() -> None:
        from ascend_ep.provider import placement

        placement.compile_group(ep, program)

    return _guarded(status, work)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def asc_py_infer(call: Any, status: Any) -> int:
    def work() -> None:
        from ascend_ep.provider import inference

        inference.infer_outputs(call)

    return _guarded(status, work)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def asc_py_default_set() -> Any:
    found = [ffi.NULL]

    def work() -> None:
        from ascend_ep.provider import declarations, options

        found[0] = declarations.default_set(options.registry_of({}))

    status = new_status()
    if _guarded(status, work) != lib.ASC_OK:
        warnings.warn(f"AscendEP declares no operators: {text_of(status.text)}", stacklevel=2)
    return found[0]


@ffi.def_extern()  # type: ignore[untyped-decorator]
def asc_py_recorded(folder: Any) -> None:
    def work() -> None:
        from ascend_ep.accuracy.amct.steps import recorded

        recorded(os.fsdecode(ffi.string(folder)))

    _guarded(new_status(), work)  # save_model meets what fails here once more, and raises it
