"""The text of mathematics as tokens: unicode signs, exponents, full-width punctuation; and its clauses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ascend_ep.frontends.mathematics_latex import FRACTIONS, LOWERED, LOWERED_LETTERS, RAISED, expand
from ascend_ep.frontends.statements import without_statements
from ascend_ep.opdef.formula_text import Token, TokenReader

_CHINESE = "\u4e00-\u9fff"
#: Signs as formula text writes them, one character for one so that positions stay.
_SIGNS = str.maketrans(
    "×·⋅∙∗＊⊙∘⨀÷∕／−－＋＝＜＞（）［］｛｝，、；：？！｜∣＾∑∥⌋⌉", "*********///--+=<>()[]{},,;:?!||^Σ‖))"
)
_WORDS = {
    "≤": "<=",
    "⩽": "<=",
    "≥": ">=",
    "⩾": ">=",
    "≠": "!=",
    "∧": "and",
    "∨": "or",
    "¬": "not",
    "∞": "inf",
    "⊤": "T",
    "→": "->",
    "⟶": "->",
    "↦": "->",
}
_NOT_IN_NAMES = f"Σ{RAISED}{LOWERED_LETTERS}{FRACTIONS}{_CHINESE}"
_TOKEN = re.compile(
    r"(?P<command>\\(?:(?:left|right)\s*\.|[A-Za-z]+|(?s:.)))"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    rf"|(?P<raised>[{RAISED}]+)|(?P<lowered>[{LOWERED}]+)|(?P<fraction>[{FRACTIONS}])"
    rf"|(?P<chinese>[{_CHINESE}]+)|(?P<name>[^\W\d{_NOT_IN_NAMES}][^\W{_NOT_IN_NAMES}]*)"
    r"|(?P<text>\"[^\"\n]*\"|'[^'\n]*')"
    r"|(?P<word>[≤⩽≥⩾≠∧∨¬∞→⟶↦⊤])"
    r"|(?P<sign>->|\*\*|//|:=|==|!=|<=|>=|&&|[-+*/%^<>=!?:,()\[\]{}|√Σ∑∏‖$&~@])"
    r"|(?P<floor>[⌊⌈])"
    r"|(?P<end>[\n;。]+|\.(?=\s|$))|(?P<space>[ \t\r\u3000\u00a0]+|\#[^\n]*)"
)
_OPENING = {"(": ")", "[": "]", "{": "}"}
#: Words that introduce definitions.
WHERE = ("where", "Where", "with", "with:", "其中", "这里", "令", "式中")
AND = ("and", "且", "和", "以及", "而")
#: Other spellings of the words of a formula.
_SPELLINGS = {"若": "if", "当": "if", "如果": "if", "when": "if", "否则": "otherwise", "其他": "otherwise"}


def tokenize(reader: TokenReader, start: int) -> list[Token]:
    """The tokens of the reader's text from `start` on; their positions are those of the text."""
    text = without_statements(reader.text).translate(_SIGNS)
    tokens = expand(reader, _raw(reader, text[start:], start), lambda part, at: _raw(reader, part, at))
    return _without_brackets(_powers_as_names([*tokens, Token("end", "", len(text))]))


