"""Projects through their own CMake, in the folder of `ascend-ep toolkit`."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from scaled_add_project import PROJECT

import ascend_ep
from ascend_ep.cli import bisheng
from ascend_ep.cli.bisheng import read_line
from ascend_ep.cli.toolkit import make
from ascend_ep.errors import AscendError

#: The steps of an op_host as projects have them: C++11, op_build, three libraries.
OP_HOST = """cmake_minimum_required(VERSION 3.16)
project(opp CXX)
set(CANN $ENV{ASCEND_HOME_PATH})
set(autogen ${CMAKE_BINARY_DIR}/autogen)
file(MAKE_DIRECTORY ${autogen})
aux_source_directory(${CMAKE_SOURCE_DIR}/op_host sources)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -g -fPIC -shared -std=c++11 -Wall -Werror ${sources}
  -D_GLIBCXX_USE_CXX11_ABI=0 -I ${CANN}/include -L ${CANN}/lib64 -lexe_graph -lregister -ltiling_api
  -o ${autogen}/libascend_all_ops.so COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CANN}/toolkit/tools/opbuild/op_build ${autogen}/libascend_all_ops.so ${autogen}
  COMMAND_ERROR_IS_FATAL ANY)
set(CMAKE_CXX_STANDARD 11)
include_directories(${CANN}/include)
link_directories(${CANN}/lib64)
file(GLOB api ${autogen}/aclnn_*.cpp)
add_library(cust_opapi SHARED ${api})
target_link_libraries(cust_opapi ascendcl nnopbase)
add_library(cust_optiling SHARED ${sources})
target_link_libraries(cust_optiling exe_graph register tiling_api
  -Wl,--whole-archive rt2_registry -Wl,--no-whole-archive)
add_library(cust_op_proto SHARED ${sources} ${autogen}/op_proto.cc)
"""
KERNELS = """cmake_minimum_required(VERSION 3.16)
project(launch CXX)
find_package(CANN REQUIRED)
ascendc_library(kernels STATIC twice.cpp)
ascendc_compile_options(kernels PRIVATE -mllvm -cce-aicore-addr-transform -O1)
add_executable(main main.cpp)
target_link_libraries(main PRIVATE kernels ${CANN_LIBRARIES})
ascendc_fatbin_library(binary twice.cpp)
add_executable(loads loads.cpp)
target_include_directories(loads PRIVATE ${CANN_INCLUDE_DIRS})
target_link_libraries(loads PRIVATE ${CANN_LIBRARIES})
find_package(tikicpulib REQUIRED)
add_executable(cpu cpu.cpp twice.cpp)
target_link_libraries(cpu PRIVATE tikicpulib::ascend910b1)
"""
TWICE = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR y) {
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> in;
    TQue<QuePosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, 256);
    pipe.InitBuffer(out, 1, 256);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x + 64 * GetBlockIdx(), 64);
    to.SetGlobalBuffer((__gm__ float *)y + 64 * GetBlockIdx(), 64);
    LocalTensor<float> a = in.AllocTensor<float>(), b = out.AllocTensor<float>();
    DataCopy(a, from, 64);
    in.EnQue(a);
    a = in.DeQue<float>();
    Adds(b, a, a.GetValue(0), 64);
    out.EnQue(b);
    in.FreeTensor(a);
    b = out.DeQue<float>();
    DataCopy(to, b, 64);
    out.FreeTensor(b);
}
"""
MAIN = """#include <cstdio>
#include "acl/acl.h"
#include "aclrtlaunch_twice.h"
int main() {
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream;
    aclrtCreateStream(&stream);
    float x[128], *dx, *dy;
    for (int i = 0; i < 128; i++) x[i] = i;
    aclrtMalloc((void **)&dx, 512, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void **)&dy, 512, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpyAsync(dx, 512, x, 512, ACL_MEMCPY_HOST_TO_DEVICE, stream);
    ACLRT_LAUNCH_KERNEL(twice)(2, stream, dx, dy);
    aclrtSynchronizeStream(stream);
    aclrtMemcpy(x, 512, dy, 512, ACL_MEMCPY_DEVICE_TO_HOST);
    std::printf("%g %g\\n", x[63], x[127]);
}
"""
LOADS = """#include <cstdio>
#include "acl/acl.h"
int main() {
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream;
    aclrtCreateStream(&stream);
    float x[128];
    struct { float *x, *y; } device;
    for (int i = 0; i < 128; i++) x[i] = i;
    aclrtMalloc((void **)&device.x, 512, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void **)&device.y, 512, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(device.x, 512, x, 512, ACL_MEMCPY_HOST_TO_DEVICE);
    aclrtBinHandle binary;
    aclrtFuncHandle kernel;
    if (aclrtBinaryLoadFromFile("./out/fatbin/binary/binary.o", nullptr, &binary) != ACL_SUCCESS ||
        aclrtBinaryGetFunction(binary, "twice", &kernel) != ACL_SUCCESS ||
        aclrtLaunchKernel(kernel, 2, &device, sizeof device, stream) != ACL_SUCCESS ||
        aclrtSynchronizeStream(stream) != ACL_SUCCESS)
        return std::puts(aclGetRecentErrMsg()), 1;
    aclrtMemcpy(x, 512, device.y, 512, ACL_MEMCPY_DEVICE_TO_HOST);
    std::printf("%g %g\\n", x[63], x[127]);
    aclrtBinaryUnLoad(binary);
    return aclFinalize();
}
"""
CPU = """#include <cstdio>
#include "tikicpulib.h"
extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR y);
int main() {
    float *x = (float *)AscendC::GmAlloc(512), *y = (float *)AscendC::GmAlloc(512);
    for (int i = 0; i < 128; i++) x[i] = i;
    ICPU_RUN_KF(twice, 2, (uint8_t *)x, (uint8_t *)y);
    std::printf("%g %g\\n", y[63], y[127]);
    AscendC::GmFree(x);
    AscendC::GmFree(y);
}
"""


