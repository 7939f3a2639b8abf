"""docs/glossary.md: one line for each word, and only words that the sources use."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = [
    tuple(cell.strip() for cell in line.strip("| \n").split("|"))
    for line in (ROOT / "docs" / "glossary.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| the field's")
]


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
