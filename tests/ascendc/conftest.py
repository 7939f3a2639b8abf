"""Programs that more than one file of tests launches."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_launch import COMPILER, Program, compile_program


@pytest.fixture(scope="session")
def high_level(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The functions of the high-level library, by number (high_level.cpp)."""
    if COMPILER is None:
        pytest.skip("no C++ compiler is installed")
    source = Path(__file__).with_name("high_level.cpp")
    return compile_program(source, tmp_path_factory.mktemp("high_level"))
