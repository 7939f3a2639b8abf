"""What atc's --log shows on stderr: warnings unless it is `error`, steps when it is `info` or `debug`."""

from __future__ import annotations

import sys
from collections.abc import Mapping

Given = Mapping[str, str]


def warn(given: Given, text: str) -> None:
    """Says what the user may not have meant; atc's default level, null, shows it too."""
    if given.get("log") != "error":
        print(f"[WARNING] {text}", file=sys.stderr)


def shows_steps(given: Given) -> bool:
    """Whether each step of a conversion is a line of its own."""
    return given.get("log") in ("info", "debug")
