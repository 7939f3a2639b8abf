"""The page on architecture lists the passes that there are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_ep.compiler.pipeline import PIPELINE

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_passes_of_the_pipeline() -> None:
    command = [sys.executable, str(ROOT / "tools" / "pass_table"), "--check"]
    path = os.pathsep.join(filter(None, [str(ROOT / "tools"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("stage", PIPELINE, ids=lambda s: s.title)
def test_every_row_says_what_its_pass_leaves(stage: object) -> None:
    for each in stage.passes:  # type: ignore[attr-defined]
        assert each.name
        assert each.leaves
        assert "|" not in each.needs + each.leaves + each.switch