def _raw(reader: TokenReader, text: str, start: int) -> list[Token]:
    """The tokens of a piece of text as it is written."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            reader.fail("E42001", "formula", f"there is no sign {text[at]!r}", at=start + at)
        kind, word = str(match.lastgroup), match[0]
        if kind == "word":
            spelled = _WORDS[word]
            tokens.append(Token("name" if spelled.isalpha() else "sign", spelled, start + at))
        elif kind == "floor":
            name = "floor" if word == "⌊" else "ceil"
            tokens += [Token("name", name, start + at), Token("sign", "(", start + at)]
        elif kind in ("chinese", "name"):
            tokens.append(Token("name", _SPELLINGS.get(word, word), start + at))
        elif kind != "space":
            tokens.append(Token(kind, "=" if word == ":=" else word, start + at))
        at = match.end()
    return tokens


def _powers_as_names(tokens: list[Token]) -> list[Token]:
    """`σ²` as a name where the text defines it: σ² = var(x)."""
    texts = [t.text for t in tokens]
    defined = {
        (texts[i], texts[i + 2])
        for i in range(len(tokens) - 3)
        if tokens[i].kind == "name" and texts[i + 1] == "^" and texts[i + 3] == "="
        if i and (tokens[i - 1].kind == "end" or texts[i - 1] in (",", ":", *WHERE, *AND))
    }
    found: list[Token] = []
    i = 0
    while i < len(tokens):
        if texts[i + 1 : i + 2] == ["^"] and (texts[i], texts[min(i + 2, len(texts) - 1)]) in defined:
            found.append(Token("name", texts[i] + texts[i + 2], tokens[i].at))
            i += 3
        else:
            found.append(tokens[i])
            i += 1
    return found


def _without_brackets(tokens: list[Token]) -> list[Token]:
    """`where (a = 1, b = 2)` without its brackets."""
    dropped: set[int] = set()
    for i in range(len(tokens) - 2):
        opened = tokens[i].text in WHERE and tokens[i].kind == "name" and tokens[i + 1].text == "("
        if opened and definition_length(tokens, i + 2):
            dropped |= {i + 1, closing(tokens, i + 1)}
    return [t for i, t in enumerate(tokens) if i not in dropped or t.kind == "end"]


@dataclass(frozen=True)
class Clause:
    """A part of a description: `head` the tokens before its `=` (none in a bare one), `body` those after."""

    head: Sequence[Token]
    body: Sequence[Token]

    @property
    def at(self) -> int:
        return (self.head or self.body)[0].at

    @property
    def name(self) -> str:
        return self.head[0].text if self.head else ""

    @property
    def has_parameters(self) -> bool:
        return len(self.head) > 1


def closing(tokens: Sequence[Token], start: int) -> int:
    """The index of the bracket that closes the one at `start`; the last token when none does."""
    depth = 0
    for i in range(start, len(tokens)):
        if tokens[i].kind != "sign":
            continue
        depth += (tokens[i].text in _OPENING) - (tokens[i].text in _OPENING.values())
        if depth == 0:
            return i
    return len(tokens) - 1


def definition_length(tokens: Sequence[Token], start: int) -> int:
    """The number of tokens of a head `name =` or `name(...) =` at `start`; 0 when there is none."""
    if tokens[start].kind != "name" or start + 1 >= len(tokens):
        return 0
    following = tokens[start + 1]
    if following.text == "=" and following.kind == "sign":
        return 2
    if following.text != "(" or following.kind != "sign":
        return 0
    end = closing(tokens, start + 1)
    is_head = end + 1 < len(tokens) and tokens[end + 1].text == "=" and tokens[end + 1].kind == "sign"
    return end + 2 - start if is_head else 0


def split_clauses(tokens: Sequence[Token]) -> list[Clause]:
    """The clauses: separated by commas, ends of lines or words such as `where`, outside of brackets.

    What doesn't begin with a head after a separator belongs to the clause before it only when a line broke.
    """
    clauses: list[Clause] = []
    start, i = 0, 0
    head: list[Token] = []
    body: list[Token] = []

    def close() -> None:
        while body and body[-1].kind == "end":
            body.pop()
        if head or body:
            clauses.append(Clause(tuple(head), tuple(body)))
        head.clear()
        body.clear()

    while i < len(tokens):
        if i == start and (length := definition_length(tokens, i)):
            head += tokens[i : i + length - 1]
            i += length
            continue
        token = tokens[i]
        if token.text in _OPENING and token.kind == "sign":
            end = closing(tokens, i)
            body += tokens[i : end + 1]
            i = end + 1
            continue
        after = _after_separators(tokens, i)
        following = tokens[after] if after < len(tokens) else token
        if following.kind == "name" and following.text in ("else", "otherwise") and body:
            body.append(Token("name", "else", following.at))  # x if x > 0, otherwise 0
            i = after + 1
            continue
        if after > i and _ends_clause(tokens, i, after):
            close()
            i = start = after
            continue
        if after == i or token.kind != "end":
            body.append(token)
        i += 1
    close()
    return clauses


def _after_separators(tokens: Sequence[Token], i: int) -> int:
    """The index after the separators at i."""
    while i < len(tokens) and (
        tokens[i].kind == "end"
        or (tokens[i].kind == "sign" and tokens[i].text == ",")
        or (tokens[i].kind == "name" and tokens[i].text in (*WHERE, *AND) and not _is_call(tokens, i))
        or (tokens[i].kind == "sign" and tokens[i].text == ":" and tokens[i - 1].text in WHERE)
    ):
        i += 1
    return i


def _is_call(tokens: Sequence[Token], i: int) -> bool:
    """Whether a word is the function where(c, a, b); brackets around definitions are gone already."""
    return tokens[i].text in ("where", "Where") and i + 1 < len(tokens) and tokens[i + 1].text == "("


def output_names(tokens: Sequence[Token], start: int) -> tuple[list[Token], int]:
    """The names of `a, b =` or `(a, b) =` at `start`, and how many tokens that is."""
    names: list[Token] = []
    at = start
    bracketed = at < len(tokens) and tokens[at].text == "("
    at += bracketed
    while at + 1 < len(tokens) and tokens[at].kind == "name":
        names.append(tokens[at])
        at += 1
        if tokens[at].text != ",":
            break
        at += 1
    if bracketed and at < len(tokens) and tokens[at].text == ")":
        at += 1
    elif bracketed:
        return [], 0
    there = names and at < len(tokens) and tokens[at].text == "=" and tokens[at].kind == "sign"
    return (names, at + 1 - start) if there else ([], 0)


def _ends_clause(tokens: Sequence[Token], i: int, after: int) -> bool:
    """Whether the separators from i on end a clause: `and` and new lines only before a definition."""
    if after >= len(tokens) or definition_length(tokens, after):
        return True
    texts = [t.text for t in tokens[i:after]]
    return any(t == "," or t in WHERE or t.strip("\n") for t in texts if t not in AND)
