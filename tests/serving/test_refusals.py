"""The catalogue of refusals: what it names exists, and every code has its status."""

from __future__ import annotations

import re

import pytest

from ascend_ep.cli.serve_flags import FLAGS
from ascend_ep.errors import CODES, AscendError
from ascend_ep.serving.refusals import STATUSES, public, sentence


def test_flags_in_sentences_exist() -> None:
    flags = {flag.name for flag in FLAGS}
    for code, entry in CODES.items():
        if code.startswith("E500"):
            named = set(re.findall(r"--([a-z][a-z-]*[a-z])", f"{entry.template} {entry.fix}"))
            assert named <= flags | {"help", "flag"}, code


def test_statuses() -> None:
    assert set(STATUSES) <= set(CODES)
    assert {s.http for s in STATUSES.values() if s.retry_after} == {503}


@pytest.mark.parametrize("code", ["E50004", "E40001", "E40003", "E20001"])
def test_places_stay_inside(code: str) -> None:
    error = AscendError(code, *["x"] * CODES[code].template.count("%s"), where="/secret/model.om")
    said = sentence(public(error))
    assert "/secret" not in said
    assert said.startswith(code if code in STATUSES else "E50010")
