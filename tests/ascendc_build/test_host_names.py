"""Names and headers that op_host files of public repositories use, each as one of them uses it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from ascend_ep.cann.soc import find_soc
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.opbuild.ascendc.cpp import find_cpp
from ascend_ep.opbuild.kernels.host_code import read_host
from ascend_ep.opbuild.kernels.sources import find_sources
from ascend_ep.opbuild.kernels.units import KernelUnit

HOST = """
#include "aclnn/opdev/op_log.h"
#include "error/ops_error.h"
#include "graph/ge_error_codes.h"
#include "log/error_code.h"
#include "op_log.h"
#include "platform/platform_ascendc.h"
#include "register/op_def_registry.h"
#include "tiling/activation/gelu_tiling_intf.h"
#include "tiling/matmul/bmm_tiling.h"
#include "tiling/rmsnorm/rmsnorm_tiling.h"
#include "tiling/softmax/softmax_tiling.h"
#include "tiling/softmax/softmaxflash_tiling_intf.h"
#include "tiling/tiling_api.h"
#include "util/math_util.h"
#include "toolchain/slog.h"
#include "utils/log/asc_cpu_log.h"
static ge::graphStatus Tile(gert::TilingContext *context) {
    OPS_CHECK(context == nullptr, OPS_REPORT_VECTOR_INNER_ERR("Op", "%s", "null"), return ge::GRAPH_FAILED);
    OP_CHECK(context->GetAttrs() == nullptr, OPS_LOG_E("Op", "no attributes"), return ge::GRAPH_FAILED);
    OP_TILING_CHECK(false, VECTOR_INNER_ERR_REPORT_TILIING("Op", "never"), return ge::GRAPH_FAILED);
    OPS_CHECK_NULL_WITH_CONTEXT(context, context->GetInputShape(0));
    OPS_CHECK_PTR_NULL(context, return ge::GRAPH_FAILED);
    DlogSub(OP, "OPS", DLOG_ERROR, "%d", 1);
    if (unlikely(context->GetInputShape(0) == nullptr)) ASC_CPU_LOG_ERROR("no shape %d", 0);
    auto chip = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    matmul_tiling::PlatformInfo of_matmul;
    of_matmul.socVersion = chip.GetSocVersion();
    uint32_t most = 0, least = 0;
    AscendC::GetUnPadMaxMinTmpSize(chip, ge::Shape({8, 8}), sizeof(half), most, least);
    const auto mode = AscendC::TopKMode::TOPK_NORMAL;
    AscendC::GetTopKMaxMinTmpSize(chip, 32, 1, false, true, mode, true, 4, most, least);
    AscendC::TopKConfig config;
    config.algo = AscendC::TopKAlgo::RADIX_SELECT, config.sorted = false;
    AscendC::GetTopKMaxMinTmpSize(32, 1, 8, false, true, mode, true, ge::DT_FLOAT, config, most, least);
    const gert::Stride *gaps = context->GetInputStride(0);
    if (context->InputIsView(0) || (gaps != nullptr && gaps->GetStride(0) < 1)) return ge::GRAPH_FAILED;
    context->SetLocalMemorySize(4096);
    if (context->GetLocalMemorySize() != 4096) return ge::GRAPH_FAILED;
    static_assert(Ops::Base::CeilDiv(7, 2) == 4 && Ops::Base::CeilAlign(7, 4) == 8);
    static_assert(Ops::Base::FloorAlign(7, 4) == 4);
    return AscendC::GetSortTmpSize(chip, 32, 4) ? ge::GRAPH_SUCCESS : std::numeric_limits<uint32_t>::max();
}
namespace ops {
class Op : public OpDef {
   public:
    explicit Op(const char *name) : OpDef(name) {
        this->Input("x").DataType({ge::DT_FLOAT});
        this->Output("y").Follow("x", FollowType::DTYPE);
        this->AICore().SetTiling(Tile);
    }
};
OP_ADD(Op);
}
"""


def test_host_names_are_declared(tmp_path: Path) -> None:
    (tmp_path / "host.cpp").write_text(HOST)
    includes = [f"-I{HEADERS / 'ascendc'}", f"-I{HEADERS}"]
    command = [*find_cpp(), "-std=c++20", "-w", "-fsyntax-only", *includes, str(tmp_path / "host.cpp")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def test_a_kernel_may_define_the_c_librarys_limits(tmp_path: Path) -> None:
    kernel = tmp_path / "limits.cpp"
    kernel.write_text("constexpr int32_t INT_MAX = 1;\nconst float M_PI = 3.0f;\nint x = INT_MIN;\n")
    text = KernelUnit(kernel, "limits").unit(0, True).text
    assert "#undef INT_MAX" in text
    assert "#undef M_PI" in text
    assert "#undef INT_MIN" not in text


def test_a_kernel_may_have_a_class_that_is_named_as_a_late_function(tmp_path: Path) -> None:
    kernel = tmp_path / "inf.cpp"
    kernel.write_text(
        "namespace Own {\ntemplate <typename T> class Other; // class IsNan\nclass IsInf {};\n}\n"
    )
    text = KernelUnit(kernel, "inf").unit(0, True).text
    assert "#define IsInf asc_own_IsInf" in text
    assert "IsNan asc_own" not in text


def test_host_files_of_called_functions_are_no_tiling(tmp_path: Path) -> None:
    for name, text in {
        "op_kernel/one.cpp": "__global__ __aicore__ void one(GM_ADDR x) {}\n",
        "op_host/one.cpp": "class One : OpDef {};\nOP_ADD(One);\n",
        "op_host/help.cpp": '#include "opdev/op_log.h"\nint help() { return 1; }\n',
        "op_host/aclnn_one.cpp": '#include "opdev/op_executor.h"\n',
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    host = find_sources([tmp_path / "op_kernel/one.cpp"]).host
    assert [p.name for p in host] == ["one.cpp", "help.cpp"]


def test_of_headers_with_one_name_each_side_has_its_own(tmp_path: Path) -> None:
    for name, text in {
        "CMakeLists.txt": "",
        "common/op_kernel/shared.h": "",
        "common/op_host/shared.h": "",
        "ops/one/op_kernel/one.cpp": '#include "shared.h"\n__global__ __aicore__ void one(GM_ADDR x) {}\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    folders = find_sources([tmp_path / "ops/one/op_kernel/one.cpp"]).folders
    assert tmp_path / "common/op_kernel" in folders
    assert tmp_path / "common/op_host" not in folders


def test_a_kernel_for_one_architecture_has_that_hosts(tmp_path: Path) -> None:
    for name in ("op_kernel/arch35/one.cpp", "op_host/arch35/one.cpp", "op_host/one.cpp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("OP_ADD(One);" if "host" in name else "")
    assert find_sources([tmp_path / "op_kernel/arch35/one.cpp"]).host == (
        (tmp_path / "op_host/arch35/one.cpp").resolve(),
    )


LISTS_HOST = """
#include "register/op_def_registry.h"
static ge::graphStatus Tile(gert::TilingContext *context) {
    context->SetBlockDim(1);
    return ge::GRAPH_SUCCESS;
}
namespace ops {
class Lists : public OpDef {
   public:
    explicit Lists(const char *name) : OpDef(name) {
        this->Input("x").ParamType(DYNAMIC).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Input("factor").DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        %s
        this->AICore().SetTiling(Tile);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Lists);
}
"""
LISTS_KERNEL = """
#include "kernel_operator.h"
#ifndef __CCE__
#error "kernels are read by the device's compiler"
#endif
using namespace AscendC;
extern "C" __global__ __aicore__ void lists(GM_ADDR x, GM_ADDR factor, %s GM_ADDR workspace, GM_ADDR tiling) {
    TPipe pipe;
    TBuf<> room;
    pipe.InitBuffer(room, 64);
    LocalTensor<float> t = room.Get<float>();
    GlobalTensor<float> f;
    f.SetGlobalBuffer((__gm__ float *)factor, 8);
    const float by = f.GetValue(0);
    ListTensorDesc from((__gm__ void *)x), to((__gm__ void *)%s);
    for (uint32_t i = 0; i < from.GetSize(); i++) {
        GlobalTensor<float> in, out;
        in.SetGlobalBuffer((__gm__ float *)from.GetDataPtr<float>(i), 8);
        out.SetGlobalBuffer((__gm__ float *)to.GetDataPtr<float>(i), 8);
        DataCopy(t, in, 8);
        PipeBarrier<PIPE_ALL>();
        Muls(t, t, by, 8);
        PipeBarrier<PIPE_ALL>();
        DataCopy(out, t, 8);
        PipeBarrier<PIPE_ALL>();
    }
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("in_place", [False, True])
def test_lists_of_tensors_come_out(tmp_path: Path, run, in_place: bool) -> None:
    """An output list has as many tensors as the input's; without outputs the inputs are what is changed."""
    output = 'this->Output("y").ParamType(DYNAMIC).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});'
    for name, text in (
        ("op_host/lists.cpp", LISTS_HOST % ("" if in_place else output)),
        ("op_kernel/lists.cpp", LISTS_KERNEL % (("", "x") if in_place else ("GM_ADDR y,", "y"))),
    ):
        (tmp_path / "Lists" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "Lists" / name).write_text(text)
    words: list[object] = []
    for i in range(2):
        np.save(tmp_path / f"x{i}.npy", np.arange(8, dtype=np.float32) + i)
        words += ["--input", tmp_path / f"x{i}.npy"]
    np.save(tmp_path / "factor.npy", np.full(8, 3, np.float32))
    words += ["--input", tmp_path / "factor.npy", "--output", tmp_path / "made"]
    status, said, error = run("run", tmp_path / "Lists", *words)
    assert status == 0, said + error
    for i in range(2):
        made = np.load(tmp_path / "made" / f"{'x' if in_place else 'y'}_{i}.npy")
        np.testing.assert_array_equal(made, (np.arange(8, dtype=np.float32) + i) * 3)


def test_functions_that_headers_declare_are_found_in_the_project(tmp_path: Path) -> None:
    """As build files of many operators have one library of what their host code shares."""
    texts = {
        "CMakeLists.txt": "",
        "common/include/shared/rows.h": '#pragma once\n#include "register/op_def_registry.h"\n'
        "namespace shared { bool has_rows(const gert::TilingContext *context); }\n",
        "common/src/shared/rows.cpp": '#include "shared/rows.h"\n'
        "namespace shared { static const std::set<int> ranks = {1, 2};\n"
        "bool has_rows(const gert::TilingContext *context) { return context && ranks.count(2); } }\n",
        "twice/op_host/twice.cpp": '#include "shared/rows.h"\n'
        "static ge::graphStatus Tile(gert::TilingContext *c)"
        " { return shared::has_rows(c) ? ge::GRAPH_SUCCESS : ge::GRAPH_FAILED; }\n"
        "namespace ops { class Twice : public OpDef { public:\n"
        "explicit Twice(const char *name) : OpDef(name) {\n"
        'Input("x").DataType({ge::DT_FLOAT}); Output("y").DataType({ge::DT_FLOAT});\n'
        'AICore().SetTiling(Tile).AddConfig("ascend910b"); } }; OP_ADD(Twice); }\n',
        "twice/op_kernel/twice.cpp": '#include "kernel_operator.h"\n'
        'extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR y, GM_ADDR w, GM_ADDR tiling) {}\n',
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    sources = find_sources([tmp_path / "twice/op_kernel/twice.cpp"])
    host = read_host(sources.host, sources.folders, find_soc("Ascend910B1"))
    assert [p.name for p in host.files] == ["twice.cpp", "rows.cpp"]
    assert host.operator().op == "Twice"


def test_fields_of_tiling_data_have_any_name(tmp_path: Path) -> None:
    """Of a macro's own words, too: a parameter of that name would be set in the place of the field."""
    names = ["value", "values", "to", "from", "bytes", "capacity", "name", "type", "key", "count", "data"]
    lists = [f"{n}s_{i}" for i, n in enumerate(names)] + ["values"]
    defined = [f"TILING_DATA_FIELD_DEF(uint32_t, {n})" for n in names if n != "values"]
    defined += [f"TILING_DATA_FIELD_DEF_ARR(uint32_t, 2, {n})" for n in lists]
    checks = [
        f"t.set_{n}({i}); if (t.get_{n}() != {i}) return {i};"
        for i, n in enumerate(names, 1)
        if n != "values"
    ]
    checks += [f"t.set_{n}(two); if (t.get_{n}()[1] != 7) return {i};" for i, n in enumerate(lists, 40)]
    source = "\n".join([
        '#include "register/tilingdata_base.h"',
        "BEGIN_TILING_DATA_DEF(AnyTiling)",
        *(f"{line};" for line in defined),
        "END_TILING_DATA_DEF;",
        "int main() { AnyTiling t; const uint32_t two[] = {5, 7};",
        *checks,
        "return 0; }",
    ])  # fmt: skip
    (tmp_path / "any.cpp").write_text(source)
    program = tmp_path / "any"
    flags = ["-std=c++17", f"-I{HEADERS / 'ascendc'}", f"-I{HEADERS}"]
    subprocess.run([*find_cpp(), *flags, str(tmp_path / "any.cpp"), "-o", str(program)], check=True)
    assert subprocess.run([str(program)], check=False).returncode == 0


PLUGIN = """#include "graph/operator.h"
#include "register/register.h"
using namespace ge;
Status Parse(const Operator &from, Operator &to) {
    float slope = 0;
    string text = "slope";
    if (from.GetAttr("alpha", slope) != GRAPH_SUCCESS) return FAILED;
    to.SetAttr(text, slope).SetAttr("mode", "fast");
    return SUCCESS;
}
int main() {
    Operator from("n", "Leaky"), to("n", "LeakyCustom");
    from.SetAttr("alpha", 0.5f);
    int64_t wrong = 0;
    float slope = 0;
    AscendString mode;
    if (Parse(from, to) != SUCCESS || to.GetAttr("slope", slope) != GRAPH_SUCCESS || slope != 0.5f) return 1;
    if (to.GetAttr("slope", wrong) == GRAPH_SUCCESS || to.GetAttr("none", slope) == GRAPH_SUCCESS) return 2;
    return to.GetAttr("mode", mode) == GRAPH_SUCCESS && mode == AscendString("fast") ? 0 : 3;
}
"""


@pytest.mark.parametrize("standard", ["c++11", "c++17"])
def test_a_plugin_sets_attributes(tmp_path: Path, standard: str) -> None:
    (tmp_path / "plugin.cc").write_text(PLUGIN)
    program = tmp_path / "plugin"
    flags = [f"-std={standard}", f"-I{HEADERS / 'ascendc'}", f"-I{HEADERS}"]
    subprocess.run([*find_cpp(), *flags, str(tmp_path / "plugin.cc"), "-o", str(program)], check=True)
    assert subprocess.run([str(program)], check=False).returncode == 0
