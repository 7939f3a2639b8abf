"""libascend_rt for Python: open models, and native failures as AscendError."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import Any

from ascend_ep.errors import NATIVE_CODES, AscendError

from ._rt import ffi, lib

__all__ = ["Model", "fail", "ffi", "isa_name", "lib", "new_status", "open_model", "text_of"]

LogFunction = Callable[[int, str], None]

# An interrupt that nobody handles ends Python by its signal, behind these and without C's own exit handlers.
atexit.register(lib.asc_trace_stop, ffi.NULL)


def text_of(pointer: Any) -> str:
    """A C string as str; undecodable bytes are replaced."""
    return "" if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def new_status() -> Any:
    """An asc_status to hand to the library."""
    return ffi.new("asc_status *")


def fail(status: Any, where: str = "") -> AscendError:
    """The AscendError of a status whose code isn't ASC_OK; names the instruction when there is one."""
    node = text_of(status.node_name)
    code = NATIVE_CODES.get(status.code, "E40012")
    place = f"{where}, node [{node}]" if where and node else where or (f"node [{node}]" if node else "")
    text = text_of(status.text) or "the native library gave no reason"
    return AscendError(code, text.removeprefix(f"{place}: "), where=place)


def isa_name() -> str:
    """The ISA level in use. Raises AscendError E40001 when ASCEND_EP_CPU names none of this machine's."""
    forced = os.environ.get("ASCEND_EP_CPU", "")
    if forced and not lib.asc_isa_supported(lib.asc_isa_by_name(os.fsencode(forced))):
        known = [text_of(lib.asc_isa_name(i)) for i in range(lib.ASC_ISA_COUNT) if lib.asc_isa_supported(i)]
        raise AscendError(
            "E40001",
            f"ASCEND_EP_CPU=[{forced}] names no ISA level that this machine has",
            fix=f"Use one of {', '.join(known)}, or unset it.",
        )
    return text_of(lib.asc_isa_name(lib.asc_isa_current()))


def check_environment() -> None:
    """Raises AscendError E40001 when ASCEND_EP_CPU or ASCEND_EP_THREADS says something that can't be done."""
    isa_name()
    threads = os.environ.get("ASCEND_EP_THREADS", "")
    if threads and not (threads.isascii() and threads.isdecimal() and int(threads) > 0):
        raise AscendError(
            "E40001",
            f"ASCEND_EP_THREADS=[{threads}] is no number of threads",
            fix="Use 1 or more, or unset it.",
        )


def threads_of_environment() -> int:
    """What ASCEND_EP_THREADS asks for, as the native library reads it; 0: it isn't set."""
    return int(lib.asc_threads_default()) if os.environ.get("ASCEND_EP_THREADS") else 0


class Model:
    """An open bundle; `pointer` is its asc_model, released with the last reference to this object."""

    __slots__ = ("_keep", "pointer", "where")

    def __init__(self, pointer: Any, where: str, keep: object) -> None:
        self.pointer = pointer
        self.where = where
        self._keep = keep

    def inner(self, pointer: Any) -> Model:
        """A model that lives as long as this one."""
        return Model(pointer, self.where, self)

    def verify_weights(self) -> None:
        """Compares every weight with its digest. Raises AscendError E40004 when one was changed."""
        status = new_status()
        if lib.asc_model_verify_weights(self.pointer, status) != lib.ASC_OK:
            raise fail(status, self.where)


def path_bytes(path: str | os.PathLike[str]) -> bytes:
    """A path for C, where a zero byte would end it. Raises AscendError E40002."""
    found = os.fsencode(path)
    if b"\0" in found:
        raise AscendError("E40002", f"{path}: a name can't have a zero byte")
    return found


def open_model(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
    num_threads: int = 0,
    trust: str | None = None,
    flags: int = 0,
    log: LogFunction | None = None,
) -> Model:
    """Opens a bundle, a file or its bytes. `trust` and `flags` as in asc_options.

    Raises AscendError E40001..E40014, with the file in `where`.
    """
    check_environment()
    keep: list[Any] = []
    options = ffi.new("asc_options *")
    options.struct_bytes = ffi.sizeof("asc_options")
    options.flags = flags
    options.num_threads = num_threads
    if trust is not None:
        keep.append(ffi.new("char[]", trust.encode()))
        options.trust = keep[-1]
    if log is not None:
        keep.append(ffi.callback("asc_log_fn", lambda _user, level, text: log(level, text_of(text))))
        options.log = keep[-1]
    status = new_status()
    out = ffi.new("asc_model **")
    if isinstance(source, bytes | bytearray | memoryview):
        where = "bundle in memory"
        with ffi.from_buffer("uint8_t[]", source) as view:
            code = lib.asc_model_from_memory(view, len(view), options, out, status)
    else:
        where = os.fspath(source)
        code = lib.asc_model_open(path_bytes(where), options, out, status)
    if code != lib.ASC_OK:
        raise fail(status, where)
    return Model(ffi.gc(out[0], lib.asc_model_release), where, keep)
