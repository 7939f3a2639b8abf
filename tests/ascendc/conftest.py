"""Programs that tests launch, several compiled together."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from kernel_launch import COMPILER, Program, compile_program

from ascend_ep.codegen.cache import locked

HERE = Path(__file__).parent
#: The file that includes a program's source, by the program's name.
TOGETHER = {
    name: together
    for together in HERE.glob("*_programs.cpp")
    for name in re.findall(r'#include "(\w+)\.cpp"', together.read_text())
}


@pytest.fixture(scope="session")
def launched(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Program]:
    """The program of a source, by its name: compiled once for all processes of a test run."""
    if COMPILER is None:
        pytest.skip("no C++ compiler is installed")
    shared = tmp_path_factory.getbasetemp()
    shared = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "launched"
    shared.mkdir(exist_ok=True)

    def program(name: str) -> Program:
        source = TOGETHER[name]
        with locked(shared / f"{source.stem}.lock"):
            if not (shared / source.stem).exists():
                compile_program(source, shared)
        return Program(shared / source.stem, name)

    return program


@pytest.fixture(scope="session")
def high_level(launched: Callable[[str], Program]) -> Program:
    """The functions of the high-level library, by number (high_level.cpp)."""
    return launched("high_level")
