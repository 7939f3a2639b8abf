"""tools/run_acl_programs builds a program, makes its bundle, runs it, and compares what it computes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("PIL")
pytest.importorskip("onnxruntime")
ROOT = Path(__file__).parent.parent.parent

PAGE = """# A sample
```
atc --model=tiny.prototxt --weight=tiny.caffemodel --framework=0 --output=model/lenet \\
    --soc_version=Ascend310 --input_shape="data:2,3,8,8"
```
"""
BUILD = """cmake_minimum_required(VERSION 3.5)
project(sample)
include_directories($ENV{DDK_PATH}/runtime/include)
link_directories($ENV{NPU_HOST_LIB})
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "../../../out")
add_executable(main main.cpp)
target_link_libraries(main ascendcl)
"""
SOURCE = r"""#include <cstdio>
#include "acl/acl.h"
int main() {
    uint32_t id;
    float x[2 * 3 * 8 * 8], y[20];
    void *in, *out;
    for (int i = 0; i < 384; i++) x[i] = i % 7;
    aclInit(nullptr);
    aclrtSetDevice(0);
    if (aclmdlLoadFromFile("../model/lenet.om", &id)) return printf("[ERROR] load\n"), 1;
    aclrtMalloc(&in, sizeof x, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc(&out, sizeof y, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(in, sizeof x, x, sizeof x, ACL_MEMCPY_HOST_TO_DEVICE);
    aclmdlDataset *inputs = aclmdlCreateDataset(), *outputs = aclmdlCreateDataset();
    aclmdlAddDatasetBuffer(inputs, aclCreateDataBuffer(in, sizeof x));
    aclmdlAddDatasetBuffer(outputs, aclCreateDataBuffer(out, sizeof y));
    aclmdlExecute(id, inputs, outputs);
    aclrtMemcpy(y, sizeof y, out, sizeof y, ACL_MEMCPY_DEVICE_TO_HOST);
    float most = 0;
    for (float v : y) most = v > most ? v : most;
    printf("%f\n", WRONG * most);
    return aclFinalize();
}
"""


@pytest.mark.parametrize(
    ("factor", "printed", "given"),
    [("1", "yes", "samples"), ("2", "no", "samples"), ("1", "yes", "samples/sample")],
)
def test_a_program_is_compared(tmp_path: Path, factor: str, printed: str, given: str) -> None:
    sources = tmp_path / "samples" / "sample" / "src"
    sources.mkdir(parents=True)
    (sources.parent / "README.md").write_text(PAGE)
    (sources / "CMakeLists.txt").write_text(BUILD)
    (sources / "main.cpp").write_text(SOURCE.replace("WRONG", factor))
    path = os.pathsep.join([str(ROOT / "tools"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-P", "-m", "acl_programs", str(tmp_path / given)]
    done = subprocess.run(
        [*command, "--work", str(tmp_path / "work")],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    line, total = done.stdout.strip().splitlines()
    assert line.startswith("sample: built yes, ran yes (1 executions), agreed ")
    assert f"printed {printed}" in line
    assert total == f"C++: 1 programs, 1 built, 1 ran, 1 agreed, {int(printed == 'yes')} printed it"
