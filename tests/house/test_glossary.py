"""docs/glossary.md: one line for each word, only words that the sources use, no retired one."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
ROWS = [
    tuple(cell.strip() for cell in line.strip("| \n").split("|"))
    for line in GLOSSARY.partition("## Words that are no longer")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| the field's")
]
GONE = re.findall(r"^\| ([a-z ]+) \|", GLOSSARY.partition("## Words that are no longer")[2], re.MULTILINE)[1:]
RETIRED = [word for word in GONE if " " not in word]
#: A retired word in a text, but for ordinary English.
MENTION = re.compile(rf"(?<!as )\b(?:{'|'.join(w.replace(' ', '[ _*]+') for w in GONE)})s?\b(?! as\b)", re.I)


def sources() -> str:
    paths = [p for top in ("ascend_ep", "native") for p in (ROOT / top).rglob("*")]
    kept = (p for p in paths if p.suffix in (".py", ".c", ".h") and "include" not in p.parts[-2:])
    return "\n".join(p.read_text() for p in kept).lower()


def test_rows_are_whole_and_words_differ() -> None:
    assert all(len(row) == 3 and all(row) for row in ROWS)
    ours = [row[1] for row in ROWS]
    assert len(ours) == len(set(ours)) > 20


def test_every_word_is_used() -> None:
    text = sources()
    unused = [word for _, word, _ in ROWS if not re.search(rf"\b{word.replace(' ', '[ _-]')}s?\b", text)]
    assert unused == []


def parts(name: str) -> set[str]:
    """The words of an identifier: of `asc_plan_n_rims` or `BatchRim`."""
    return {p.lower() for p in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def names(path: Path) -> set[str]:
    """The identifiers of a source file, without those of its comments and texts."""
    text = path.read_text()
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return {t.string for t in tokens if t.type == tokenize.NAME}
    code = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', " ", text, flags=re.DOTALL)
    return set(re.findall(r"[A-Za-z_]\w*", code))


def retired(name: str) -> bool:
    """Whether a word that the glossary retired is part of the name, alone or with a plural's s."""
    return any(word in RETIRED or word.removesuffix("s") in RETIRED for word in parts(name))


def test_no_name_has_a_retired_word() -> None:
    paths = [
        p
        for top in ("ascend_ep", "native")
        for p in (ROOT / top).rglob("*")
        if p.suffix in (".py", ".c", ".h")
    ]
    found = {f"{p.relative_to(ROOT)}: {n}" for p in paths for n in names(p) if retired(n)}
    assert {f for f in found if "call_soon" not in f} == set()  # asyncio's


def test_a_retired_word_is_found() -> None:
    assert len(RETIRED) >= 7
    assert [n for n in ("asc_plan_n_rims", "BatchRim", "trim_padding") if retired(n)] == [
        "asc_plan_n_rims",
        "BatchRim",
    ]


def remarks(path: Path) -> list[str]:
    """The comments of a source file, and its docstrings; the whole of a page."""
    text = path.read_text()
    if path.suffix == ".md":
        return [text]
    if path.suffix != ".py":
        return re.findall(r"/\*.*?\*/|//[^\n]*", text, re.DOTALL)
    return re.findall(r'^ *""".*?"""|#[^\n]*', text, re.DOTALL | re.MULTILINE)


def mentions(remark: str) -> list[str]:
    """The retired words that a comment mentions, over ends of lines, too."""
    return MENTION.findall(re.sub(r"\s*\n[\s*#]*", " ", remark))


def test_no_comment_has_a_retired_word() -> None:
    tops = ("ascend_ep", "native", "models", "tools", "tests", "docs")
    paths = [
        p for top in tops for p in (ROOT / top).rglob("*") if p.suffix in (".py", ".c", ".h", ".inc", ".md")
    ]
    paths += ROOT.glob("*.md")
    skipped = {ROOT / "docs" / "glossary.md", Path(__file__)}
    found = {
        f"{p.relative_to(ROOT)}: {m}"
        for p in paths
        if p not in skipped and "ascend_ep/include" not in p.as_posix()  # native/include, installed
        for r in remarks(p)
        for m in mentions(r)
    }
    assert found == set()


@pytest.mark.parametrize(
    ("remark", "found"),
    [
        ("/* rows made up to\n * whole quads */", ["quads"]),
        ("# weights in\n# pairs", ["in pairs"]),
        ("What is read soon: rows", ["soon"]),
        ("As soon as it is imported; pairs of numbers, halves of a tensor, trim", []),
        ("A worker looks around before it sleeps.", ["looks around"]),
    ],
)
def test_a_retired_word_in_a_comment_is_found(remark: str, found: list[str]) -> None:
    assert mentions(remark) == found
