"""Host code as pages print it: what CANN's headers lack is taken, with a warning that names what they
have."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ascend_ep.cli.op import main
from ascend_ep.codegen.header_text import HEADERS

PRINTED = Path(__file__).parent / "programs" / "printed"
FILES = ("main.cpp", "linear_add_gelu_host.cpp", "linear_add_gelu_kernel.cpp")
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler is installed")


def test_a_printed_launch_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *(str(PRINTED / name) for name in FILES)]) == 0
    said = capsys.readouterr().out
    (apart,) = re.findall(r"^([\d.e-]+)$", said, flags=re.MULTILINE)
    assert 0 < float(apart) < 1e-6
    for name, instead in (
        ("aclrtKernelLaunch", "kernel<<<blocks, l2, stream>>>(...), or aclrtLaunchKernel of a loaded binary"),
        ("ACL_MEM_TYPE_DEVICE", "ACL_MEM_MALLOC_HUGE_FIRST"),
        ("aclrtMemcpyD2H", "aclrtMemcpy(dst, bytes, src, bytes, ACL_MEMCPY_DEVICE_TO_HOST)"),
    ):
        file = next(
            f for f in FILES if f"{name}(" in (text := (PRINTED / f).read_text()) or f"{name})" in text
        )
        line = next(n for n, text in enumerate((PRINTED / file).read_text().splitlines(), 1) if name in text)
        assert f"{file}:{line}: CANN has no such {name}; write {instead}\n" in said


USES = """\
#include "acl/acl.h"
template <typename F> void use(F) {}
struct Pool {
    aclError aclrtMalloc(void **at, size_t n, aclrtMemMallocPolicy how) { return ::aclrtMalloc(at, n, how); }
};
void *sound() {
    void *at = nullptr;
    decltype(aclrtMalloc) *function = &aclrtMalloc;
    use(aclrtMalloc);
    Pool().aclrtMalloc(&at, sizeof(int[2]), ACL_MEM_MALLOC_HUGE_FIRST);
    return function(&at, 4, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS ? at : nullptr;
}
"""
MISTAKE = "void *printed() { return aclrtMalloc(100, ACL_MEM_MALLOC_HUGE_FIRST); }\n"


def compiled(text: str, *flags: str) -> str:
    command = ["g++", "-fsyntax-only", "-Wall", "-Wextra", f"-I{HEADERS}", *flags, "-xc++", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stderr


def test_sound_uses_of_the_same_names_are_as_they_were() -> None:
    assert compiled(USES, "-std=c++11") == ""
    assert "write aclrtMalloc(&address, size, policy)" in compiled(USES + MISTAKE, "-std=c++17")
