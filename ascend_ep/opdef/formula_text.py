"""The text of a formula as tokens, and errors that point at their column."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import NoReturn

from ascend_ep.errors import AscendError

MAX_TEXT = 20_000

_SIGNS = str.maketrans("\u00d7\u00b7\u2212\uff08\uff09\uff0c", "**-(),")  # typographic and full-width signs
_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)"
    r"|(?P<text>\"[^\"\n]*\"|'[^'\n]*')"
    r"|(?P<sign>\*\*|//|==|!=|<=|>=|&&|\|\||[-+*/%^<>=!?:,()\[\]@])"
    r"|(?P<end>[\n;]+)|(?P<space>[ \t\r]+|\#[^\n]*)"
)


def _columns(text: str) -> int:
    """The width on a terminal, where Chinese characters and full-width signs take two columns."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@dataclass(frozen=True)
class Token:
    """`kind` is number, name, text, sign or end (of a statement, or of all when `text` is empty)."""

    kind: str
    text: str
    at: int


class TokenReader:
    """The tokens of a formula, one after the other."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        if len(text) > MAX_TEXT:
            self.fail("E42004", "formula", f"it has more than {MAX_TEXT} characters", at=MAX_TEXT)
        self.text = text.translate(_SIGNS)
        self.tokens = self.tokenize()
        self.at = 0
        self._last_use = {t.text: i for i, t in enumerate(self.tokens) if t.kind == "name"}

    def tokenize(self) -> list[Token]:
        tokens = []
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                self.fail("E42001", "formula", f"there is no sign {self.text[at]!r}", at=at)
            kind = str(match.lastgroup)
            if kind != "space":
                tokens.append(Token(kind, match[0], at))
            at = match.end()
        return [*tokens, Token("end", "", len(self.text))]

    def fail(self, code: str, *arguments: object, at: int, fix: str | None = None) -> NoReturn:
        """Raises the error with the line of position `at` and a caret below it."""
        start = self.text.rfind("\n", 0, at) + 1
        line = self.text[start:].split("\n")[0]
        left = max(0, at - start - 60)
        caret = " " * _columns(line[left : at - start]) + "^"
        details = [line[left : left + 100], caret]
        raise AscendError(code, *arguments, where=self.place(at), details=details, fix=fix)

    def place(self, at: int) -> str:
        """Where position `at` is, as errors name it."""
        return self.where

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    @property
    def following(self) -> Token:
        """The token after the next one."""
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def next(self) -> Token:
        token = self.token
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def take(self, *texts: str) -> Token | None:
        """The next token if it is one of these signs or words."""
        if self.token.kind in ("sign", "name") and self.token.text in texts:
            return self.next()
        return None

    def expect(self, text: str) -> Token:
        token = self.take(text)
        if token is None:
            found = self.token.text.strip() or "the end"
            self.fail("E42001", "formula", f"expected {text} instead of {found[:40]}", at=self.token.at)
        return token

    def used_later(self, name: str) -> bool:
        """Whether the name occurs in the rest of the text."""
        return self._last_use.get(name, -1) >= self.at
