"""Hostile models end in a coded error, in under two seconds and 500 MB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_models import MODELS

Outcome = tuple[str, str, float, float]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """One process converts them all, so that one that kills it is seen."""
    here = Path(__file__).parent
    folder = tmp_path_factory.mktemp("models")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])}
    command = [sys.executable, str(here / "try_models.py"), str(folder)]
    run = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False, timeout=300, cwd=folder
    )
    assert run.returncode == 0, run.stderr[-3000:]
    found: dict[str, Outcome] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", MODELS)
def test_a_hostile_model_ends_in_a_code(name: str, outcomes: dict[str, Outcome]) -> None:
    code, text, seconds, megabytes = outcomes[name]
    assert code in MODELS[name][0], text
    assert seconds < 2
    assert megabytes < 500
