"""What the installed commands call: it imports each when Ctrl-C ends in one line already.

A command is some hundred modules, which take tenths of a second to import, or seconds where the disk is slow.
Nothing of the package is imported here: its `__init__` is a part of what takes this time. So is `signal`, for
what it needs: what it is made of is in the interpreter itself.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import atexit
import os
import sys

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from collections.abc import Callable

#: AscendError E43108 and its status, as ascend_ep.cli.command ends with them from then on.
LINE, INTERRUPTED = "E43108: Interrupted: nothing is left half-written.\n", 128 + 2
#: The status of the command whose work has ended. Nothing can interrupt that any more.
_ended: list[int] = []


def leave(*_: object) -> None:
    """The handler of SIGINT before a command's work and after it, while Python itself comes to its end."""
    try:
        if not _ended:
            os.write(2, LINE.encode())
    finally:  # closed, or without a reader
        os._exit(_ended[-1] if _ended else INTERRUPTED)


def end(status: int) -> None:
    """Says what the command ends with."""
    _ended.append(status)


def begin() -> None:
    """From now on Ctrl-C ends the process, which is a command's alone, in one line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # nohup's is to ignore it
        signal.signal(signal.SIGINT, leave)
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # else Python resets it to end us


def is_program(package: str) -> bool:
    """Whether the interpreter was started as `python -m package`, or with a module of it. Its `__init__` is
    imported first then."""
    words = sys.orig_argv
    if sys.argv[:1] != ["-m"] or "-m" not in words[:-1]:
        return False
    return words[words.index("-m") + 1].partition(".")[0] == package


def _command(module: str) -> Callable[[], int]:
    def run() -> int:
        begin()
        name = f"ascend_ep.cli.{module}"
        __import__(name)
        main: Callable[[], int] = sys.modules[name].main
        return main()

    return run


#: The modules of ascend_ep.cli that are commands.
MODULES = ("atc", "prof", "om", "op", "ep", "serve", "serve_load")
atc, prof, om, op, ep, serve, serve_load = (_command(name) for name in MODULES)
