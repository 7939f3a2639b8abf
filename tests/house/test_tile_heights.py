"""The heights of register tiles are listed in native/kernels/heights.h alone."""

from __future__ import annotations

import re
from pathlib import Path

KERNELS = Path(__file__).parents[2] / "native" / "kernels"
LISTED = re.compile(r"\b(each|[A-Z]+)\((?:\w+, )*1\)[,\s]+\1\((?:\w+, )*2\)[,\s]+\1\((?:\w+, )*3\)")


def listing(texts: dict[str, str]) -> list[str]:
    return [name for name, text in texts.items() if LISTED.search(text)]


def test_one_file_lists_them() -> None:
    texts = {path.name: path.read_text() for path in KERNELS.rglob("*.[ch]")}
    assert listing(texts) == ["heights.h"]


def test_a_second_list_is_found() -> None:
    planted = {"a": "TILE(1)\nTILE(2)\nTILE(3)\n", "b": "{ROW(a, 1), ROW(a, 2), ROW(a, 3)}"}
    assert listing(planted | {"c": "TILE(1, 2)", "d": "part(v, 1), part(v, 2), part(v, 3)"}) == ["a", "b"]
