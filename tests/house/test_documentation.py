"""The pages of the documentation: complete, linked, and as long as they may be."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
#: The README, and a page for each task of a newcomer.
CHINESE = [ROOT / "README.zh.md", *sorted((ROOT / "docs" / "zh").glob("*.md"))]
TEXTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
    *PAGES,
    *CHINESE,
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
    targets = (Path(target).name for target in re.findall(r"(?<!\[English)(?<!\[中文)\]\(([^)]+)\)", prose))
    links = sorted({target for target in targets if not target.startswith(("README", "#"))})
    parts = re.split(r"^#+ ", prose, flags=re.MULTILINE)
    return levels, fenced, links, [len(re.findall(r"^[|-] ?", part, re.MULTILINE)) for part in parts]


def of_page(chinese: Path) -> Path:
    """The English page."""
    return chinese.parents[1] / chinese.name if chinese.parent.name == "zh" else ROOT / "README.md"


def test_every_task_has_a_page_in_chinese() -> None:
    tasks = ("atc", "c-programs", "kernels-from-formulas", "onnxruntime", "pytorch", "serving")
    assert [page.name for page in CHINESE] == ["README.zh.md", *(f"{task}.md" for task in tasks)]
    for page in CHINESE:
        back = os.path.relpath(page, of_page(page).parent)
        assert f"[中文]({back})" in of_page(page).read_text()
        assert f"[English]({os.path.relpath(of_page(page), page.parent)})" in page.read_text()


@pytest.mark.parametrize("page", CHINESE, ids=[str(page.relative_to(ROOT)) for page in CHINESE])
def test_a_page_in_chinese_says_the_same(page: Path) -> None:
    """Headings, commands, links, rows and points of both are alike, one for one; code spans are all there.
    Sections that a program writes are in English alone."""
    written = r"<!-- [\w-]+: (?:generated|written) by.*?<!-- end of [\w-]+ -->"
    english = re.sub(written, "", of_page(page).read_text(), flags=re.DOTALL)
    chinese = page.read_text().replace(f"[英文页面](../{page.name})", "")
    for ours, theirs in zip(outline(english), outline(chinese), strict=True):
        assert theirs == ours
    assert sorted(spans(english) - spans(chinese)) == []


def spans(text: str) -> set[str]:
    """What stands in code spans, and the codes of errors."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return {a or b for a, b in re.findall(r"`([^`]+)`|\b(E\d{5})\b", " ".join(prose.split()))}


def test_every_page_is_in_the_navigation() -> None:
    shown = _leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    chinese = [f"zh/{page.name}" for page in CHINESE[1:]]
    assert sorted(shown) == sorted([page.name for page in PAGES] + chinese)


@pytest.mark.parametrize("text", TEXTS, ids=[str(t.relative_to(ROOT)) for t in TEXTS])
def test_links_lead_somewhere(text: Path) -> None:
    prose = re.sub(r"```.*?```", "", text.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose):
        if not target.startswith("http"):
            assert (text.parent / target).exists(), target


@pytest.mark.parametrize("text", TEXTS, ids=[str(t.relative_to(ROOT)) for t in TEXTS])
def test_files_that_are_named_exist(text: Path) -> None:
    """Paths in code spans that begin in a folder of the tree, as `tools/bench`; patterns aside."""
    roots = "ascend_ep|native|op_schemas|tests|tools|models|docs"
    prose = re.sub(r"```.*?```", "", text.read_text(), flags=re.S)
    for path in re.findall(rf"`((?:{roots})/[\w./-]+)`", prose):
        if path.startswith(("native/acl", "ascend_ep/lib")):
            continue
        assert (ROOT / path).exists(), path
