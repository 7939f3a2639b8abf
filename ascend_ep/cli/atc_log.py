"""What atc's --log shows on stderr: warnings unless it is `error`, steps when it is `info` or `debug`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Given = Mapping[str, str]

PACKAGE = Path(__file__).parent.parent


def warn(given: Given, text: str) -> None:
    """Says what the user may not have meant; atc's default level, null, shows it too."""
    if given.get("log") != "error":
        print(f"[WARNING] {text}", file=sys.stderr)


@contextmanager
def own_warnings(given: Given) -> Iterator[None]:
    """Shows this package's warnings as atc does, and not those of libraries, which say nothing to a user."""

    def show(message: Warning | str, category: type[Warning], filename: str, *_: Any, **__: Any) -> None:
        if Path(filename).is_relative_to(PACKAGE):
            warn(given, str(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def shows_steps(given: Given) -> bool:
    """Whether each step of a conversion is a line of its own."""
    return given.get("log") in ("info", "debug")
