"""kernel_operator.h and generated files compile as C++17, which the documents' command lines say, and as C++20."""

import json
import re
import shutil
import subprocess

import pytest

from ascend_ep.cann.soc import find_soc
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.opbuild.ascendc.generate import generate_ascend_c
from ascend_ep.opbuild.ascendc.unit import joint_unit
from ascend_ep.opdef.loader import parse_definitions

COMPILER = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")
#: Generated programs compile as C++17 in all other tests.
STANDARDS = ("c++20", pytest.param("c++17", marks=pytest.mark.slow))
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
#: A kernel has the parameters of the calling convention, used or not.
GENERATED = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
#: Every instruction, once or more, on the types that it has.
KERNEL = """
#include "kernel_operator.h"
#include "host/launch.h"
#include "register/tilingdata_base.h"
using namespace AscendC;

template <typename T>
void common(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<uint8_t> &m, int32_t n) {
    Add(d, x, x, n); Sub(d, x, x, n); Mul(d, x, x, n); Div(d, x, x, n); Max(d, x, x, n); Min(d, x, x, n);
    Abs(d, x, n); Relu(d, x, n); Adds(d, x, T(2), n); Muls(d, x, T(2), n); Maxs(d, x, T(2), n); Mins(d, x, T(2), n);
    Duplicate(d, T(1), n); ArithProgression(d, T(0), T(1), n);
    Compare(m, x, d, CMPMODE::LT, uint32_t(n)); CompareScalar(m, x, T(1), CMPMODE::GE, uint32_t(n));
    Select(d, m, x, x, SELMODE::VSEL_TENSOR_TENSOR_MODE, uint32_t(n));
    Select(d, m, x, T(0), SELMODE::VSEL_TENSOR_SCALAR_MODE, uint32_t(n));
    ReduceSum<T>(d, x, d, n); ReduceMax<T>(d, x, d, n); ReduceMin<T>(d, x, d, n, false);
    AddRelu(d, x, x, n); SubRelu(d, x, x, n); MulAddDst(d, x, x, n); FusedMulAdd(d, x, x, n);
    FusedMulAddRelu(d, x, x, n); Neg(d, x, n); Subs(d, x, T(1), n); Divs(d, x, T(1), n); Axpy(d, x, T(2), n);
    Prelu(d, x, x, n); Arange(d, T(0), T(1), n); CreateVecIndex(d, T(0), uint32_t(n));
    Compares(m, x, T(1), CMPMODE::GE, uint32_t(n)); Brcb(d, x, 1, {1, 8});
    const uint64_t bits[2] = {~0ull, 0};
    const int32_t mask = 8;
    Add(d, x, x, 8, 1, {1, 1, 1, 8, 8, 8}); Add(d, x, x, bits, 1, {1, 1, 1, 8, 8, 8});
    Adds(d, x, T(1), 8, 1, {1, 1, 8, 8}); Duplicate(d, T(1), 8, 1, 1, 8); Copy(d, x, 8, 1, {1, 1, 8, 8});
    WholeReduceSum(d, x, mask, 1, 1, 1, 8); RepeatReduceSum(d, x, 1, mask, 1, 1, 1, 8);
    WholeReduceMax(d, x, bits, 1, 1, 1, 8); WholeReduceMin(d, x, mask, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
    BlockReduceSum(d, x, 1, mask, 1, 1, 8); BlockReduceMax(d, x, 1, mask, 1, 1, 8);
    BlockReduceMin(d, x, 1, bits, 1, 1, 8); PairReduceSum(d, x, 1, mask, 1, 1, 8);
    T best = GetAccVal<T>(), place = T(0); GetReduceMaxMinCount<T>(best, place); d.SetValue(0, best);
    LocalTensor<uint8_t> bits_of_less; bits_of_less = x < d;
    SetCmpMask(m); GetCmpMask(m); SelectWithBytesMask(d, x, T(0), m, m, SelectWithBytesMaskShapeInfo{1, 8, 8});
}
template <typename T>
void floating(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<uint8_t> &m, uint32_t n) {
    const int32_t s = int32_t(n);
    common(d, x, m, s);
    Exp(d, x, s); Ln(d, x, s); Sqrt(d, x, s); Rsqrt(d, x, s); Reciprocal(d, x, s); LeakyRelu(d, x, T(0.5f), s);
    Sin(d, x, m, n); Cos(d, x, m, n); Tan(d, x, m, n); Asin(d, x, m, n); Acos(d, x, m, n); Atan(d, x, m, n);
    Sinh(d, x, m, n); Cosh(d, x, m, n); Tanh(d, x, m, n); Asinh(d, x, m, n); Acosh(d, x, m, n); Atanh(d, x, m, n);
    Erf(d, x, m, n); Power(d, x, x, m, n); Fmod(d, x, x, m, n);
    Erfc(d, x, m, n); Log(d, x, n); Log2(d, x, n); Log10(d, x, n); Lgamma(d, x, m, n); Digamma(d, x, m, n);
    Ceil(d, x, m, n); Floor(d, x, m, n); Round(d, x, m, n); Trunc(d, x, m, n); Frac(d, x, m, n); Sign(d, x, m, n);
    Sigmoid(d, x, m, n);
}
template <typename U, typename T>
void cast(const LocalTensor<T> &x) {
    Cast(x.template ReinterpretCast<U>(), x, RoundMode::CAST_RINT, 8);
}
void every(const LocalTensor<float> &f, const LocalTensor<half> &h, const LocalTensor<int32_t> &i,
           const LocalTensor<int16_t> &s, const LocalTensor<uint8_t> &m, const LocalTensor<bfloat16_t> &b) {
    floating(f, f, m, 8); floating(h, h, m, 8); common(i, i, m, 8); common(s, s, m, 8);
    And(s, s, s, 8); Or(s, s, s, 8); Not(s, s, 8); Ands(s, s, 1, 8); Ors(s, s, 1, 8);
    ShiftLeft(i, i, 2, 8); ShiftRight(i, i, 2, 8); SetDeqScale(half(1)); f.SetValue(0, ScalarCast<half, float>(half(1)));
    MulCast(m, h, h, 8); AddReluCast(h, f, f, 8); SubReluCast(h, f, f, 8); Muls(f, f, 2, 8); Duplicate(h, half(1), 8);
    cast<float>(f); cast<half>(f); cast<bfloat16_t>(f); cast<int32_t>(f); cast<int64_t>(f); cast<float>(b);
    cast<int8_t>(h); cast<uint8_t>(h); cast<half>(m); cast<float>(i); cast<int16_t>(i); cast<float>(h);
}
template <typename T>
class Copies {
   public:
    void Process(GM_ADDR x, GM_ADDR workspace) {
        from_.SetGlobalBuffer(reinterpret_cast<T *>(x), 64);
        pipe_.InitBuffer(queue_, 2, 256);
        pipe_.InitBuffer(room_, 256);
        LocalTensor<T> t = queue_.template AllocTensor<T>();
        DataCopy(t, from_, 64);
        DataCopyPad(t, from_, DataCopyExtParams{1, 4, 0, 0, 0}, DataCopyPadExtParams<T>{});
        queue_.EnQue(t);
        t = queue_.template DeQue<T>();
        PipeBarrier<PIPE_ALL>();
        SetFlag<HardEvent::V_S>(pipe_.FetchEventID(HardEvent::V_S));
        WaitFlag<HardEvent::V_S>(0);
        DataCopy(from_, room_.template Get<T>(), 64);
        DataCopyPad(from_, room_.template Get<T>(8), DataCopyExtParams{1, 4, 0, 0, 0});
        t.SetValue(0, t.GetValue(1));
        queue_.FreeTensor(t);
        SyncAll();
        if (GetBlockIdx() + GetSubBlockIdx() < GetBlockNum() * GetSubBlockNum()) GetUserWorkspace(workspace)[0] = 1;
    }

   private:
    TPipe pipe_;
    TQue<QuePosition::VECIN, 2> queue_;
    TBuf<TPosition::VECCALC> room_;
    GlobalTensor<T> from_;
};
extern "C" __global__ __aicore__ void every_type(GM_ADDR x, GM_ADDR workspace) {
    Copies<float>().Process(x, workspace);
    Copies<half>().Process(x, workspace);
    Copies<int32_t>().Process(x, workspace);
}
"""
#: Of each kind of stage one: elementwise, casts, a row's reductions, folds over an axis, ranks.
FORMULAS = {
    "Wise": ("float16", "where(x > 0, tanh(x), exp(x) - 1)"),
    "Whole": ("int32", "max(x*3 - 1, 0)"),
    "Row": ("float32", "exp(x - max(x, axis=-1))"),
    "Layered": ("float16", "z = (x - mean(x, axis=-1)); z / sqrt(mean(z*z, axis=-1) + 1e-5)"),
    "Product": ("float32", "prod(x, axis=-1)"),
    "Ranked": ("float32", "topk(x, k=4)"),
    "Fold": ("bfloat16", "sum(x*x, axis=0, keepdims=false)"),
}


