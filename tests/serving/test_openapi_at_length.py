"""The server beside every operation of its OpenAPI document. Collected with --slow alone (conftest.py)."""

from __future__ import annotations

import pytest
from running import Running

schemathesis = pytest.importorskip("schemathesis")
import hypothesis  # noqa: E402
from test_openapi import SCHEMA, answer_is_as_described  # noqa: E402


@pytest.mark.slow
@SCHEMA.parametrize()
@hypothesis.settings(max_examples=300, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
def test_answers_are_as_described_at_length(case: schemathesis.Case, running: Running) -> None:
    answer_is_as_described(case, running)
