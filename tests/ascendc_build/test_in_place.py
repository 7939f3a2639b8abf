"""What outputs begin with: one with the name of an input is that tensor; others have values by definition."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from ascend_ep.cli import op
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.opbuild.ascendc.cpp import find_cpp

HOST = """
#include "register/op_def_registry.h"
namespace optiling {
static ge::graphStatus Tile(gert::TilingContext *context) {
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
class Bump : public OpDef {
   public:
    explicit Bump(const char *name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->SetInferShape(ge::Shape);
        this->AICore().SetTiling(optiling::Tile);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Bump);
}
"""
KERNEL = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void bump(GM_ADDR x, GM_ADDR x_ref, GM_ADDR workspace, GM_ADDR tiling) {
    TPipe pipe;
    TBuf<> room;
    pipe.InitBuffer(room, 32);
    GlobalTensor<float> g;
    g.SetGlobalBuffer((__gm__ float *)x, 16);
    LocalTensor<float> t = room.Get<float>();
    DataCopy(t, g, 8);
    PipeBarrier<PIPE_ALL>();
    Adds(t, t, 1.0f, 8);
    PipeBarrier<PIPE_ALL>();
    DataCopy(g, t, 8);
}
"""


@pytest.mark.slow
def test_what_is_not_written_keeps_its_value(tmp_path):
    for name, text in (("op_host/bump.cpp", HOST), ("op_kernel/bump.cpp", KERNEL)):
        (tmp_path / "Bump" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "Bump" / name).write_text(text)
    x = np.arange(16, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    files = ["--input", str(tmp_path / "x.npy"), "--output", str(tmp_path / "made")]
    assert op.main(["run", str(tmp_path / "Bump"), *files], {}) == 0
    x[:8] += 1
    np.testing.assert_array_equal(np.load(tmp_path / "made" / "x.npy"), x)


@pytest.mark.slow
def test_what_is_not_written_has_the_initial_value(tmp_path):
    host = HOST.replace('Output("x")', 'Output("y").InitValue(ScalarVar(ScalarType::FLOAT32, 7.0f))')
    host = host.replace(
        "    context->SetBlockDim(1);", "    context->SetBlockDim(1), context->SetNeedAtomic(true);"
    )
    kernel = KERNEL.replace("x_ref", "y").replace("DataCopy(g, t, 8)", "DataCopy(to, t, 8)")
    kernel = kernel.replace(
        "    DataCopy(t,",
        "    GlobalTensor<float> to;\n    to.SetGlobalBuffer((__gm__ float *)y, 16);\n    DataCopy(t,",
    )
    for name, text in (("op_host/bump.cpp", host), ("op_kernel/bump.cpp", kernel)):
        (tmp_path / "Bump" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "Bump" / name).write_text(text)
    x = np.arange(16, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    files = ["--input", str(tmp_path / "x.npy"), "--output", str(tmp_path / "made")]
    assert op.main(["run", str(tmp_path / "Bump"), *files], {}) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "made" / "y.npy"), [*(x[:8] + 1), *[7] * 8])


def test_initial_values_of_a_definition(tmp_path):
    source, program = Path(__file__).with_name("initial_values.cpp"), tmp_path / "program"
    subprocess.run(
        [*find_cpp(), "-std=c++17", "-O0", "-w", f"-I{HEADERS / 'ascendc'}", source, "-o", program],
        check=True,
    )
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines == [
        "0000000000000000ee 1",
        "eeeeeeeeeeeeeeeeee 0",
        "eeeeeeeeeeeeeeeeee 0",
        "0000803f0000803fee 1",
        "fefeee 1",
        "003c003cee 1",
        "0100010001000100ee 1",  # memory is set as of the value's type, not as of the output's
        "0000803fee 1",
        "0000004000000040ee 1",
        "ffffffffffffffffee 1",
        "0807ee 1",
        "InitValue of y is a number other than 0; write {ScalarType::..., value}",
        "InitValue of y has two values for one data type",
        "InitValue of y has no type that memory is set to",
    ]
