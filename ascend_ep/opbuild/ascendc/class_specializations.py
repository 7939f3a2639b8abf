"""Specializations of templates inside a class, which the device's compiler reads and g++ does not:

    template <int N = g_core> void run(int x);
    template <> void run<1>(int x) { ... }

The second, or one of a class, becomes a template of the same parameters with a constraint, which is chosen before the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

#: Numbers, strings and characters, whose braces are none; then what opens and closes, and what is looked for.
_TOKEN = re.compile(
    r"\b\d[\w.']*"
    r'|R"(?P<tag>[^(\s"]*)\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
    r"|(?P<open>\{)|(?P<close>\})|(?P<empty>\btemplate\s*<\s*>)",
    re.DOTALL,
)
#: What stands before the body of a class.
_CLASS = re.compile(r"\b(?:class|struct)\b[^;{}()=]*\Z")
_INNER = re.compile(r"(?P<name>\b(?:class|struct)\s+\w+)\s*<(?P<arguments>[^;{}()]*)>")
_FUNCTION = re.compile(r"(?P<name>operator\s*\(\s*\)|\b\w+)\s*<(?P<arguments>[^;{}()]*)>\s*(?=\()")
#: A default constructor, with what may stand before it on its line; and a line of the preprocessor.
_DEFAULTED = re.compile(
    r"^[^\n;{}]*?(?<![~\w:])(?P<name>[A-Za-z_]\w*)\s*\(\s*\)\s*=\s*default\s*;", re.MULTILINE
)
_MARKER = re.compile(r'# \d+ "(?P<file>[^"\n]*)"(?P<flags>[ \d]*)')
_INDENTED = re.compile(r"^[ \t]+template\s*<\s*>", re.MULTILINE)


def has_in_class(files: Iterable[Path]) -> bool:
    """Whether one of a unit's files may have such a specialization."""
    return any(_INDENTED.search(f.read_text(encoding="utf-8", errors="replace")) for f in files)


def constrained(text: str) -> str:
    """The text with constrained templates in their places; lines stay."""
    parts, at = [], 0
    for begin, opened in list(_in_classes(text)):
        ends = [i for i in (text.find("{", begin), text.find(";", begin)) if i >= 0]
        declared = text[begin : min(ends, default=len(text))]
        if (new := _one(declared, text[opened:begin])) is not None:
            parts += [text[at:begin], new]
            at = begin + len(declared)
    return "".join([*parts, text[at:]])


def _in_classes(text: str) -> Iterator[tuple[int, int]]:
    """Where an empty template header stands in the body of a class, and where that body opens."""
    opened: list[int] = []
    for match in _TOKEN.finditer(text):
        if match["open"]:
            opened.append(match.end())
        elif match["close"]:
            if opened:
                opened.pop()
        elif match["empty"] and opened and _CLASS.search(text, max(0, opened[-1] - 2000), opened[-1] - 1):
            yield match.start(), opened[-1]


def _one(declared: str, before: str) -> str | None:
    """A specialization as a constrained template; None where nothing before it declares that."""
    inner = _INNER.search(declared)
    found = inner or _FUNCTION.search(declared, declared.index(">") + 1)
    if found is None:
        return None
    name = re.escape(found["name"]).replace(r"\ ", r"\s*")
    end = r"\b" if inner else r"\s*\("
    headers = re.findall(rf"\btemplate\s*<([^;{{}}()]*?)>[^;{{}}<>]*(?<!\w){name}{end}", before)
    if not headers:
        return None
    parameters, arguments = _split(headers[-1]), _split(found["arguments"])
    if len(arguments) > len(parameters):
        return None
    if inner:
        parameters = [p.partition("=")[0].strip() for p in parameters]
    tests = []
    for i, argument in enumerate(arguments):
        own = re.findall(r"\w+", parameters[i].partition("=")[0])[-1]
        is_type = re.match(r"(?:typename|class)\b", parameters[i])
        tests.append(f"__is_same({own}, {argument})" if is_type else f"{own} == ({argument})")
        if (
            is_type and not inner and "=" not in parameters[i]
        ):  # the function's own parameters no longer say it
            parameters[i] += f" = {argument}"
    head = f"template <{', '.join(parameters)}> requires ({' && '.join(tests)})"
    rest = re.sub(r"\Atemplate\s*<\s*>", "", declared[: found.start()], count=1)
    own_arguments = ", ".join(re.findall(r"\w+", p)[-1] for p in parameters)
    listed = f"<{own_arguments}>" if inner else ""
    return head + rest + found["name"] + listed + declared[found.end() :]


def _split(listed: str) -> list[str]:
    """What commas divide, but for those in angle brackets."""
    parts, depth = [""], 0
    for c in listed:
        depth += {"<": 1, ">": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


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
        lines = preprocessed[begin:end].split("\n")
        kept = "\n".join(line if line.startswith("#") else "" for line in lines)
        parts += [preprocessed[at:begin], kept]
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
