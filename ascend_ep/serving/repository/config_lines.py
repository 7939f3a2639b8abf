"""On which line of a text-format message a field stands. The protobuf parser says so of mistakes in syntax
only, and what a configuration says wrongly is found later."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)|(?P<open>[{<])|(?P<close>[}>])|(?P<list>\[)|(?P<end>\])|(?P<mark>[:,;])"""
    r"""|(?P<scalar>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s{}<>\[\]:,;#"']+)""",
    re.DOTALL,
)

_Token = tuple[str, str, int]  # kind, text, line


class Lines:
    """Of a text that the parser has accepted. Fields are named like `input[1].dims`, the first of a repeated
    field also without a number."""

    def __init__(self, text: str) -> None:
        self._lines: dict[str, int] = {}
        self._message(_tokens(text), "")

    def __contains__(self, field: str) -> bool:
        return _numbered(field) in self._lines

    def __getitem__(self, field: str) -> int:
        """The field's line, else that of the message it would be in; 1 for none at all."""
        while field:
            line = self._lines.get(_numbered(field))
            if line is not None:
                return line
            field = field.rpartition(".")[0]
        return 1

    def _message(self, tokens: Iterator[_Token], prefix: str) -> None:
        counts: dict[str, int] = {}
        name = ""
        for kind, text, line in tokens:
            if kind == "close":
                return
            if kind == "scalar" and not name:
                name = text
            elif kind in ("scalar", "open"):
                self._value(tokens, kind, line, prefix, name, counts)
                name = ""
            elif kind == "list":
                for inner, _, at in tokens:
                    if inner == "end":
                        break
                    if inner != "mark":
                        self._value(tokens, inner, at, prefix, name, counts)
                name = ""

    def _value(
        self, tokens: Iterator[_Token], kind: str, line: int, prefix: str, name: str, counts: dict[str, int]
    ) -> None:
        number = counts[name] = counts.get(name, -1) + 1
        path = f"{prefix}{name}[{number}]"
        self._lines[path] = line
        if kind == "open":
            self._message(tokens, f"{path}.")


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "skip"
        if kind != "skip":
            yield kind, match.group(), line
        line += match.group().count("\n")


def _numbered(field: str) -> str:
    return ".".join(part if part.endswith("]") else f"{part}[0]" for part in field.split("."))
