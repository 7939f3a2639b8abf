"""Kernels as functions of a program, and what else build files call in a toolkit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_ep.cli import launchers_tool, op_build_tool, opc

KERNEL = """\
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void twice(GM_ADDR x, __gm__ float *y, uint32_t n) {}
template <typename T> __global__ __aicore__ void any(GM_ADDR x) {}
void launch(uint32_t b, void *s, uint8_t *x) { twice<<<b, nullptr, s>>>(x, nullptr, 3); }
"""


def test_a_kernel_gets_a_header_and_a_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "twice.cpp").write_text(KERNEL)
    assert launchers_tool.main([str(tmp_path / "made"), str(tmp_path / "twice.cpp")]) == 0
    made = Path(capsys.readouterr().out.strip())
    declared = "uint32_t aclrtlaunch_twice(uint32_t asc_blocks, aclrtStream asc_stream, void *x, void *y, "
    declared += "uint32_t n)"
    assert declared in (tmp_path / "made/aclrtlaunch_twice.h").read_text()
    assert not (tmp_path / "made/aclrtlaunch_any.h").exists()
    text = made.read_text()
    assert declared in text
    assert "<<<" not in text
    before = made.stat().st_mtime_ns
    assert launchers_tool.main([str(tmp_path / "made"), str(tmp_path / "twice.cpp")]) == 0
    assert made.stat().st_mtime_ns == before


def test_a_binary_is_the_operator_that_was_built(tmp_path: Path) -> None:
    library = tmp_path / "autogen" / "asc_operators" / "scaled_add.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"code")
    entry = {"bin_filename": "ScaledAdd_1", "inputs": [{"name": "x", "dtype": "float16"}]}
    (tmp_path / "p.json").write_text(json.dumps({"op_type": "ScaledAdd", "op_list": [entry]}))
    folder = tmp_path / "op_kernel" / "bin"
    words = ["scaled_add.py", "--main_func=scaled_add", f"--input_param={tmp_path / 'p.json'}"]
    words += ["--soc_version=Ascend910B1", f"--output={folder}", "--op_mode=dynamic"]
    assert opc.main(words) == 0
    described = json.loads((folder / "ScaledAdd_1.json").read_text())
    assert (folder / "ScaledAdd_1.o").read_bytes() == b"code"
    assert described["supportInfo"]["simplifiedKey"][0] == "ScaledAdd/d=0,p=0/1,2"


def test_a_binary_needs_op_build_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"bin_filename": "Gone_1"}
    (tmp_path / "p.json").write_text(json.dumps({"op_type": "Gone", "op_list": [entry]}))
    words = [
        "gone.py",
        "--main_func=gone",
        f"--input_param={tmp_path / 'p.json'}",
        "--soc_version=Ascend910B1",
    ]
    assert opc.main([*words, f"--output={tmp_path}"]) == 1
    assert "Build op_host first" in capsys.readouterr().err


def test_a_library_that_registers_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.so").write_bytes(b"no library")
    assert op_build_tool.main([str(tmp_path / "x.so"), str(tmp_path)]) == 1
    assert "E43205" in capsys.readouterr().err
