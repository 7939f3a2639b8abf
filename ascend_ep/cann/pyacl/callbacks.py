"""Python functions that the library calls, and threads for it to call them in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from .library import constants, ffi

#: Those that the library may still call, and their data.
_kept: dict[int, tuple[Any, Any]] = {}
#: Those that it has called for the only time; let go when the next is made, since they may not have ended.
_over: list[int] = []
_ONCE = ("aclrtCallback", "aclrtHostFunc")
_threads: dict[int, threading.Thread] = {}


def as_callback(ctype: str, function: Callable[..., Any] | int | None, user_data: Any) -> Any:
    """A C function of this type which calls `function` with numbers and addresses; the last of them, that of
    the caller's data, becomes `user_data`. NULL for None or 0."""
    if function is None or function == 0:
        return ffi().NULL
    if not callable(function):
        raise TypeError(f"a function is needed, not {type(function).__name__}")
    signature = ffi().typeof(ctype)
    arguments = signature.args
    takes_data = bool(arguments) and arguments[-1].cname == "void *"
    returns = signature.result.kind != "void"
    while _over:
        _kept.pop(_over.pop(), None)

    def call(*given: Any) -> Any:
        plain = [_plain(g) for g in given]
        if takes_data:
            plain[-1] = user_data
        try:
            found = function(*plain)
        finally:
            if ctype in _ONCE:
                _over.append(number)
        return (found or 0) if returns else None

    made = ffi().callback(ctype, call)
    number = id(made)
    _kept[number] = (made, user_data)
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
    thread = _threads.pop(thr_id, None)
    if thread is None:
        return int(constants()["ACL_ERROR_INVALID_PARAM"])
    thread.join()
    return 0
