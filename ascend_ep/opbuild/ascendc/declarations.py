"""Declarations of templates in the body of a class, of a text as the preprocessor makes it: their parameters, names
and arguments. Angle brackets are told from comparisons by what stands before them; this is no parser of C++."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

_TOKEN = re.compile(
    r"(?P<skipped>^[ \t]*\#[^\n]*|\s+)"
    r'|R"(?P<tag>[^(\s"]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
    r"|\d[\w.']*|[A-Za-z_]\w*|::|->|\.\.\.|&&|\|\||<<|[-+*/%&|^=!<>]=|.",
    re.DOTALL | re.MULTILINE,
)
_TEXT = re.compile(
    r'\b\d[\w.\']*|//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s"]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_CLOSED_BY = {"(": ")", "[": "]", "{": "}", "<": ">"}
_CLASSES = ("class", "struct", "union")
#: What a statement begins with, or has before a name, that has to be a constant.
_CONSTANT = re.compile(r"\b(?:constexpr|static_assert|enum|using|typedef|case)\b")
#: Words before parentheses that are no parameters.
_ATTRIBUTES = ("__attribute__", "alignas", "__declspec", "decltype", "explicit", "noexcept")
#: Words that end a type and are no name.
_TYPES = re.compile(
    r"auto|bool|char(?:8_t|16_t|32_t)?|const|double|float|int|long|short|(?:un)?signed|void|volatile|wchar_t"
    r"|typename|class|struct|union"
)


@dataclass(frozen=True)
class Token:
    """A word, a number, a string or a sign, and where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Parameter:
    """A parameter of a template: what stands before its name, "" without one, and its default."""

    kind: Literal["type", "value"]
    type: tuple[str, ...]
    name: str
    default: tuple[str, ...]
    is_pack: bool


@dataclass(frozen=True)
class Declaration:
    """A template's declaration in a class. header: where `template <...>` stands; arguments: behind the name, None
    where there are none, which stand, with their brackets, at `listed`; operands: a function's parameters, which end
    at `ends`."""

    kind: Literal["class", "function"]
    name: str
    header: tuple[int, int]
    parameters: tuple[tuple[str, ...], ...]
    arguments: tuple[tuple[str, ...], ...] | None
    listed: tuple[int, int]
    operands: tuple[tuple[str, ...], ...]
    ends: tuple[int, ...]


def without_comments(text: str) -> str:
    """The text with comments and the insides of strings blank; lines and columns stay."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        if found[0] == "/":
            return re.sub(r"[^\n]", " ", found)
        begin, end = found.find('"') if found[0] == "R" else 0, len(found) - 1
        return (
            found
            if found[0].isdecimal()
            else found[: begin + 1] + re.sub(r"[^\n]", " ", found[begin + 1 : end]) + found[end:]
        )

    return _TEXT.sub(blank, text)


def tokens_of(text: str) -> list[Token]:
    found = _TOKEN.finditer(text)
    return [Token(m[0], m.start(), m.end()) for m in found if m["skipped"] is None]


def declarations(body: str) -> Iterator[Declaration]:
    """Of the class and function templates of a class's body, in their order, but for those of classes in it."""
    tokens = tokens_of(body)
    closed = _brackets(tokens)
    at = 0
    while at < len(tokens):
        if tokens[at].text == "template":
            found = _declaration(tokens, closed, at)
            if found is not None:
                yield found
        is_jump = tokens[at].text in "([{" and at in closed
        at = closed[at] + 1 if is_jump else at + 1


