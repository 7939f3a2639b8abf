"""ASCENDC_TPL_...: a kernel whose template arguments are its tiling key, chosen by its host."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.opbuild.ascendc.cpp import find_cpp
from ascend_ep.opbuild.kernels.signature import kernels_of
from ascend_ep.opbuild.kernels.template_keys import template_keys

KEYS = """
#pragma once
#include "ascendc/host_api/tiling/template_argument.h"
#define SCALE_TILES_MIX 2
ASCENDC_TPL_ARGS_DECL(TplScale,
    ASCENDC_TPL_DATATYPE_DECL(D_T, C_DT_FLOAT, C_DT_FLOAT16, ASCENDC_TPL_INPUT(0)),
    ASCENDC_TPL_UINT_DECL(TILES, ASCENDC_TPL_8_BW, ASCENDC_TPL_UI_MIX, SCALE_TILES_MIX, 0, 2, 4, 5, 12, 10),
    ASCENDC_TPL_BOOL_DECL(NEGATE, 0, 1),
);
ASCENDC_TPL_SEL(
    ASCENDC_TPL_ARGS_SEL(
        ASCENDC_TPL_KERNEL_TYPE_SEL(ASCENDC_TPL_AIV_ONLY),
        ASCENDC_TPL_DATATYPE_SEL(D_T, C_DT_FLOAT),
        ASCENDC_TPL_UINT_SEL(TILES, ASCENDC_TPL_UI_LIST, 2, 10),
        ASCENDC_TPL_BOOL_SEL(NEGATE, 0, 1),
    ),
    ASCENDC_TPL_ARGS_SEL(
        ASCENDC_TPL_DATATYPE_SEL(D_T, C_DT_FLOAT16),
        ASCENDC_TPL_UINT_SEL(TILES, ASCENDC_TPL_UI_RANGE, 1, 1, 2),
        ASCENDC_TPL_BOOL_SEL(NEGATE, 1),
    ),
);
"""
HOST = """
#include "register/op_def_registry.h"
#include "../op_kernel/tpl_scale_tiling_key.h"
namespace optiling {
static ge::graphStatus Tile(gert::TilingContext *context) {
    uint32_t D_T = static_cast<uint32_t>(context->GetInputDesc(0)->GetDataType());
    const uint32_t tiles = uint32_t(*context->GetAttrs()->GetInt(0));
    const bool negate = *context->GetAttrs()->GetBool(1);
    ASCENDC_TPL_SEL_PARAM(context, D_T, tiles, negate);
    context->SetBlockDim(1);
    return ge::GRAPH_SUCCESS;
}
}
namespace ge {
static graphStatus Shape(gert::InferShapeContext *context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return GRAPH_SUCCESS;
}
}
namespace ops {
class TplScale : public OpDef {
   public:
    explicit TplScale(const char *name) : OpDef(name) {
        this->Input("x").DataType({ge::DT_FLOAT, ge::DT_FLOAT16}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("y").DataType({ge::DT_FLOAT, ge::DT_FLOAT16}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("tiles").Int(2);
        this->Attr("negate").AttrType(OPTIONAL).Bool(true);
        this->SetInferShape(ge::Shape);
        this->AICore().SetTiling(optiling::Tile);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(TplScale);
}
"""
KERNEL = """
#include "kernel_operator.h"
#include "tpl_scale_tiling_key.h"
using namespace AscendC;
template <typename D_T, int TILES, bool NEGATE = false>
__global__ __aicore__ void tpl_scale(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    static_assert(std::is_same_v<D_T, DTYPE_X>, "an instance of another column of types");
    TPipe pipe;
    TBuf<> room;
    pipe.InitBuffer(room, 1024);
    GlobalTensor<D_T> from, to;
    from.SetGlobalBuffer((__gm__ D_T *)x, 32);
    to.SetGlobalBuffer((__gm__ D_T *)y, 32);
    LocalTensor<D_T> t = room.Get<D_T>();
    DataCopy(t, from, 32);
    PipeBarrier<PIPE_ALL>();
    Muls(t, t, D_T(NEGATE ? -TILES : TILES), 32);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, t, 32);
}
"""
#: What the two sides agree on, as the compiler sees it.
LISTS = """
#include "%s"
#include "tiling/template_instances.h"
using namespace asc_tpl;
static_assert(arguments_of(asc_tpl_declared) == 3);
static_assert(asc_tpl_declared[0].size() == 2 && asc_tpl_declared[0].tensor == (OF_INPUT | 0));
static_assert(asc_tpl_declared[1].size() == 7 && asc_tpl_declared[1][3] == 4 && asc_tpl_declared[1][6] == 10);
static_assert(instances(asc_tpl_declared, asc_tpl_selected) == 6);
static_assert(instance(asc_tpl_declared, asc_tpl_selected, 3).values[1] == 10);
static_assert(instance(asc_tpl_declared, asc_tpl_selected, 5).values[2] == 1);
static_assert(instance(asc_tpl_declared, asc_tpl_selected, 0).kernel_type == ASCENDC_TPL_AIV_ONLY);
static_assert(GET_TPL_TILING_KEY(0, 10, 1) == (0 | 6 << 8 | 1 << 16));
static_assert(GET_TPL_TILING_KEY(0, 10, 1) != GET_TPL_TILING_KEY(0, 2, 1));
static_assert(GET_TPL_TILING_KEY(1, 10, 1) == NO_KEY, "not selected together");
static_assert(GET_TPL_TILING_KEY(0, 3, 1) == NO_KEY, "not declared");
static_assert(GET_TPL_TILING_KEY(0, 10) == NO_KEY, "one is missing");
constexpr int FLOAT[] = {0}, HALF[] = {1};
constexpr auto FIRST = instance(asc_tpl_declared, asc_tpl_selected, 0);
static_assert(is_of_column(asc_tpl_declared, FIRST, FLOAT, 1, FLOAT, 1));
static_assert(!is_of_column(asc_tpl_declared, FIRST, HALF, 1, HALF, 1));
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "TplScale"
    for name, text in (
        ("op_host/tpl_scale.cpp", HOST),
        ("op_kernel/tpl_scale.cpp", KERNEL),
        ("op_kernel/tpl_scale_tiling_key.h", KEYS),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_lists_ranges_and_keys(project: Path, tmp_path: Path) -> None:
    source = tmp_path / "lists.cpp"
    source.write_text(LISTS % (project / "op_kernel/tpl_scale_tiling_key.h"))
    includes = [f"-I{HEADERS / 'ascendc'}", f"-I{HEADERS}"]
    command = [*find_cpp(), "-std=c++20", "-w", "-fsyntax-only", *includes, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def test_a_template_with_a_declaration_goes_by_its_key(project: Path, tmp_path: Path) -> None:
    (kernel,) = kernels_of(project / "op_kernel/tpl_scale.cpp")
    keys = template_keys(kernel, (), 1)
    assert keys is not None
    assert keys.kinds == ("typename", "int", "bool")
    other = tmp_path / "other.cpp"
    other.write_text(KERNEL.replace('#include "tpl_scale_tiling_key.h"', ""))
    assert template_keys(kernels_of(other)[0], (), 1) is None


@pytest.mark.slow
def test_the_host_chooses_the_instance(project: Path, tmp_path: Path, run) -> None:
    x = np.arange(32, dtype=np.float32)
    for dtype, tiles, negate, factor in (("float32", 10, "false", 10), ("float16", 1, "true", -1)):
        np.save(tmp_path / "x.npy", x.astype(dtype))
        words = ["--input", tmp_path / "x.npy", "--attr", f"tiles={tiles}", "--attr", f"negate={negate}"]
        status, said, _ = run("run", project, *words, "--output", tmp_path / "made")
        assert status == 0, said
        np.testing.assert_array_equal(np.load(tmp_path / "made/y.npy"), (x * factor).astype(dtype))


@pytest.mark.slow
def test_values_that_nobody_selects_are_named(project: Path, run) -> None:
    words = ["--input_shape", "[32]", "--dtype", "float16", "--attr", "tiles=10"]
    status, said, error = run("run", project, *words)
    assert status != 0
    assert "no instance that ASCENDC_TPL_SEL selects has the tiling key" in said + error
