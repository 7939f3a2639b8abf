"""What the installed commands call: it imports each when Ctrl-C ends in one line already.

A command is some hundred modules, which take tenths of a second to import, or seconds where the disk is slow.
Nothing of the package is imported here: its `__init__` is a part of what takes this time.
"""

from __future__ import annotations

import importlib
import os
import signal

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from collections.abc import Callable

#: AscendError E43108 and its status, as ascend_ep.cli.command ends with them from then on.
LINE, INTERRUPTED = "E43108: Interrupted: nothing was written.\n", 128 + 2


def _leave(*_: object) -> None:
    try:
        os.write(2, LINE.encode())
    finally:  # closed, or without a reader
        os._exit(INTERRUPTED)


def _command(module: str) -> Callable[[], int]:
    def run() -> int:
        is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # nohup's is to ignore it
        if is_ours:
            signal.signal(signal.SIGINT, _leave)
        main: Callable[[], int] = importlib.import_module(f"ascend_ep.cli.{module}").main
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return main()

    return run


#: The modules of ascend_ep.cli that are commands.
MODULES = ("atc", "prof", "om", "op", "ep", "serve", "serve_load")
atc, prof, om, op, ep, serve, serve_load = (_command(name) for name in MODULES)