def in_toolkit(folder: Path, toolkit: Path, script: str) -> str:
    done = subprocess.run(
        ["sh", "-c", f". '{make(toolkit)}/set_env.sh' && {script}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_an_op_host_becomes_libraries_and_headers(tmp_path: Path) -> None:
    project = tmp_path / "ScaledAdd"
    shutil.copytree(PROJECT, project)
    (project / "CMakeLists.txt").write_text(OP_HOST)
    out = in_toolkit(project, tmp_path / "cann", "cmake -S . -B build_out && cmake --build build_out")
    assert "op_build: host: ScaledAdd of scaled_add.cpp, for ascend910b, ascend310p" in out
    autogen = project / "build_out" / "autogen"
    section = (autogen / "aic-ascend910b-ops-info.ini").read_text()
    assert section.startswith("[ScaledAdd]\ninput0.name=x\ninput0.dtype=float16,float\n")
    assert (autogen / "aic-ascend310p-ops-info.ini").read_text() == section
    assert "aclnnScaledAddGetWorkspaceSize" in (autogen / "aclnn_scaled_add.h").read_text()
    assert (project / "build_out" / "libcust_opapi.so").stat().st_size > 100_000


@pytest.mark.slow
def test_the_pages_commands_end_in_a_served_operator(tmp_path: Path) -> None:
    """The block of docs/ascend-c.md, letter for letter."""
    page = (Path(__file__).parents[2] / "docs" / "ascend-c.md").read_text()
    (script,) = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    tensor = {"param_type": "required", "format": ["ND"], "type": ["float16"]}
    prototype = {"op": "GELUCustom", "language": "cpp"}
    prototype |= {"input_desc": [{"name": "x", **tensor}], "output_desc": [{"name": "y", **tensor}]}
    (tmp_path / "gelu_custom.json").write_text(json.dumps([prototype]))
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT16, ["n", 32]) for n in "xy")
    graph = helper.make_graph([helper.make_node("GELUCustom", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "model.onnx")
    done = subprocess.run(
        ["bash", "-ec", script], cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "GELUCustom: defined by installed packages" in done.stdout + done.stderr
    values = np.linspace(-4, 4, 96, dtype=np.float16).reshape(3, 32)
    wanted = values * (0.5 + 0.5 * np.vectorize(math.erf)(values / math.sqrt(2)))
    onnxruntime = pytest.importorskip("onnxruntime")
    for session in (
        ascend_ep.InferenceSession(str(tmp_path / "model.om")),
        onnxruntime.InferenceSession(str(tmp_path / "model_ctx.onnx"), providers=["AscendEP"]),
    ):
        np.testing.assert_allclose(session.run(None, {"x": values})[0], wanted, rtol=2e-3, atol=2e-3)


@pytest.mark.slow
def test_kernels_are_launched_by_programs(tmp_path: Path) -> None:
    for name, text in (
        ("CMakeLists.txt", KERNELS), ("twice.cpp", TWICE), ("main.cpp", MAIN), ("cpu.cpp", CPU),
        ("loads.cpp", LOADS),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    script = "cmake -S . -B build -DCMAKE_INSTALL_PREFIX=$PWD/out && cmake --build build"
    script += " && ./build/main && ./build/loads && ./build/cpu"
    out = in_toolkit(tmp_path, tmp_path / "cann", script)
    assert "kernels: without effect on this CPU: -mllvm;-cce-aicore-addr-transform" in out
    assert out.splitlines()[-3:] == ["63 191"] * 3


@pytest.mark.parametrize("launcher", ["", "-DCMAKE_CXX_COMPILER_LAUNCHER='env;A=b'"])
def test_a_library_of_kernels_compiles(tmp_path: Path, launcher: str) -> None:
    """By our launcher, before that of the user's where there is one."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(one CXX)\nfind_package(CANN REQUIRED)\n"
        "ascendc_library(kernels STATIC one.cpp)\n"
    )
    (tmp_path / "one.cpp").write_text("int one() { return 1; }\n")
    out = in_toolkit(tmp_path, tmp_path / "cann", f"cmake -S . -B b {launcher} && cmake --build b -v")
    (line,) = (line for line in out.splitlines() if " -c " in line and "asc_compile" in line)
    assert ("asc_compile env A=b" in line) == bool(launcher)


LANGUAGE = """cmake_minimum_required(VERSION 3.16)
find_package(ASC REQUIRED)
project(launches LANGUAGES ASC CXX)
set_source_files_properties(twice.cpp PROPERTIES LANGUAGE ASC)
add_library(kernels STATIC twice.cpp)
target_compile_options(kernels PRIVATE $<$<COMPILE_LANGUAGE:ASC>:--npu-arch=dav-2201>)
add_executable(main main.asc)
target_link_libraries(main PRIVATE kernels tiling_api register platform unified_dlog m dl)
target_compile_options(main PRIVATE $<$<COMPILE_LANGUAGE:ASC>:--npu-arch=dav-2201>)
"""
#: A kernel of its own, which it launches, and a function of the library's, which launches another.
LANGUAGE_MAIN = """#include <cstdio>
#include "acl/acl.h"
#include "kernel_operator.h"
#include "number.h"
void launch_twice(uint32_t blocks, aclrtStream stream, uint8_t *x, uint8_t *y);
__global__ __aicore__ void number(GM_ADDR y) {
    AscendC::GlobalTensor<float> to;
    to.SetGlobalBuffer((__gm__ float *)y, 1);
    to.SetValue(0, NUMBER);
}
int main() {
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream;
    aclrtCreateStream(&stream);
    float x[128], y[128], n;
    for (int i = 0; i < 128; i++) x[i] = float(i);
    void *from, *to;
    aclrtMalloc(&from, 512, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc(&to, 512, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(from, 512, x, 512, ACL_MEMCPY_HOST_TO_DEVICE);
    launch_twice(2, stream, (uint8_t *)from, (uint8_t *)to);
    aclrtSynchronizeStream(stream);
    aclrtMemcpy(y, 512, to, 512, ACL_MEMCPY_DEVICE_TO_HOST);
    number<<<1, nullptr, stream>>>((uint8_t *)to);
    aclrtSynchronizeStream(stream);
    aclrtMemcpy(&n, 4, to, 4, ACL_MEMCPY_DEVICE_TO_HOST);
    std::printf("%g %g %g\\n", y[63], y[127], n);
    return 0;
}
"""


@pytest.mark.slow
def test_sources_of_cmakes_language_asc_are_compiled_again_when_a_header_changes(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(LANGUAGE)
    launch = "void launch_twice(uint32_t blocks, void *stream, uint8_t *x, uint8_t *y) {\n"
    launch += "    twice<<<blocks, nullptr, stream>>>(x, y);\n}\n"
    (tmp_path / "twice.cpp").write_text(TWICE + launch)
    (tmp_path / "main.asc").write_text(LANGUAGE_MAIN)
    (tmp_path / "number.h").write_text("constexpr float NUMBER = 3.0f;\n")
    script = "cmake -S . -B build && cmake --build build && ./build/main"
    assert in_toolkit(tmp_path, tmp_path / "cann", script).splitlines()[-1] == "63 191 3"
    (tmp_path / "number.h").write_text("constexpr float NUMBER = 4.0f;\n")
    out = in_toolkit(tmp_path, tmp_path / "cann", "cmake --build build && ./build/main")
    assert out.splitlines()[-1] == "63 191 4"
    assert "twice.cpp.o" not in out


def test_the_device_compilers_command_line_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.asc").touch()
    words = f"--npu-arch=dav-2002 -mllvm -x1 --enable-simt -O2 -Iinc {tmp_path}/a.asc b.o -lm -o demo".split()
    line = read_line(words)
    assert (line.chip, line.kernels, line.others) == ("Ascend310P3", (tmp_path / "a.asc",), ("b.o", "-lm"))
    assert (line.target, line.compiles_only, line.flags) == ("demo", False, ("-O2", "-Iinc"))
    assert line.left == ("-mllvm", "-x1", "--enable-simt")
    assert read_line(["-xasc", "-c", "k.cpp"]).kernels == (Path("k.cpp").resolve(),)
    assert read_line(["-c", "k.cpp"]).others == ("k.cpp",)
    with pytest.raises(AscendError, match="dav-2201"):
        read_line(["--npu-arch=dav-9", "a.asc"])


def test_a_source_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert bisheng.main(["-c", "missing.asc"]) != 0
    assert "E10410" in capsys.readouterr().err


def test_the_text_of_a_source_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Compiler caches take two sources that print the same for one."""
    (tmp_path / "a.asc").write_text("constexpr int a_number = 7;\n")
    assert bisheng.main(["-E", str(tmp_path / "a.asc")]) == 0
    assert "constexpr int a_number = 7;" in capfd.readouterr().out
