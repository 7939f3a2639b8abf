"""The documents' kernels, their CMake files and build.sh, as they are printed, in a toolkit's folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ascend_ep.cli.op import main

from .test_torch_npu import torch_npu  # noqa: F401

PRINTED = Path(__file__).parent / "programs" / "printed"
GELU = PRINTED / "torch" / "gelu_custom.cpp"
FORMULA = "0.5*x*(1 + tanh(0.7978845608*(x + 0.044715*x*x*x)))"
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler is installed")

#: What the documents leave out.
LEFT_OUT = {
    "setup.py.in": "from setuptools import setup\n\nsetup(name='@PROJECT_NAME@', version='1.0')\n",
    "csrc/host/tiling/gelu_custom_tiling.cpp": "unsigned gelu_custom_blocks() { return 1; }\n",
    "csrc/host/gelu_custom_host.cpp": """#include "aclrtlaunch_gelu_custom.h"
unsigned gelu_custom_blocks();
extern "C" unsigned gelu_custom_launch(void *stream, void *x, void *y, unsigned total) {
    return ACLRT_LAUNCH_KERNEL(gelu_custom)(gelu_custom_blocks(), stream, x, y, total);
}
""",
}
LINEAR = """cmake_minimum_required(VERSION 3.18)
project(fusion_linear_add_gelu)
set(CMAKE_CXX_STANDARD 17)
include_directories(include)
add_executable(test_fusion_op test/main.cpp host/linear_add_gelu_host.cpp kernel/linear_add_gelu_kernel.cpp)
"""
#: A kernel's file, one that launches it, and one of C.
SMALL = {
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.18)\nproject(small)\nset(CMAKE_CXX_STANDARD 17)\n"
    "add_executable(small main.cpp kernel.cpp number.c)\n",
    "number.c": "int new(void) { return 7; }\n",
    "kernel.cpp": """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void fill(GM_ADDR y, int32_t value) {
    AscendC::GlobalTensor<int32_t> to;
    to.SetGlobalBuffer((__gm__ int32_t *)y, 1);
    to.SetValue(0, value);
}
""",
    "main.cpp": """#include <cstdio>
#include "acl/acl.h"
#include "kernel_operator.h"
extern "C" int number() __asm__("new");
extern "C" __global__ __aicore__ void fill(GM_ADDR y, int32_t value);
int main() {
    void *y;
    int out = 0;
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtMalloc(&y, 32, ACL_MEM_MALLOC_HUGE_FIRST);
    fill<<<1, nullptr, nullptr>>>((uint8_t *)y, number());
    aclrtMemcpy(&out, 4, y, 4, ACL_MEMCPY_DEVICE_TO_HOST);
    std::printf("%d\\n", out);
}
""",
}


def in_toolkit(toolkit: Path, folder: Path, script: str, **environment: str) -> str:
    """What a script prints that has the toolkit's environment."""
    done = subprocess.run(
        ["bash", "-ec", f"source {toolkit}/set_env.sh\n{script}"],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("total", [4096, 4000])
def test_the_printed_gelu_computes_its_formula_and_leaves_a_tail(
    total: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its tanh is 1 from 3 on, where the formula's is 0.995: inputs are below that."""
    values = np.random.default_rng(0).uniform(-2, 2, total).astype(np.float16)
    np.save(tmp_path / "x.npy", values)
    given = ["run", str(GELU), "--input", str(tmp_path / "x.npy"), "--arg", f"totalLength={total}"]
    status = main([*given, "--formula", FORMULA])
    said = capsys.readouterr().out
    lines = GELU.read_text().splitlines()
    for word, instead in (("set_global_buffer", "SetGlobalBuffer"), ("deque", "DeQue")):
        line = next(n for n, text in enumerate(lines, 1) if f"{word}(" in text or f"{word}<" in text)
        assert f"gelu_custom.cpp:{line}: the device's compiler doesn't know {word}; write {instead}" in said
    assert "the device's compiler refuses 0.7978845608h; write half(0.7978845608)" in said
    copies = next(n for n, text in enumerate(lines, 1) if "DataCopy(yGm_" in text)
    fault = f"gelu_custom.cpp:{copies}: [ErrorWrite5] tensor y, which this line writes: byte 7680 was never"
    assert (status, fault in said) == ((0, False) if total % 256 == 0 else (1, True))


def test_the_compilers_that_build_scripts_name(toolkit: Path, tmp_path: Path) -> None:
    """aclc takes C, aclc++ kernels and what launches them; CMake hands both on in $CC and $CXX."""
    for name, text in SMALL.items():
        (tmp_path / name).write_text(text)
    compilers = {"CC": f"{toolkit}/bin/aclc", "CXX": f"{toolkit}/bin/aclc++"}
    script = "cmake -S . -B build && cmake --build build && ./build/small"
    assert in_toolkit(toolkit, tmp_path, script, **compilers).splitlines()[-1] == "7"


@pytest.mark.slow
def test_linear_add_gelu_by_its_build_script(toolkit: Path, tmp_path: Path) -> None:
    """In the toolkit's own folder in the place of /usr/local/Ascend."""
    for place, files in (
        ("include", PRINTED.glob("*.h")),
        ("kernel", PRINTED.glob("*_kernel.cpp")),
        ("host", PRINTED.glob("*_host.cpp")),
        ("test", [PRINTED / "main.cpp"]),
    ):
        (tmp_path / place).mkdir()
        for file in files:
            shutil.copy(file, tmp_path / place)
    (tmp_path / "CMakeLists.txt").write_text(LINEAR)
    script = (PRINTED / "build.sh").read_text()
    assert "/usr/local/Ascend/ascend-toolkit/latest" in script
    (tmp_path / "build.sh").write_text(
        script.replace("/usr/local/Ascend/ascend-toolkit/latest", str(toolkit))
    )
    out = in_toolkit(toolkit, tmp_path, "bash build.sh && ./build/test_fusion_op")
    assert 0 < float(out.splitlines()[-1]) < 1e-3


@pytest.mark.slow
def test_the_gelu_extension_by_its_cmake_file(
    toolkit: Path,
    torch_npu: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    for name, text in LEFT_OUT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name, place in (
        ("gelu_custom.cpp", "csrc/kernel"),
        ("gelu_extension.cpp", "csrc/torch_ext"),
        ("CMakeLists.txt", "."),
    ):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(PRINTED / "torch" / name, tmp_path / place)
    script = "cmake -S . -B build && cmake --build build"
    in_toolkit(toolkit, tmp_path, script, PYTHONPATH=str(torch_npu))
    symbols = ["nm", "-DC", str(tmp_path / "build/libgelu_extension.so")]
    made = subprocess.run(symbols, capture_output=True, text=True, check=True).stdout
    assert "PyInit_gelu_extension" in made
    assert "op_api::gelu_custom(at::Tensor const&)" in made
