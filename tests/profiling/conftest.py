"""A small model, and a profile of a program that ran it."""

from __future__ import annotations

import sys
from pathlib import Path

import onnx
import pytest
from profiled import PROGRAM, RUNS, model

from ascend_ep.compiler.convert import convert
from ascend_ep.profiling.collect import run_command
from ascend_ep.profiling.profile import Profile, open_profile
from ascend_ep.runtime.tracing import ALL_COUNTERS


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's bundle; its ONNX file lies beside it."""
    folder = tmp_path_factory.mktemp("small")
    onnx.save(model(), folder / "small.onnx")
    (folder / "small.om").write_bytes(convert(model()).to_bytes())
    (folder / "program.py").write_text(PROGRAM)
    return folder / "small.om"


@pytest.fixture(scope="session")
def profile(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Profile:
    command = [sys.executable, str(small.with_name("program.py")), str(small), str(RUNS)]
    made = run_command(command, tmp_path_factory.mktemp("profiles"), ALL_COUNTERS)
    assert made.status == 0
    return open_profile(made.folder)
