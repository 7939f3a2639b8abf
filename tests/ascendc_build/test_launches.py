"""Launches by <<<...>>> and programs with a main function of their own."""

from __future__ import annotations

import pytest
from test_project import TWICE

from ascend_ep.cann.soc import find_soc
from ascend_ep.opbuild.kernels.launches import has_launches, rewritten, without_launchers
from ascend_ep.opbuild.kernels.sources import Sources
from ascend_ep.opbuild.kernels.units import source_program_units
from ascend_ep.profiling.trace_file import read_trace

CALL = "::asc_host::launcher(%s)([&](auto &&...asc_argument) { %s(asc_argument...); }, ASC_NAME_OF(%s))"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("add<<<8, nullptr, s>>>(x, y);", CALL % ("8, nullptr, s", "add", "add") + "(x, y);"),
        (
            " k::f<half, 2> <<<f(a, b), 0, s >>> (x);",
            " " + CALL % ("f(a, b), 0, s ", "k::f<half, 2> ", "k::f<half, 2>") + " (x);",
        ),
        (
            "run_##op## _k\\\n <<<8, 0, s>>>(x);",
            CALL % ("8, 0, s", "run_##op## _k\\\n ", "run_##op## _k") + "(x);",
        ),
        (
            "NAME(T, f(I))<<<8, 0, s>>>(x);",
            CALL % ("8, 0, s", "NAME(T, f(I))", "NAME(T, f(I))") + "(x);",
        ),
    ],
)
def test_a_launch_becomes_a_call(text, wanted):
    assert has_launches(text)
    assert rewritten(text) == wanted


@pytest.mark.parametrize("text", ["a << b << c", "// f<<<1, 2, 3>>>(x)", 'print("<<<")', "x <<< y"])
def test_what_is_no_launch_stays(text):
    assert not has_launches(text)
    assert rewritten(text) == text


LAUNCHERS = """
namespace a { class K { void run() { work(); } }; }
extern "C" __global__ __aicore__ void k(GM_ADDR x) { a::K().run(); }
#ifndef A
void k_do(uint32_t n, void *stream, uint8_t *x) {
    if (n) { k<<<n, nullptr, stream>>>(undeclared); }
    aclrtSynchronizeStream(stream);
}
#endif
namespace b {
template <typename T> void launch(T *x) const { k<<<1, nullptr, nullptr>>>(x); }
int after() { return 1; }
}
"""


def test_functions_that_launch_have_no_bodies_beside_a_kernel():
    left = without_launchers(LAUNCHERS)
    assert "<<<" not in left
    assert "aclrt" not in left
    assert "a::K().run(); }" in left
    assert "int after() { return 1; }" in left
    assert left.count("\n") == LAUNCHERS.count("\n")


OF_MACROS = """
#define KERNEL(name, type)                                               \\
    extern "C" __global__ __aicore__ void name##_k(GM_ADDR x) {          \\
        run<type>(x);                                                    \\
    }                                                                    \\
    extern "C" void name##_do(uint32_t n, void *stream, uint8_t *x)      \\
    {                                                                    \\
        name##_k<<<n, nullptr, stream>>>(                                \\
            undeclared);                                                 \\
    }
KERNEL(add, half)
"""


def test_functions_that_launch_in_macros_have_no_bodies_either():
    left = without_launchers(OF_MACROS)
    assert "undeclared" not in left
    assert "run<type>(x); " in left
    lines = left.splitlines()
    assert lines[-1] == "KERNEL(add, half)"
    assert all(line.endswith("\\") for line in lines[1:-2])
    assert len(lines) == len(OF_MACROS.splitlines())


LAUNCHING = """
#include <cstdio>
#include "aclrtlaunch_scaled.h"
#include "acl/acl.h"
#include "scale.h"
int main() {
    if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
    float x[64], y[64];
    Scale scale{3.0f, 64};
    for (float &v : x) v = 2.0f;
    if (ACLRT_LAUNCH_KERNEL(scaled)(1, nullptr, x, y, &scale) != 0) return 2;
    std::printf("%g %g\\n", y[0], y[63]);
    return 0;
}
"""
SCALED = """
#include "kernel_operator.h"
#include "scale.h"
extern "C" __global__ __aicore__ void scaled(GM_ADDR x, GM_ADDR y, Scale scale) {
    AscendC::GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x, scale.n);
    to.SetGlobalBuffer((__gm__ float *)y, scale.n);
    for (int i = 0; i < scale.n; i++) to.SetValue(i, from.GetValue(i) * scale.factor);
}
"""


