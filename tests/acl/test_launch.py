"""aclrtLaunchKernel and its kin on a binary of kernels, which here is C for the sake of the test's time.

tests/ascendc_build/test_toolkit_project.py makes one of Ascend C.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_ep.codegen.header_text import HEADERS

from .conftest import Runner

BINARY = """
#include "ascendc/host/asc_kernel_binary.h"
typedef void (*teller)(void *, int32_t, const char *);
__attribute__((weak)) void asc_launch_work(uint64_t cores, const uint64_t *all, const uint64_t *most);
static void launch(uint32_t blocks, void *const *arguments, teller tell, void *to) {
    const float *x = arguments[0], factor = *(const float *)arguments[2];
    float *y = arguments[1];
    if (factor < 0) tell(to, 0, "scale.cpp:7: block 0: [ErrorRead3] x: out of range");
    if (factor >= 0)
        for (int32_t i = 0; i < *(const int32_t *)arguments[3]; i++) y[i] = factor * x[i] * (float)blocks;
    if (!asc_launch_work) return;
    asc_launch_work(2, (const uint64_t[]){1, 8, 0, 64, 32}, (const uint64_t[]){1, 4, 0, 32, 16});
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
PYTHON = """
import ctypes, struct, sys
import acl, numpy as np
acl.init(), acl.rt.set_device(0)
stream, ret = acl.rt.create_stream()
def device(array):
    pointer, ret = acl.rt.malloc(array.nbytes, 0)
    acl.rt.memcpy(pointer, array.nbytes, acl.util.numpy_to_ptr(array), array.nbytes, 1)
    return pointer
x, y = device(np.float32([1, 2, 3, 4])), device(np.zeros(4, np.float32))
size = struct.calcsize("@PPfP")
data = ctypes.create_string_buffer(struct.pack("@PPfP", x, y, 2.0, device(np.int32([4]))), size)
binary, ret = acl.rt.binary_load_from_file(sys.argv[1], None)
kernel, ret = acl.rt.binary_get_function(binary, "scale")
ret = acl.rt.launch_kernel(kernel, 1, ctypes.addressof(data), size, stream)
out = np.zeros(4, np.float32)
print(ret, acl.rt.synchronize_stream(stream), acl.rt.memcpy(acl.util.numpy_to_ptr(out), 16, y, 16, 2), out)
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


def test_python_launches_one(binary: Path) -> None:
    path = str(HEADERS.parent / "cann" / "python")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([path, *sys.path])}
    made = subprocess.run(
        [sys.executable, "-c", PYTHON, str(binary)], env=env, capture_output=True, text=True, check=False
    )
    assert made.stdout.strip() == "0 0 0 [2. 4. 6. 8.]", made.stderr
