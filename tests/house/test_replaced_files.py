"""Files are replaced by `ascend_ep.atomic_file` alone: nothing else renames."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ascend_ep"
#: Methods of paths and functions of os that give a file a name.
RENAMES = {"rename", "renames", "replace", "link", "move"}


def renames(source: str) -> Iterator[int]:
    """Lines of calls of os.replace and its like, and of Path.replace, which takes one argument where that of
    strings takes two."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
        is_path = len(node.args) == 1 and not node.keywords and node.func.attr in ("rename", "replace")
        if node.func.attr in RENAMES and (owner in ("os", "shutil") or is_path):
            yield node.lineno


def test_the_package() -> None:
    sources = (p for p in PACKAGE.rglob("*.py") if p.name != "atomic_file.py")
    found = {str(p.relative_to(PACKAGE)): list(renames(p.read_text(encoding="utf-8"))) for p in sources}
    assert not {name: lines for name, lines in found.items() if lines}


@pytest.mark.parametrize("planted", ["os.replace(a, b)", "path.replace(target)", "shutil.move(a, b)"])
def test_a_planted_rename_is_found(planted: str) -> None:
    assert list(renames(planted)) == [1]


def test_strings_and_dataclasses_are_no_files() -> None:
    assert not list(renames("text.replace('a', 'b'); moment.replace(tzinfo=None); replace(row)"))
