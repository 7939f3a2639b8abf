"""Specializations of templates inside a class, which the device's compiler reads and g++ does not:

    template <int N = g_core> void run(int x);
    template <> void run<1>(int x) { ... }

The second, or one of a class, becomes a template with a constraint, which is chosen before the first. Its parameters
are those of the first. One that a call's operands say has the specialization's argument as its default, as operands
of the specialization no longer say it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .declarations import (
    Declaration,
    Parameter,
    declarations,
    is_class_head,
    name_of,
    parameter,
    split_default,
    without_comments,
)

#: Numbers, strings and characters, whose braces are none; then what opens and closes, and what is looked for.
_TOKEN = re.compile(
    r"\b\d[\w.']*"
    r'|R"(?P<tag>[^(\s"]*)\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
    r"|(?P<open>\{)|(?P<close>\})|(?P<empty>\btemplate\s*<\s*>)",
    re.DOTALL,
)
#: A default constructor, with what may stand before it on its line; and a line of the preprocessor.
_DEFAULTED = re.compile(
    r"^[^\n;{}]*?(?<![~\w:])(?P<name>[A-Za-z_]\w*)\s*\(\s*\)\s*=\s*default\s*;", re.MULTILINE
)
_MARKER = re.compile(r'# \d+ "(?P<file>[^"\n]*)"(?P<flags>[ \d]*)')
_EMPTY = re.compile(r"\btemplate\s*<\s*>")
_INDENTED = re.compile(r"^[ \t]+template\s*<\s*>", re.MULTILINE)
#: What packs are compared by.
_LISTS = "template <typename...> struct asc_types; template <typename T, T...> struct asc_values;"


@dataclass(frozen=True)
class _Choice:
    """A template that may be a specialization's. fits: how well its operands do; said: parameters that operands say;
    values: of the specialization, several of a pack; defaults: of the operands."""

    fits: int
    parameters: Sequence[Parameter]
    said: frozenset[str]
    values: dict[str, list[str]]
    defaults: Sequence[str]


def has_in_class(files: Iterable[Path]) -> bool:
    """Whether one of a unit's files may have such a specialization."""
    for text in (f.read_text(encoding="utf-8", errors="replace") for f in files):
        if _INDENTED.search(text) or (_EMPTY.search(text) and any(_bodies(without_comments(text)))):
            return True
    return False


def constrained(text: str) -> str:
    """The text with constrained templates in their places; lines stay."""
    changes: list[tuple[int, int, str]] = []
    for opened in dict.fromkeys(_bodies(text)):
        changes += _changes(text, opened)
    parts, at = [], 0
    for start, end, new in sorted(changes):
        parts += [text[at:start], new, _lines_of(text[start:end])]
        at = end
    made = "".join([*parts, text[at:]])
    if not any("asc_types<" in new or "asc_values<" in new for _, _, new in changes):
        return made
    return _LISTS + ("\n" if made.startswith("#") else " ") + made


def _bodies(text: str) -> Iterator[int]:
    """Where the bodies of classes open that have an empty template header, once for each of these."""
    opened: list[tuple[int, str]] = []  # with what stands before it
    last = 0
    for match in _TOKEN.finditer(text):
        if match["open"]:
            opened.append((match.end(), text[max(last, match.start() - 4000) : match.start()]))
        elif match["close"] and opened:
            opened.pop()
        elif match["empty"] and opened and is_class_head(opened[-1][1].rpartition(";")[2]):
            yield opened[-1][0]
        if match["open"] or match["close"]:
            last = match.end()


def _changes(text: str, opened: int) -> Iterator[tuple[int, int, str]]:
    """What of the body of a class becomes another text: from, to, which."""
    known: list[Declaration] = []
    for found in declarations(text[opened : _body_end(text, opened)]):
        if found.parameters:
            known.append(found)
            continue
        prefix = f"asc_{opened + found.header[0]}_"
        same = [d for d in reversed(known) if (d.kind, d.name) == (found.kind, found.name)]
        choices = [choice for d in same if (choice := _choice(d, found, prefix)) is not None]
        if not choices:  # the compiler says what is wrong with it
            continue
        choice = max(choices, key=lambda c: c.fits)
        head, listed = _constrained(choice, found.kind == "class")
        for (start, end), new in ((found.header, head), (found.listed, listed)):
            yield opened + start, opened + end, new
        for end, default in zip(found.ends, choice.defaults, strict=False):
            if default:
                yield opened + end, opened + end, f" = {default}"


def _choice(first: Declaration, found: Declaration, prefix: str) -> _Choice | None:
    """A template as that of a specialization. None where it can't be. prefix: of its parameters' names, which no
    other text has."""
    read = [parameter(p) for p in first.parameters]
    parameters = [p for p in read if p is not None]
    if len(parameters) < len(read):
        return None
    names = {p.name: f"{prefix}{i}" for i, p in enumerate(parameters) if p.name}
    own = [
        replace(p, name=f"{prefix}{i}", type=_renamed(p.type, names), default=_renamed(p.default, names))
        for i, p in enumerate(parameters)
    ]
    operands = [_renamed(split_default(o)[0], names) for o in first.operands]
    defaults = [" ".join(_renamed(split_default(o)[1], names)) for o in first.operands]
    deduced = _deduced(operands, found.operands, {p.name for p in own})
    said = frozenset(t for operand in operands for t in operand)
    values = _values(own, [" ".join(a) for a in found.arguments or ()], deduced or {})
    if values is None:
        return None
    fits = 2 if deduced is not None else int(len(operands) == len(found.operands))
    if any(values[name] != value for name, value in (deduced or {}).items()):
        fits = 0
    return _Choice(fits, own, said, values, defaults)


