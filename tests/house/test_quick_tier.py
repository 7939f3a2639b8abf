"""tests/quick.txt, what `tools/test --quick` runs: tests that exist, of every folder of tests; and the table
of what folders may take."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "tests" / "quick.txt").read_text().splitlines()


def folders() -> set[str]:
    return {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("test_*.py")}


def test_every_folder_is_visited() -> None:
    assert {line.split("/")[1] for line in LINES} == folders()


def test_every_folder_has_a_budget() -> None:
    assert set(json.loads((ROOT / "tests" / "cpu_seconds.json").read_text())) == folders()


def test_lines_are_sorted_and_differ() -> None:
    assert sorted(set(LINES)) == LINES


def test_what_is_named_exists() -> None:
    for line in LINES:
        path, _, name = line.partition("::")
        assert (ROOT / path).exists(), line
        if name:
            assert re.search(rf"^def {name}\(", (ROOT / path).read_text(), re.MULTILINE), line


def test_the_command_runs_them() -> None:
    assert "@tests/quick.txt" in (ROOT / "tools" / "test").read_text()
    assert "tools/test --quick" in (ROOT / "CONTRIBUTING.md").read_text()