def recorded(folder):
    """What the traces in a folder have of launches: names and blocks."""
    traces = [read_trace(path) for path in folder.glob("*.trace")]
    return [(b.calls[0].name, b.threads) for t in traces for b in t.bounds if b.is_alone]


def test_a_program_calls_the_functions_that_build_files_make(run, tmp_path, monkeypatch):
    monkeypatch.setenv("ASCEND_EP_PROFILE", str(tmp_path))
    (tmp_path / "scale.h").write_text("#pragma once\nstruct Scale { float factor; int n; };\n")
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/scaled.cpp").write_text(SCALED.replace('"scale.h"', '"../scale.h"'))
    (tmp_path / "CMakeLists.txt").write_text("")
    (tmp_path / "main.cpp").write_text(LAUNCHING)
    status, out, err = run("run", tmp_path / "main.cpp")
    assert status == 0, err
    assert "main.cpp, scaled.cpp" in out
    assert out.endswith("6 6\n")
    assert recorded(tmp_path) == [("scaled", 1)]


@pytest.mark.parametrize("used", ["threadIdx.x", "int(ST_L2CacheType::L2_CACHE_HINT_NORMAL_FV)", "1"])
def test_what_the_compiler_knows_without_a_header(used, tmp_path):
    (tmp_path / "k.cpp").write_text(f"inline int of_a_thread() {{ return {used}; }}\n")
    [unit] = source_program_units([tmp_path / "k.cpp"], [], True, find_soc("Ascend910B1"))
    assert ("asc_simt.h" in unit.text) == (used != "1")


@pytest.mark.parametrize(
    ("line", "defined"),
    [
        ("const char *chip = SOC_VERSION;", True),
        ("// SOC_VERSION", False),
        ('#define SOC_VERSION "Ascend310P3"', False),
        ('const char *const SOC_VERSION = "Ascend310P3"; auto chip = SOC_VERSION;', False),
        ("auto option = ge::SOC_VERSION;", False),
        ("auto chip = own.SOC_VERSION;", False),
        ("enum class Key { DEVICE, SOC_VERSION };", False),
        ("template <uint32_t SOC_VERSION> void f();", False),
        ("const platform::SocVersion &SOC_VERSION = chip();", False),
        ("const char *chip() { return SOC_VERSION; }", True),
        ('std::string chip("chip " SOC_VERSION);', True),
    ],
)
def test_the_chip_that_build_files_define(line, defined, tmp_path):
    (tmp_path / "k.cpp").write_text(line + "\n")
    [unit] = source_program_units([tmp_path / "k.cpp"], [], True, find_soc("Ascend910B1"))
    assert ("#define SOC_VERSION" in unit.text.partition('#include "' + str(tmp_path))[0]) == defined


MAIN = """
#include <cstdio>
#include "acl/acl.h"
#include <string>
#include <vector>
int main() {
    if (aclInit(nullptr) != ACL_SUCCESS) return 1;
    std::vector<float> x(64, 1.5f), y(64);
    twice<<<1, nullptr, nullptr>>>((uint8_t *)x.data(), (uint8_t *)y.data(), 2.0f);
    if (std::string(SOC_VERSION) != "Ascend910B1") return 1;
    std::printf("%g %g\\n", y[0], y[63]);
    return 0;
}
"""


STACK = """
#include <cstdio>
#include <vector>
#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR y) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> held;
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x, 64);
    to.SetGlobalBuffer((__gm__ float *)y, 64);
    pipe.InitBuffer(held, 256);
    LocalTensor<float> a = held.Get<float>(), rest;
    if (!PopStackBuffer<float, TPosition::LCM>(rest)) return;
    DataCopy(a, from, 64);
    PipeBarrier<PIPE_ALL>();
    Add(rest, a, a, 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, rest, 64);
}
int main() {
    aclInit(nullptr);
    std::vector<float> x(64, 1.5f), y(64);
    twice<<<1, nullptr, nullptr>>>((uint8_t *)x.data(), (uint8_t *)y.data());
    std::printf("%g %g %g\\n", x[63], y[0], y[63]);
}
"""