def _values(
    parameters: Sequence[Parameter], given: list[str], deduced: dict[str, list[str]]
) -> dict[str, list[str]] | None:
    """The arguments of a specialization: those given, those that its operands say, and defaults."""
    values: dict[str, list[str]] = {}
    for p in parameters:
        said = deduced.get(p.name)
        if p.is_pack:
            values[p.name] = given if said is None or len(said) < len(given) else said
            given = []
        elif given:
            values[p.name], given = given[:1], given[1:]
        elif said or p.default:
            values[p.name] = said or [" ".join(p.default)]
        else:
            return None
    return None if given else values


def _deduced(
    patterns: Sequence[Sequence[str]], operands: Sequence[Sequence[str]], names: set[str]
) -> dict[str, list[str]] | None:
    """What the types of a specialization's operands say of parameters; None where they aren't of these patterns."""
    values: dict[str, list[str]] = {}
    left = list(operands)
    for pattern in patterns:
        is_pack = "..." in pattern
        taken = left if is_pack else left[:1]
        if not taken and not is_pack:
            return None
        left = left[len(taken) :]
        matched = [_matched([t for t in pattern if t != "..."], operand, names) for operand in taken]
        for name in names.intersection(pattern):
            said = [m[name] for m in matched if m is not None]
            if len(said) < len(taken) or values.setdefault(name, said) != said:
                return None
        if None in matched:
            return None
    return None if left else values


def _matched(pattern: Sequence[str], operand: Sequence[str], names: set[str]) -> dict[str, str] | None:
    """What stands in an operand's type for names of a pattern."""
    expression, seen = [], set[str]()
    for token in pattern[: len(pattern) - bool(name_of(pattern))]:
        if token in names:
            expression.append(f"(?P={token})" if token in seen else f"(?P<{token}>.+?)")
            seen.add(token)
        else:
            expression.append(re.escape(token))
    bare = operand[: len(operand) - bool(name_of(operand))]
    match = re.fullmatch(" ".join(expression), " ".join(bare))
    return match.groupdict() if match else None


def _renamed(tokens: Sequence[str], names: dict[str, str]) -> tuple[str, ...]:
    return tuple(names.get(t, t) for t in tokens)


def _constrained(choice: _Choice, is_class: bool) -> tuple[str, str]:
    """The header of a constrained template, and the arguments behind a class's name."""
    made, tests, listed = [], [], []
    for p in choice.parameters:
        values, before = choice.values[p.name], " ".join(p.type)
        is_said = p.name in choice.said
        if p.is_pack and not (values and (is_class or is_said)):
            made.append(f"{before}... {p.name}")
            listed.append(f"{p.name}...")
            both = (f"{p.name}...", ", ".join(values))
            kind = "asc_types<" if p.kind == "type" else f"asc_values<{before}, "
            is_same = f"__is_same({', '.join(f'{kind}{v}>' for v in both)})"
            tests.append(is_same if values else f"sizeof...({p.name}) == 0")
            continue
        for i, value in enumerate(values):
            name = f"{p.name}_{i}" if p.is_pack else p.name
            default = value if is_said else " ".join(p.default)
            made.append(f"{before} {name}" + (f" = {default}" if default and not is_class else ""))
            listed.append(name)
            tests.append(f"__is_same({name}, {value})" if p.kind == "type" else f"{name} == ({value})")
    listing = "" if not is_class else f"<{', '.join(listed)}>"
    return f"template <{', '.join(made)}> requires ({' && '.join(tests)})", listing


def _lines_of(removed: str) -> str:
    """The ends of a text's lines, and those of them that say where they are from."""
    return "\n".join(line if line.startswith("#") else "" for line in removed.split("\n"))


def as_aggregates(preprocessed: str) -> str:
    """The text without `Name() = default;` where a class of the user's files has no other constructor: it is an
    aggregate in the device's C++, of 2017, and would be none in that of 2020."""
    removed = []
    for match in _DEFAULTED.finditer(preprocessed):
        head = _last(rf"\b(?:class|struct)\s+{match['name']}\b[^;{{}}]*\{{", preprocessed, match.start())
        if head is None or _is_of_system(preprocessed, match.start()):
            continue
        closed = _body_end(preprocessed, head)
        constructors = re.findall(rf"(?<![~\w]){match['name']}\s*\(", preprocessed[head:closed])
        if match.end() < closed and len(constructors) == 1:
            before = max(preprocessed.rfind(c, 0, match.start("name")) for c in ";{}:")
            removed.append((before + 1, match.end()))
    parts, at = [], 0
    for begin, end in removed:
        parts += [preprocessed[at:begin], _lines_of(preprocessed[begin:end])]
        at = end
    return "".join([*parts, preprocessed[at:]])


def _last(pattern: str, text: str, before: int) -> int | None:
    """Where the last match ends that lies in the 20000 characters before a place."""
    found = list(re.finditer(pattern, text[max(0, before - 20000) : before]))
    return max(0, before - 20000) + found[-1].end() if found else None


def _is_of_system(text: str, at: int) -> bool:
    """Whether a place is in a system's header, or in ours, by the preprocessor's last line marker."""
    marker = _MARKER.match(text, text.rfind("\n# ", 0, at) + 1)
    return marker is not None and ("3" in marker["flags"].split() or "/include/ascendc/" in marker["file"])


def _body_end(text: str, opened: int) -> int:
    depth = 1
    for match in _TOKEN.finditer(text, opened):
        depth += 1 if match["open"] else -1 if match["close"] else 0
        if depth == 0:
            return match.start()
    return len(text)
