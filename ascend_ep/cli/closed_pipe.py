"""Commands whose reader has gone, as in `ascend-atc --help | head`."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")

#: What a shell reports of a program that SIGPIPE ended.
STATUS = 128 + 13


def ends_with_its_reader(main: Callable[P, int]) -> Callable[P, int]:
    """Makes a command end quietly when nobody reads its output any more."""

    @functools.wraps(main)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            status = main(*args, **kwargs)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return STATUS
        return status

    return run
