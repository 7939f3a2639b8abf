"""Every pass that a graph test runs is verified."""

from __future__ import annotations

import pytest

from ascend_ep.graph.passes.contract import VERIFY_VARIABLE
from ascend_ep.opdef.registry import Registry


@pytest.fixture(autouse=True)
def verify_between_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VERIFY_VARIABLE, "1")


@pytest.fixture(scope="session")
def registry() -> Registry:
    return Registry()
