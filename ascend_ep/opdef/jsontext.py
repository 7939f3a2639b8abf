"""Reading JSON that a stranger wrote: bounded in size, depth and count, with the line of every value.

`//` comment lines, as articles and msopgen projects print them above a definition, are skipped.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # the C one is re-exported undeclared
from pathlib import Path
from typing import Any

from ascend_ep import regular_file
from ascend_ep.errors import AscendError

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_VALUES = 50_000
#: Of lists and objects in CANN's files, as in native/acl/json.c.
MOST_LEVELS = 65

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*)*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
#: The escapes of well-formed JSON, but for halves of pairs.
_ESCAPES = re.compile(r"\\(?:[^u]|u(?![dD][89a-fA-F])....|u[dD][89abAB]..\\u[dD][c-fC-F]..)")
_WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True)
class Document:
    """A parsed file: `value`, and the line (from 1) of every JSON pointer in it."""

    value: Any
    source: str
    lines: Mapping[str, int]

    def where(self, pointer: str) -> str:
        """`file:line pointer` of a value, or of its nearest ancestor that exists."""
        known = pointer
        while known not in self.lines and known:
            known = known.rpartition("/")[0]
        place = f"{self.source}:{self.lines.get(known, 1)}"
        return f"{place} {pointer}" if pointer else place


def read_document(path: Path) -> Document:
    """Reads and parses a file of at most MAX_BYTES bytes of UTF-8."""
    try:
        with regular_file.opened(path) as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise AscendError("E10410", path) from None
    except (OSError, ValueError) as error:
        raise AscendError("E41010", path, getattr(error, "strerror", None) or error) from None
    if len(data) > MAX_BYTES:
        raise AscendError("E41002", f"The file has more than {MAX_BYTES} bytes", where=str(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise AscendError("E41001", f"byte {error.start} is not UTF-8", where=f"{path}:{line}") from None
    return parse_document(text, str(path))


def parse_document(text: str, source: str = "<text>") -> Document:
    """Parses one JSON value; `source` names it in errors."""
    if len(text) > MAX_BYTES:
        raise AscendError("E41002", f"The text has more than {MAX_BYTES} characters", where=source)
    parser = _Parser(text, source)
    value = parser.value("", 0)
    parser.skip_space()
    if parser.at < len(text):
        raise parser.error("nothing may follow the value")
    return Document(value, source, parser.lines)


def strict_json(data: str | bytes, once: bool = False) -> Any:
    """One value of RFC 8259, whose numbers are finite. A key that is there twice has its last value, as CANN
    takes it; with `once` it is refused. Raises ValueError."""

    def finite(number: str) -> float:
        if not math.isfinite(float(number)):
            raise ValueError(f"{number[:40]} is no finite double")
        return float(number)

    def members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if once and len(made) < len(pairs):
            twice = next(k for k, n in Counter(k for k, _ in pairs).items() if n > 1)
            raise ValueError(f"the key [{twice}] is given twice")
        return made

    def whole(number: str) -> int:
        finite(number)
        return int(number)

    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        made = json.loads(
            text, parse_constant=finite, parse_float=finite, parse_int=whole, object_pairs_hook=members
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if "\\" in _ESCAPES.sub("", text) or any(0xD800 <= ord(c) < 0xE000 for c in text):
        raise ValueError("a string has a lone surrogate")
    if _levels(made) > MOST_LEVELS:
        raise ValueError("it is nested too deeply")
    return made


def _levels(value: Any) -> int:
    """How many lists and objects lie in each other at most."""
    levels, here = 0, [value]
    while here := [v for v in here if isinstance(v, list | dict)]:
        levels += 1
        here = [child for v in here for child in (v.values() if isinstance(v, dict) else v)]
    return levels


def escape_pointer(key: str) -> str:
    """One key as a segment of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


class _Parser:
    """Recursive descent over RFC 8259; recursion is bounded by MAX_DEPTH."""

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.at = 0
        self.lines: dict[str, int] = {}
        self._line = 1
        self._counted_to = 0

    def error(self, reason: str, code: str = "E41001") -> AscendError:
        start = self.text.rfind("\n", 0, self.at) + 1
        place = f"{self.source}:{self.line()}:{self.at - start + 1}"
        found = self.text[self.at : self.at + 20].split("\n")[0]
        return AscendError(
            code, reason, where=place, details=[f"found: {found}" if found else "found: the end"]
        )

    def line(self) -> int:
        self._line += self.text.count("\n", self._counted_to, self.at)
        self._counted_to = self.at
        return self._line

    def skip_space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def take(self, char: str) -> bool:
        self.skip_space()
        if self.text.startswith(char, self.at):
            self.at += len(char)
            return True
        return False

    def value(self, pointer: str, depth: int) -> Any:
        self.skip_space()
        if depth > MAX_DEPTH:
            raise self.error(f"Values are nested deeper than {MAX_DEPTH}", "E41002")
        if len(self.lines) >= MAX_VALUES:
            raise self.error(f"There are more than {MAX_VALUES} values", "E41002")
        self.lines[pointer] = self.line()
        if self.take("{"):
            return self.members(pointer, depth)
        if self.take("["):
            return self.items(pointer, depth)
        if self.text.startswith('"', self.at):
            return self.string()
        return self.scalar()

    def members(self, pointer: str, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while not self.take("}"):
            if result and not self.take(","):
                raise self.error("expected , or }")
            self.skip_space()
            start = self.at
            key = self.string()
            if key in result:
                self.at = start
                raise self.error(f"the key [{key}] is given twice")
            if not self.take(":"):
                raise self.error(f"expected : after the key [{key}]")
            result[key] = self.value(f"{pointer}/{escape_pointer(key)}", depth + 1)
        return result

    def items(self, pointer: str, depth: int) -> list[Any]:
        result: list[Any] = []
        while not self.take("]"):
            if result and not self.take(","):
                raise self.error("expected , or ]")
            result.append(self.value(f"{pointer}/{len(result)}", depth + 1))
        return result

    def string(self) -> str:
        if not self.text.startswith('"', self.at):
            raise self.error('expected a string in "double quotes"')
        try:
            text, self.at = scanstring(self.text, self.at + 1, True)
        except json.JSONDecodeError as error:
            self.at = error.pos
            raise self.error(error.msg) from None
        if not text.isascii() and any(0xD800 <= ord(c) < 0xE000 for c in text):
            raise self.error("the string has a lone surrogate")
        return str(text)

    def scalar(self) -> int | float | bool | None:
        number = _NUMBER.match(self.text, self.at)
        if number:
            literal = number[0]
            if number[1] is None and number[2] is None:
                if len(literal) > 20 or not -(2**63) <= int(literal) < 2**64:
                    raise self.error("the integer has more than 64 bits")
                self.at = number.end()
                return int(literal)
            if len(literal) > 64 or not math.isfinite(float(literal)):
                raise self.error("the number is no finite double")
            self.at = number.end()
            return float(literal)
        word = _WORD.match(self.text, self.at)
        if word and word[0] in _WORDS:
            self.at = word.end()
            return _WORDS[word[0]]
        raise self.error("expected a value")
