"""ascend-dbg: an Ascend C kernel in gdb."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_ep.cli.op import main

KERNEL = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void doubled(GM_ADDR x, GM_ADDR y, uint32_t total) {
    uint32_t share = total / AscendC::GetBlockNum();
    for (uint32_t i = share * AscendC::GetBlockIdx(); i < share * (AscendC::GetBlockIdx() + 1); i++)
        ((__gm__ float *)y)[i] = 2 * ((__gm__ float *)x)[i];
}
"""
CALL = ["--input_shape", "[16]", "--block_dim=4", "--arg=total=16"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "op_kernel").mkdir()
    (tmp_path / "op_kernel" / "doubled.cpp").write_text(KERNEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_refusals(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["debug", "--kernel=tripled", *CALL]) == 1
    assert "E43202" in capsys.readouterr().err
    assert main(["debug", *CALL]) == 1
    assert "neither --kernel nor a file" in capsys.readouterr().err
    (folder / "again.cpp").write_text(KERNEL)
    assert main(["debug", "--kernel=doubled", *CALL]) == 1
    assert "again.cpp" in capsys.readouterr().err
    (folder / "again.cpp").unlink()
    monkeypatch.setenv("PATH", str(folder))
    assert main(["debug", "--kernel=doubled", *CALL]) == 1
    assert "Install gdb" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb")
def test_a_breakpoint_in_a_block(folder: Path) -> None:
    asked = [f"--ex={command}" for command in ("print total", "next", "next", "print share", "print i")]
    command = [sys.executable, "-m", "ascend_ep.cli.op", "debug", "--kernel=doubled", *CALL]
    ran = subprocess.run(
        [*command, "--block=3", "--batch", *asked],
        capture_output=True,
        text=True,
        env=os.environ,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "doubled.cpp:3" in ran.stdout
    for line in ("$1 = 16", "$2 = 4", "$3 = 12"):
        assert line in ran.stdout
