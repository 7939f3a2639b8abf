"""The .cfg file of `config_defination`: AMCT's settings in the text form of protocol buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from ascend_ep import regular_file
from ascend_ep.errors import AscendError, did_you_mean

from .members import BOOL, DEFINITION, EXCLUSIVE, REQUIRED, Table, check

LIMIT = 1 << 20  # bytes of a file

_TOKEN = re.compile(
    r"(?P<space>\s+|#[^\n]*)|(?P<mark>[:{}\[\],;])|(?P<text>\"[^\"\n]*\"|'[^'\n]*')|(?P<word>[^\s:{}\[\],;#\"']+)"
)
Token = tuple[str, str, int]  # kind, text, where it starts


def read_definition(path: Path) -> dict[str, Any]:
    """The fields of a file; those that may repeat as lists. Raises AscendError E10001, with the line."""
    try:
        text = regular_file.read(path).decode()
    except (OSError, ValueError) as error:
        raise AscendError("E10001", str(path), "config_defination", f"It can't be read: {error}.") from error
    if len(text) > LIMIT:
        raise AscendError("E10001", str(path), "config_defination", f"It has more than {LIMIT} bytes.")
    return definition_of(text, path)


def definition_of(text: str, path: Path) -> dict[str, Any]:
    """The fields of the text of a file at `path`. Raises AscendError E10001, with the line."""
    return _Reader(text, path).message(DEFINITION, 0)


class _Reader:
    def __init__(self, text: str, path: Path) -> None:
        self._text, self._path = text, path
        self._tokens = [*self._scan(), ("end", "the end of the file", len(text))]
        self._next = 0

    def _scan(self) -> Iterator[Token]:
        at = 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:
                self._fail(f"{self._text[at]!r} can't stand here.", at)
            if match.lastgroup != "space":
                yield str(match.lastgroup), match[0], at
            at = match.end()

    def _place(self, at: int) -> str:
        """File, line and column."""
        line = self._text.count("\n", 0, at) + 1
        return f"{self._path}:{line}:{at - self._text.rfind(chr(10), 0, at)}"

    def _fail(self, reason: str, at: int) -> NoReturn:
        raise AscendError("E10001", self._place(at), "config_defination", reason)

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def _skip(self, *marks: str) -> bool:
        found = self._tokens[self._next][0] == "mark" and self._tokens[self._next][1] in marks
        self._next += found
        return found

    def message(self, table: dict[str, Table], start: int) -> dict[str, Any]:
        """The fields up to the brace that ends those of the brace at `start`, or up to the file's end."""
        found: dict[str, Any] = {}
        while True:
            kind, name, at = self._take()
            if (kind == "mark" and name == "}" and start) or (kind == "end" and not start):
                break
            if kind != "word":
                self._fail(f"A field is expected, not {name[:40]!r}.", at)
            if name not in table:
                self._fail(f"[{name[:40]}] is no field here.{did_you_mean(name[:80], table)}", at)
            self._field(name, table[name], found, at)
            while self._skip(",", ";"):
                pass
        for name in REQUIRED:
            if name in table and name not in found:
                self._fail(f"[{name}] is missing.", start)
        if all(name in found for name in EXCLUSIVE):
            self._fail(f"One of {' and '.join(EXCLUSIVE)} holds, not both.", start)
        return found

    def _field(self, name: str, table: Table, found: dict[str, Any], at: int) -> None:
        colon = self._skip(":")
        is_repeated = isinstance(table, list)
        one = table[0] if isinstance(table, list) else table
        values: list[Any]
        if isinstance(one, dict):
            start = self._tokens[self._next][2]
            if not self._skip("{"):
                self._fail(f"[{name}] has fields, in braces.", at)
            values = [self.message(one, start)]
        elif not colon:
            self._fail(f"[{name}] has no value.", at)
        elif self._skip("["):
            values = [self._value(name, one)]
            while self._skip(","):
                values.append(self._value(name, one))
            if not self._skip("]"):
                self._fail(f"The list of [{name}] has no end.", at)
        else:
            values = [self._value(name, one)]
        if is_repeated:
            found.setdefault(name, []).extend(values)
        elif name in found or len(values) > 1:
            self._fail(f"[{name}] is given twice.", at)
        else:
            found[name] = values[0]

    def _value(self, name: str, wanted: Table) -> Any:
        """A value of the field `name`, checked."""
        kind, text, at = self._take()
        if kind not in ("text", "word"):
            self._fail(f"[{name}] has no value.", at)
        value = text[1:-1] if kind == "text" else _of_word(text, wanted)
        check(value, wanted, name, self._place(at))
        return value


def _of_word(text: str, wanted: Table) -> Any:
    """What stands without quotation marks; fields of true and false take 1 and 0, too."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if wanted is BOOL and text in ("0", "1"):
        return text == "1"
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