def is_class_head(head: str) -> bool:
    """Whether a brace that comes after this text opens the body of a class. head: what follows the last `;`, `{` or
    `}`."""
    tokens = tokens_of(head)
    closed = _brackets(tokens)
    words: list[str] = []
    at = 0
    while at < len(tokens):
        text = tokens[at].text
        if text in ("template", "requires", *_ATTRIBUTES):
            at = closed.get(at + 1, at) + 1
        elif text in ("<", "["):
            at = closed.get(at, at) + 1
        else:
            words.append(text)
            at += 1
    keyword = next((i for i, w in enumerate(words) if w in (*_CLASSES, "enum", "(", "=")), None)
    if keyword is None or words[keyword] not in _CLASSES:
        return False
    named = words[keyword : words.index(":", keyword) if ":" in words[keyword:] else None]
    return not {"(", "="} & set(named)


def constants_of(text: str, name: str) -> bool:
    """Whether a name stands where C++ takes only a constant: in a template's list, a declaration of a constant or a
    type, or a macro, which may be used in these."""
    for match in re.finditer(rf"\b{name}\b", text):
        begin = max(text.rfind(c, 0, match.start()) for c in ";{}") + 1
        head = (
            max(text.rfind(c, 0, max(begin - 1, 0)) for c in ";{}") + 1
            if text[begin - 1 : begin] == "{"
            else begin
        )
        ends = [i for c in ";{}" if (i := text.find(c, match.end())) >= 0]
        statement = text[begin : min(ends, default=len(text))]
        if _CONSTANT.search(text[head : match.start()]):
            return True
        tokens = tokens_of(statement)
        at = match.start() - begin
        if any(
            tokens[o].start < at < tokens[c].start
            for o, c in _brackets(tokens).items()
            if tokens[o].text == "<"
        ):
            return True
        if re.match(r"[ \t]*#[ \t]*define\b", text[text.rfind("\n", 0, match.start()) + 1 :]):
            return True
    return False


def argument_lists(declared: str) -> Iterator[tuple[str, list[str]]]:
    """Names in a declaration that have lists of arguments, with these."""
    tokens = tokens_of(declared)
    closed = _brackets(tokens)
    for i in closed:
        if tokens[i].text == "<":
            first = i - 3 if tokens[i - 1].text == ")" else i - 1
            name = "".join(t.text for t in tokens[first:i])
            yield name, [" ".join(words) for words, _ in _list(tokens, closed, i)]


def parameter(tokens: Sequence[str]) -> Parameter | None:
    """A template's parameter, None for one that is a template or a function."""
    declared, default = split_default(tokens)
    is_pack = "..." in declared
    declared = [t for t in declared if t != "..."]
    if not declared or declared[0] == "template" or ")" in declared:
        return None
    is_type = declared[0] in ("typename", "class") and len(declared) <= 2
    name = (declared[1] if len(declared) == 2 else "") if is_type else name_of(declared)
    kind: Literal["type", "value"] = "type" if is_type else "value"
    return Parameter(kind, tuple(declared[: len(declared) - bool(name)]), name, tuple(default), is_pack)


