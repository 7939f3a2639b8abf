"""Strides, repeats, masks and forms of instructions at random, many in one process (fuzz_parameters.cpp)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from kernel_launch import COMPILER, compile_program

SOURCE = Path(__file__).with_name("fuzz_parameters.cpp")


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")
def test_instructions_do_what_plain_loops_do(tmp_path: Path) -> None:
    program = compile_program(SOURCE, tmp_path)
    done = subprocess.run(
        [program.path, "100000", "1"], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stdout.splitlines()[-1] == "100000 cases, 0 differ", done.stdout[-3000:]
    assert done.returncode == 0
