"""Options and paths common to all suites."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# The model builders are scripts outside the package; the suites' own shared modules sit beside their tests.
sys.path[:0] = [str(ROOT / "models"), *(str(p) for p in sorted((ROOT / "tests").iterdir()) if p.is_dir())]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests that take minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        skip = pytest.mark.skip(reason="takes minutes; run with --slow")
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(skip)