def compiles(folder, text, standard, *flags):
    unit = folder / "unit.cpp"
    unit.write_text(text)
    command = [
        COMPILER,
        f"-std={standard}",
        "-fsyntax-only",
        *flags,
        f"-I{HEADERS / 'ascendc'}",
        f"-I{folder}",
    ]
    answer = subprocess.run([*command, str(unit)], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr[:3000]


@pytest.mark.parametrize("standard", STANDARDS)
def test_every_instruction_compiles_without_a_warning(tmp_path, standard):
    compiles(tmp_path, KERNEL, standard, *STRICT)


def test_the_kernel_has_every_instruction():
    names = set()
    for header in (HEADERS / "ascendc/cpu").glob("*.h"):
        if re.fullmatch(r"vector_\w+|library|copy", header.stem):
            text = header.read_text()
            names |= set(re.findall(r"^ *(?:inline void |ASC_\w+\()([A-Z]\w+)\b", text, re.MULTILINE))
    names -= {"Mask"}
    assert len(names) > 90
    assert sorted(n for n in names if not re.search(rf"\b{n}(<T>)?\(", KERNEL)) == []


@pytest.mark.parametrize("standard", STANDARDS)
def test_generated_kernels_compile_without_a_warning(tmp_path, standard):
    soc, kernels = find_soc("Ascend910B1"), []
    for name, (kind, formula) in FORMULAS.items():
        tensors = {"inputs": [{"name": "x", "type": kind}], "outputs": [{"name": "y", "type": kind}]}
        opdef = parse_definitions(json.dumps({"op": name, **tensors, "formula": formula}))[0]
        kernels.append(generate_ascend_c(opdef, soc))
    compiles(tmp_path, joint_unit([(k, k.columns[0]) for k in kernels]), standard, *GENERATED)
