"""An output with the name of an input is that tensor: what the kernel leaves alone keeps its value."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_ep.cli import op

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