def test_what_is_left_of_a_memory_is_beside_what_is_held(run, tmp_path):
    (tmp_path / "main.cpp").write_text(STACK)
    status, out, err = run("run", tmp_path / "main.cpp")
    assert status == 0, err
    assert out.endswith("1.5 3 3\n")


def test_a_program_launches_its_kernels(run, tmp_path, monkeypatch):
    source = tmp_path / "main.cpp"
    text = TWICE.replace("    out.EnQue(b);\n", '    if (!std::getenv("WRONG")) out.EnQue(b);\n')
    assert text != TWICE
    source.write_text("#include <cstdlib>\n" + text + MAIN)
    with monkeypatch.context() as told:
        told.setenv("ASCEND_EP_PROFILE", str(tmp_path))
        status, out, err = run("run", source)
    assert status == 0, err
    assert out.endswith("3 3\n")
    assert recorded(tmp_path) == [("twice", 1)]
    monkeypatch.setenv("WRONG", "1")
    status, _, err = run("run", source)
    assert status == 1
    assert "E43201" in err
    assert "main.cpp:" in err
    assert "ErrorBuffer3" in err


#: As samples have it: the parts of two cores, in memory whose bounds are known.
ON_A_CPU = """
#ifdef __CCE_KT_TEST__
#include "tikicpulib.h"
#endif
extern "C" __global__ __aicore__ void part(GM_ADDR x, GM_ADDR y) {
    twice(ParamOffset<float>(x, 64), ParamOffset<float>(y, 64), 2.0f);
}
int main() {
    const int cores = std::atoi(std::getenv("CORES"));
    float *x = (float *)AscendC::GmAlloc(512), *y = (float *)AscendC::GmAlloc(cores * 64 * 4);
    for (int i = 0; i < 128; i++) x[i] = i;
    AscendC::SetKernelMode(KernelMode::AIV_MODE);
    ICPU_RUN_KF(part, cores, (uint8_t *)x, (uint8_t *)y);
    std::printf("%g %g %g\\n", y[0], y[63], y[127]);
    AscendC::GmFree(x);
    AscendC::GmFree(y);
    return aclFloat16ToFloat(0) != 0;
}
"""


@pytest.fixture(scope="module")
def on_a_cpu(tmp_path_factory):
    """The files of the program, which takes the number of cores from its environment."""
    folder = tmp_path_factory.mktemp("on_a_cpu")
    kernel, main = folder / "twice.cpp", folder / "main.cpp"
    kernel.write_text(TWICE)
    includes = (
        '#include "acl/acl.h"\n#include <cstdio>\n#include <cstdlib>\n#include "kernel_operator.h"\n'
        "using namespace AscendC;\n"
    )
    declared = 'extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR y, float factor);\n'
    main.write_text(includes + declared + ON_A_CPU)
    return main, kernel


@pytest.mark.parametrize(("cores", "said"), [(2, "0 126 254\n"), (3, "ErrorRead3")])
def test_a_program_calls_its_kernel_on_a_cpu(run, on_a_cpu, monkeypatch, cores, said):
    monkeypatch.setenv("CORES", str(cores))
    status, out, err = run("run", *on_a_cpu)
    assert (status == 0) == (cores == 2), err
    assert said in out + err


def test_headers_of_the_project_are_found_by_their_names(tmp_path):
    for name, text in {
        "CMakeLists.txt": "include_directories(csrc/shared/inc)",
        "csrc/shared/inc/tiles/sizes.h": "",
        "csrc/shared/inc/math.h": "",
        "csrc/op/op_kernel/k.cpp": '#include <math.h>\n#include "tiles/sizes.h"\n#include "absent.h"\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    folders = Sources((tmp_path / "csrc/op/op_kernel/k.cpp",)).folders
    assert folders[-1] == tmp_path / "csrc/shared/inc"
    (tmp_path / "csrc/op/op_kernel/k.cpp").write_text("#include <math.h>\n")
    assert tmp_path / "csrc/shared/inc" not in Sources((tmp_path / "csrc/op/op_kernel/k.cpp",)).folders
