"""Python functions that the library calls, and threads for it to call them in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from .library import ffi

#: Those that the library may still call. A function that is registered again and again is kept once.
_kept: dict[tuple[Any, ...], Any] = {}
_threads: dict[int, threading.Thread] = {}


def as_callback(ctype: str, function: Callable[..., Any] | int | None, user_data: Any) -> Any:
    """A C function of this type which calls `function` with what it gets, numbers and addresses; `user_data` takes
    the place of its last argument, the caller's data. NULL for None or 0."""
    if function is None or function == 0:
        return ffi().NULL
    if not callable(function):
        raise TypeError(f"a function is needed, not {type(function).__name__}")
    signature = ffi().typeof(ctype)
    arguments = signature.args
    takes_data = bool(arguments) and arguments[-1].cname == "void *"
    returns = signature.result.kind != "void"

    def call(*given: Any) -> Any:
        plain = [_plain(g) for g in given]
        if takes_data:
            plain[-1] = user_data
        found = function(*plain)
        return (found or 0) if returns else None

    made = ffi().callback(ctype, call)
    _kept[(ctype, function, id(user_data))] = (made, user_data)
    return made


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float) else int(ffi().cast("uintptr_t", value))


def start_thread(thr_func: Callable[[Sequence[Any]], Any], args_list: Sequence[Any]) -> tuple[int, int]:
    """Runs `thr_func(args_list)` in a thread. Returns its number, which can subscribe to a stream, and 0."""
    started = threading.Event()

    def work() -> None:
        started.set()
        thr_func(args_list)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    started.wait()
    number = thread.ident or 0
    _threads[number] = thread
    return number, 0


def stop_thread(thr_id: int) -> int:
    """Waits for the end of a thread of start_thread. Returns 0, or ACL_ERROR_INVALID_PARAM for another."""
    from .library import constants

    thread = _threads.pop(thr_id, None)
    if thread is None:
        return int(constants()["ACL_ERROR_INVALID_PARAM"])
    thread.join()
    return 0
