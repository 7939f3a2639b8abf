"""How every command begins and ends: --version; Ctrl-C or a part that isn't installed in one line, never as a
traceback; in silence when its reader has gone, as in `ascend-atc --help | head`."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.extras import lacking

#: What a shell reports of a program that SIGPIPE or SIGINT ended.
CLOSED, INTERRUPTED = 128 + 13, 128 + 2
FAILED = 1

Main = Callable[..., int]


def command(name: str) -> Callable[[Main], Main]:
    """Makes `main(arguments, ...)` the command `name`."""

    def wrap(main: Main) -> Main:
        @functools.wraps(main)
        def run(arguments: Sequence[str] | None = None, *args: Any, **kwargs: Any) -> int:
            if list(sys.argv[1:] if arguments is None else arguments) == ["--version"]:
                return _print_version(name)
            try:
                status = main(arguments, *args, **kwargs)
                sys.stdout.flush()
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                return CLOSED
            except KeyboardInterrupt:
                print(AscendError("E43108"), file=sys.stderr)
                return INTERRUPTED
            except AscendError as error:
                print(error, file=sys.stderr)
                return FAILED
            except ModuleNotFoundError as error:
                without = lacking(error)
                if without is None:
                    raise
                print(without, file=sys.stderr)
                return FAILED
            return status

        return run

    return wrap


def _print_version(name: str) -> int:
    from ascend_ep import __version__

    print(f"{name} {__version__}")
    return 0
