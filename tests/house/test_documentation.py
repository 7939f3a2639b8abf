"""The pages of the documentation: complete, linked, and as long as they may be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
CHINESE = ROOT / "README.zh.md"
TEXTS = [
    ROOT / "README.md",
    CHINESE,
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
    *PAGES,
]


def _leaves(entry: object) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else []
    return [leaf for part in parts for leaf in _leaves(part)]


def test_the_readme_is_read_in_ten_minutes() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200


def outline(text: str) -> tuple[list[int], list[str], list[str], list[int]]:
    """Levels of headings, commands and programs, targets of links, and rows of tables between headings."""
    fenced = re.findall(r"^```(?:sh|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    levels = [len(marks) for marks in re.findall(r"^(#+) ", prose, re.MULTILINE)]
    links = [target for target in re.findall(r"\]\(([^)]+)\)", prose) if not target.startswith("README")]
    parts = re.split(r"^#+ ", prose, flags=re.MULTILINE)
    return levels, fenced, links, [len(re.findall(r"^[|-] ?", part, re.MULTILINE)) for part in parts]


def test_the_readme_in_chinese_says_the_same() -> None:
    """Headings, commands, links, rows and points of both are alike, one for one; code spans are all there."""
    english, chinese = (ROOT / "README.md").read_text(), CHINESE.read_text()
    for ours, theirs in zip(outline(english), outline(chinese), strict=True):
        assert theirs == ours
    spans = re.compile(r"`([^`\n]+)`|\b(E\d{5})\b")
    assert sorted(set(spans.findall(english)) - set(spans.findall(chinese))) == []


def test_every_page_is_in_the_navigation() -> None:
    shown = _leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    assert sorted(shown) == [page.name for page in PAGES]


@pytest.mark.parametrize("text", TEXTS, ids=[t.name for t in TEXTS])
def test_links_lead_somewhere(text: Path) -> None:
    prose = re.sub(r"```.*?```", "", text.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose):
        if not target.startswith("http"):
            assert (text.parent / target).exists(), target


@pytest.mark.parametrize("text", TEXTS, ids=[t.name for t in TEXTS])
def test_files_that_are_named_exist(text: Path) -> None:
    """Paths in code spans that begin in a folder of the tree, as `tools/bench`; patterns aside."""
    roots = "ascend_ep|native|op_schemas|tests|tools|models|docs"
    prose = re.sub(r"```.*?```", "", text.read_text(), flags=re.S)
    for path in re.findall(rf"`((?:{roots})/[\w./-]+)`", prose):
        if path.startswith(("native/acl", "ascend_ep/lib")):
            continue
        assert (ROOT / path).exists(), path
