"""Launches as the device's compiler writes them, name<<<blocks, l2, stream>>>(...), as plain C++."""

from __future__ import annotations

import re

from ascend_ep.opbuild.ascendc.declarations import without_comments

_OPEN = re.compile(r"<<<")
#: Lines of macros end in backslashes.
_SPACE = " \t\r\n\\"
#: What stands before the body of a function.
_FUNCTION = re.compile(r"\)\s*(?:const\b|noexcept\b|override\b|->[^;{}()]*|\s|\\(?=\n))*\Z")
#: Those of a macro's lines have a backslash.
_LINE_ENDS = re.compile(r"\\?\n")
#: In macros, names may be pasted together.
_NAME = re.compile(r"[A-Za-z_][\w:]*(?:\s*##\s*\w+)*\Z")


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
        parts.append(f"asc_argument...); }}, ASC_NAME_OF({_on_one_line(name)}))")
        at = closed + 3
    return "".join([*parts, text[at:]])


def _on_one_line(name: str) -> str:
    return re.sub(r"[\s\\]+", " ", name).strip()


def without_launchers(text: str) -> str:
    """The source without the bodies of functions that launch kernels, which are for the host; lines stay."""
    plain, parts, at = without_comments(text), [], 0
    while (found := _next(plain, at)) is not None:
        opened = _body_around(plain, found[0])
        closed = -1 if opened is None else _closing_brace(plain, opened)
        if opened is None or closed < 0:
            return rewritten(text)
        parts += [text[at : opened + 1], *_LINE_ENDS.findall(text, opened, closed)]
        at = closed
    return "".join([*parts, text[at:]])


def _body_around(plain: str, at: int) -> int | None:
    """Where the body of the outermost function around a place opens; None outside of functions."""
    opened: list[int] = []
    for i, c in enumerate(plain[:at]):
        if c == "{":
            opened.append(i)
        elif c == "}" and opened:
            opened.pop()
    return next((i for i in opened if _FUNCTION.search(plain, max(0, i - 200), i)), None)


def _closing_brace(plain: str, opened: int) -> int:
    depth = 0
    for i in range(opened, len(plain)):
        depth += {"{": 1, "}": -1}.get(plain[i], 0)
        if depth == 0:
            return i
    return -1


def _next(plain: str, at: int) -> tuple[int, int, int] | None:
    """Where the name of the next launch begins, and its <<< and >>>."""
    for match in _OPEN.finditer(plain, at):
        start = _name_before(plain, match.start())
        closed = plain.find(">>>", match.end())
        if start is not None and start >= at and closed >= 0 and plain[closed + 3 :].lstrip().startswith("("):
            return start, match.start(), closed
    return None


def _name_before(plain: str, end: int) -> int | None:
    """Where a name begins that ends at `end`, with template arguments or those of a macro, or without."""
    at = len(plain[:end].rstrip(_SPACE))
    for opening, closing in ("<>", "()"):
        if at and plain[at - 1] == closing:
            depth = 0
            while at > 0:
                at -= 1
                depth += {closing: 1, opening: -1}.get(plain[at], 0)
                if depth == 0:
                    break
            at = len(plain[:at].rstrip(_SPACE))
    match = _NAME.search(plain, 0, at)
    return None if match is None else match.start()
