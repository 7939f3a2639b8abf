"""Launches as the device's compiler writes them, name<<<blocks, l2, stream>>>(...), as plain C++."""

from __future__ import annotations

import re

from .signature import without_comments

_OPEN = re.compile(r"<<<")
_NAME = re.compile(r"[A-Za-z_][\w:]*\Z")


def has_launches(text: str) -> bool:
    """Whether a source launches kernels by <<<...>>>."""
    return _next(without_comments(text), 0) is not None


def rewritten(text: str) -> str:
    """The source with calls of asc_host::launcher (host/launch.h) in the place of launches; lines stay."""
    plain, parts, at = without_comments(text), [], 0
    while (found := _next(plain, at)) is not None:
        start, opened, closed = found
        name, arguments = text[start:opened], text[opened + 3 : closed]
        parts += [text[at:start], f"::asc_host::launcher({arguments})([&](auto &&...asc_argument) {{ {name}("]
        parts.append("asc_argument...); })")
        at = closed + 3
    return "".join([*parts, text[at:]])


def _next(plain: str, at: int) -> tuple[int, int, int] | None:
    """Where the name of the next launch begins, and its <<< and >>>."""
    for match in _OPEN.finditer(plain, at):
        start = _name_before(plain, match.start())
        closed = plain.find(">>>", match.end())
        if start is not None and start >= at and closed >= 0 and plain[closed + 3 :].lstrip().startswith("("):
            return start, match.start(), closed
    return None


def _name_before(plain: str, end: int) -> int | None:
    """Where a name with or without template arguments begins that ends at `end`."""
    at = len(plain[:end].rstrip())
    if at and plain[at - 1] == ">":
        depth = 0
        while at > 0:
            at -= 1
            depth += {">": 1, "<": -1}.get(plain[at], 0)
            if depth == 0:
                break
        at = len(plain[:at].rstrip())
    match = _NAME.search(plain, 0, at)
    return None if match is None else match.start()
