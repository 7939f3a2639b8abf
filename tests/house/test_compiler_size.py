"""ascend_ep/compiler, the model compiler, has at most 14,000 lines: what is no step of it is elsewhere."""

from __future__ import annotations

from pathlib import Path

COMPILER = Path(__file__).parents[2] / "ascend_ep" / "compiler"
MOST_LINES = 14_000


def test_the_compiler_stays_small() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in COMPILER.rglob("*.py")}
    assert 0 < sum(lines.values()) <= MOST_LINES
