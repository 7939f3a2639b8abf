"""Every AscendError that the code raises has a code of the catalogue and all that its sentence needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_ep.errors import CODES

PACKAGE = Path(__file__).parents[2] / "ascend_ep"


def raised(tree: ast.AST) -> Iterator[tuple[int, str, int]]:
    """Line, code and number of arguments of each AscendError made with a literal code and plain arguments."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        code = node.args[0]
        plain = not any(isinstance(a, ast.Starred) for a in node.args)
        if node.func.id == "AscendError" and isinstance(code, ast.Constant) and plain:
            yield node.lineno, str(code.value), len(node.args) - 1


def mistakes(source: str) -> list[str]:
    return [
        f"line {line}: {code} with {count} arguments"
        for line, code, count in raised(ast.parse(source))
        if code not in CODES or count < CODES[code].template.count("%s")
    ]


def test_the_package() -> None:
    found = {str(p.relative_to(PACKAGE)): mistakes(p.read_text()) for p in PACKAGE.rglob("*.py")}
    assert not {name: wrong for name, wrong in found.items() if wrong}


@pytest.mark.parametrize("planted", ['AscendError("E10022", "a/")', 'AscendError("E00000")'])
def test_a_planted_mistake_is_found(planted: str) -> None:
    assert mistakes(f"raise {planted}")
