"""Models, descriptions and programs that the commands read."""

from __future__ import annotations

DOUBLES = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[2, 4] x) => (float[2, 4] y) <double[4] b = {1, 2, 3, 4}>
{ d = Cast <to = 11> (x) e = Add(d, b) y = Cast <to = 1> (e) }"""
MULTIPLY = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[2, 4] x) => (float[2, 4] y) <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}>
{ y = MatMul(x, w) }"""
_DESC = '{"format": "ND", "shape": [2, 4], "type": "float"}'
SINGLE = f'[{{"op": "Add", "input_desc": [{_DESC}, {_DESC}], "output_desc": [{_DESC}]}}]'
#: A definition, as msopgen takes it.
OPERATOR = """[{"op": "WarmSwish",
"input_desc": [{"name": "x", "param_type": "required", "format": ["ND"], "type": ["fp32"]}],
"output_desc": [{"name": "y", "param_type": "required", "format": ["ND"], "type": ["fp32"]}]}]"""
#: A kernel of Ascend C that adds one, in tiles of 64.
KERNEL = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void add_one(GM_ADDR x, GM_ADDR y) {
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> in;
    TQue<QuePosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, 256);
    pipe.InitBuffer(out, 1, 256);
    GlobalTensor<float> xs, ys;
    xs.SetGlobalBuffer((__gm__ float *)x);
    ys.SetGlobalBuffer((__gm__ float *)y);
    LocalTensor<float> a = in.AllocTensor<float>();
    DataCopy(a, xs, 64);
    in.EnQue(a);
    a = in.DeQue<float>();
    LocalTensor<float> b = out.AllocTensor<float>();
    Adds(b, a, 1.0f, 64);
    out.EnQue(b);
    in.FreeTensor(a);
    b = out.DeQue<float>();
    DataCopy(ys, b, 64);
    out.FreeTensor(b);
}
"""
TEXTS = {"operator.json": OPERATOR, "single.json": SINGLE, "add_one.cpp": KERNEL}
