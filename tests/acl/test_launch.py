"""aclrtLaunchKernel and its kin on a binary of kernels, which here is C for the sake of the test's time.

tests/ascendc_build/test_toolkit_project.py makes one of Ascend C.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ascend_ep.codegen.header_text import HEADERS

from .conftest import Runner

BINARY = """
#include "asc_kernel_binary.h"
typedef void (*teller)(void *, int32_t, const char *);
static void launch(uint32_t blocks, void *const *arguments, teller tell, void *to) {
    const float *x = arguments[0], factor = *(const float *)arguments[2];
    float *y = arguments[1];
    if (factor < 0) tell(to, 0, "scale.cpp:7: block 0: [ErrorRead3] x: out of range");
    if (factor >= 0)
        for (int32_t i = 0; i < *(const int32_t *)arguments[3]; i++) y[i] = factor * x[i] * (float)blocks;
}
static const uint32_t bytes[] = {0, 0, 4, 0}, aligns[] = {8, 8, 4, 8};
const asc_kernel_binary asc_kernel_binary_scale = {
    ASC_KERNEL_BINARY_VERSION, 4, "scale", bytes, aligns, launch};
"""
WANTED = """\
no such kernel: 100000
scale
structure: 2 4 6 8
too short: 100000
host arguments: 3 6 9 12
not final: 100000
list: 5 10 15 12
list again: 6 12 18 12
"""


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "scale.c").write_text(BINARY)
    made = folder / "scale.o"
    command = ["gcc", "-shared", "-fPIC", f"-I{HEADERS}", str(folder / "scale.c"), "-o", str(made)]
    subprocess.run(command, check=True)
    return made


@pytest.mark.parametrize("checking", ["0", "1"])
def test_every_way_of_a_launch(run: Runner, binary: Path, checking: str) -> None:
    made = run("launch.c", binary, ASCEND_EP_ACL_CHECK=checking)
    lines = made.out.splitlines()
    assert made.status == 0, made.out + made.err
    assert "\n".join(lines[:8]) + "\n" == WANTED
    assert "fault: 507015" in lines[8]
    assert "scale.cpp:7: block 0: [ErrorRead3] x: out of range" in lines[8]
    assert lines[-1] == "unloaded: 100000"


def test_what_is_no_binary_is_named(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "kernel.o").write_bytes(b"\x7fELF of a chip")
    made = run("launch.c", tmp_path / "kernel.o")
    assert "100003" in made.out
    assert "ascendc_fatbin_library" in made.out
