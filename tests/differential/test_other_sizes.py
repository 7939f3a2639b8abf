"""ONNX's cases with free dims and other sizes, beside onnxruntime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.mark.slow
def test_a_minute_of_it() -> None:
    command = [sys.executable, str(TOOLS / "fuzz_shapes"), "--seconds", "60"]
    done = subprocess.run([*command, "--seed", "0"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert int(done.stdout.split()[2]) > 20