def split_default(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before `=` and what stands after it."""
    at = tokens.index("=") if "=" in tokens else len(tokens)
    return list(tokens[:at]), list(tokens[at + 1 :])


def name_of(declared: Sequence[str]) -> str:
    """The name that a parameter's declaration ends with, "" for none."""
    if len(declared) < 2 or not _WORD.fullmatch(declared[-1]) or _TYPES.fullmatch(declared[-1]):
        return ""
    before = [t for t in declared[:-1] if t not in ("const", "volatile", "typename", *_CLASSES)]
    return "" if not before or before[-1] == "::" else declared[-1]


def _brackets(tokens: Sequence[Token]) -> dict[int, int]:
    """For each token that opens a bracket, the one that closes it."""
    closed: dict[int, int] = {}
    opened: list[int] = []
    for i, token in enumerate(tokens):
        text = token.text
        if text in ("(", "[", "{") or (text == "<" and _opens_list(tokens, i)):
            opened.append(i)
        elif text in (")", "]", "}", ">"):
            while text != ">" and opened and tokens[opened[-1]].text == "<":
                opened.pop()
            if opened and _CLOSED_BY[tokens[opened[-1]].text] == text:
                closed[opened.pop()] = i
        elif text == ";":
            while opened and tokens[opened[-1]].text == "<":
                opened.pop()
    return closed


def _opens_list(tokens: Sequence[Token], at: int) -> bool:
    """Whether a `<` opens a list: behind a name, or the sign of an operator."""
    before = [t.text for t in tokens[max(0, at - 3) : at]]
    if "operator" in before:
        return before[-1] != "operator"
    return bool(before) and bool(_WORD.fullmatch(before[-1]))


def _declaration(tokens: Sequence[Token], closed: dict[int, int], at: int) -> Declaration | None:
    if at + 1 not in closed:
        return None
    end = closed[at + 1]
    i = _after_attributes(tokens, closed, end + 1)
    if i >= len(tokens) or tokens[i].text == "requires":
        return None
    named = _name(tokens, closed, i)
    if named is None:
        return None
    kind, first, behind = named
    is_listed = behind < len(tokens) and tokens[behind].text == "<" and behind in closed
    listed = closed[behind] + 1 if is_listed else behind
    operands: list[tuple[list[str], int]] = []
    if kind == "function":
        if listed not in closed or tokens[listed].text != "(":
            return None
        operands = _list(tokens, closed, listed)
    elif listed >= len(tokens) or tokens[listed].text not in ("{", ":", ";", "final"):
        return None
    return Declaration(
        kind=kind,
        name="".join(t.text for t in tokens[first:behind]),
        header=(tokens[at].start, tokens[end].end),
        parameters=tuple(tuple(words) for words, _ in _list(tokens, closed, at + 1)),
        arguments=tuple(tuple(words) for words, _ in _list(tokens, closed, behind)) if is_listed else None,
        listed=(tokens[behind - 1].end, tokens[listed - 1].end),
        operands=tuple(tuple(words) for words, _ in operands),
        ends=tuple(end for _, end in operands),
    )


def _name(
    tokens: Sequence[Token], closed: dict[int, int], i: int
) -> tuple[Literal["class", "function"], int, int] | None:
    """What is declared from a token on, and where its name begins and what comes behind that."""
    if tokens[i].text in _CLASSES:
        named = _after_attributes(tokens, closed, i + 1)
        after = closed.get(named + 1, named) + 1
        if after < len(tokens) and tokens[after].text in ("{", ":", ";", "final"):
            return "class", named, named + 1
    while i < len(tokens) and tokens[i].text not in (";", "{", "="):
        if tokens[i].text == "operator":
            return "function", i, closed.get(i + 1, i + 1) + 1
        if tokens[i].text == "(" and tokens[i - 1].text not in _ATTRIBUTES:
            behind = next((o for o, c in closed.items() if c == i - 1 and tokens[o].text == "<"), i)
            return "function", behind - 1, behind
        i = closed.get(i, i) + 1
    return None


def _after_attributes(tokens: Sequence[Token], closed: dict[int, int], at: int) -> int:
    while at + 1 < len(tokens):
        if tokens[at].text in _ATTRIBUTES and tokens[at].text != "decltype" and at + 1 in closed:
            at = closed[at + 1] + 1
        elif tokens[at].text == "[" and at in closed:
            at = closed[at] + 1
        else:
            break
    return at


def _list(tokens: Sequence[Token], closed: dict[int, int], opened: int) -> list[tuple[list[str], int]]:
    """What commas divide in a bracket, but for those in brackets of it, and where each ends."""
    parts: list[tuple[list[str], int]] = []
    words: list[str] = []
    at, end = opened + 1, closed[opened]
    while at < end:
        if tokens[at].text == ",":
            parts.append((words, tokens[at - 1].end))
            words = []
            at += 1
            continue
        after = closed.get(at, at) + 1
        words += [t.text for t in tokens[at:after]]
        at = after
    return [*parts, (words, tokens[end - 1].end)] if parts or words else []
