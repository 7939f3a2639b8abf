"""tools/torch_models: models that others wrote under torch.compile(backend="ascend")."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*given: str) -> str:
    command = [sys.executable, str(ROOT / "tools" / "torch_models"), *given]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr[-2000:]
    return made.stdout


def test_layers_that_torch_itself_has() -> None:
    assert run("layers", "--only", "encoder").endswith("1 models, 0 wrong\n")


@pytest.mark.slow
def test_layers_in_training() -> None:
    said = run("layers", "--train")
    assert said.count("; train ") == 2
    assert said.endswith("2 models, 0 wrong\n")


@pytest.mark.slow
@pytest.mark.parametrize("family", ["torchvision", "transformers"])
def test_models_of_others(family: str) -> None:
    if importlib.util.find_spec(family) is None:
        pytest.skip(f"{family} isn't installed")
    assert ", 0 wrong" in run(family)
