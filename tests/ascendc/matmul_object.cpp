/* Kernels of test_matmul_object.py; the request's first number says which. The tiling is the host's. */
#include "launch_program.h"
#include "lib/matmul_intf.h"
#include "tiling/matmul_tiling.h"

using namespace AscendC;

enum Way { ALL, TILE_BY_TILE, THROUGH_WORKSPACE, TO_LOCAL, SEQUENTIAL };

/* What the host decides, and a place in the whole product for each block. */
struct Share {
    TCubeTiling tiling;
    int m, n, k, row, column;
    bool transposed_a, transposed_b;
};

static int tile(Request &r, int m, int n, int k, optiling::TCubeTiling &to) {
    using namespace matmul_tiling;
    fe::PlatFormInfos infos;
    platform_ascendc::PlatformAscendC platform(&infos);
    MultiCoreMatmulTiling host(platform);
    host.SetDim(int32_t(r.numbers[7]));
    host.SetAType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, DataType::DT_FLOAT16);
    host.SetBType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, DataType::DT_FLOAT16);
    host.SetCType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, DataType::DT_FLOAT);
    host.SetOrgShape(m, n, k);
    host.SetShape(m, n, k);
    host.SetBias(true);
    if (r.numbers[8]) host.SetFixSplit(int32_t(r.numbers[8]), int32_t(r.numbers[9]), -1);
    return int(host.GetTiling(to));
}

static TCubeTiling host_tiling(Request &r, int m, int n, int k) {
    optiling::TCubeTiling from;
    if (tile(r, m, n, k, from) != 0) std::abort();
    TCubeTiling to;
    static_assert(sizeof from == sizeof to, "host and kernel share a tiling");
    std::memcpy(static_cast<void *>(&to), &from, sizeof to);
    return to;
}

static Share share_of(Request &r) {
    Share s{};
    s.m = int(r.numbers[2]), s.n = int(r.numbers[3]), s.k = int(r.numbers[4]);
    s.transposed_a = r.numbers[5] != 0, s.transposed_b = r.numbers[6] != 0;
    s.tiling = host_tiling(r, s.m, s.n, s.k);
    const int down = (s.m + s.tiling.singleCoreM - 1) / s.tiling.singleCoreM;
    s.row = int(GetBlockIdx()) % down * s.tiling.singleCoreM;
    s.column = int(GetBlockIdx()) / down * s.tiling.singleCoreN;
    return s;
}

/* C = A B + bias by the ways that the object offers. */
template <typename T, typename Out>
void product(Request &r) {
    const Share s = share_of(r);
    if (GetBlockIdx() >= s.tiling.usedCoreNum) return;
    const Way way = Way(r.numbers[1]);
    GlobalTensor<T> a, b;
    GlobalTensor<float> bias;
    GlobalTensor<Out> c, workspace;
    a.SetGlobalBuffer(r.of<T>(0), uint64_t(s.m * s.k));
    b.SetGlobalBuffer(r.of<T>(1), uint64_t(s.k * s.n));
    bias.SetGlobalBuffer(r.of<float>(2), uint64_t(s.n));
    c.SetGlobalBuffer(r.of<Out>(3), uint64_t(s.m * s.n));
    const int rows = std::min(s.tiling.singleCoreM, s.m - s.row),
              columns = std::min(s.tiling.singleCoreN, s.n - s.column);
    TPipe pipe;
    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, T, true>, MatmulType<TPosition::GM, CubeFormat::ND, T, true>,
           MatmulType<TPosition::GM, CubeFormat::ND, Out>, MatmulType<TPosition::GM, CubeFormat::ND, float>, CFG_MDL>
        mm;
    REGIST_MATMUL_OBJ(&pipe, r.of<uint8_t>(4), mm, &s.tiling);
    mm.SetTensorA(a[uint64_t(s.transposed_a ? s.row : s.row * s.k)], s.transposed_a);
    mm.SetTensorB(b[uint64_t(s.transposed_b ? s.column * s.k : s.column)], s.transposed_b);
    mm.SetBias(bias[uint64_t(s.column)]);
    mm.SetTail(rows, columns);
    const GlobalTensor<Out> mine = c[uint64_t(s.row * s.n + s.column)];
    const int tiles =
        ((rows + s.tiling.baseM - 1) / s.tiling.baseM) * ((columns + s.tiling.baseN - 1) / s.tiling.baseN);
    if (way == ALL) {
        mm.IterateAll(mine);
    } else if (way == TILE_BY_TILE) {
        while (mm.Iterate()) mm.GetTensorC(mine);
    } else if (way == THROUGH_WORKSPACE) {
        const uint64_t room = uint64_t(s.m + s.tiling.baseM) * uint64_t(s.n + s.tiling.baseN);
        workspace.SetGlobalBuffer(r.of<Out>(4) + uint64_t(GetBlockIdx()) * room, room);
        mm.SetWorkspace(workspace);
        mm.template Iterate<false>();
        for (int i = 0; i < tiles; i++) mm.template GetTensorC<false>(mine);
    } else {
        TQue<TPosition::VECOUT, 2> out;
        pipe.InitBuffer(out, 2, uint32_t(s.tiling.baseM * s.tiling.baseN) * uint32_t(sizeof(Out)));
        while (mm.template Iterate<true>()) {
            LocalTensor<Out> tile = out.template AllocTensor<Out>();
            mm.template GetTensorC<true>(tile, false, true);
            out.EnQue(tile);
            tile = out.template DeQue<Out>();
            const MatrixOffset at = mm.GetOffsetC();
            DataCopyExtParams p(uint16_t(at.height), uint32_t(at.width) * uint32_t(sizeof(Out)), 0,
                                int64_t(s.n - at.width) * int64_t(sizeof(Out)), 0);
            DataCopyPad(mine[uint64_t(at.row * s.n + at.col)], tile, p);
            out.FreeTensor(tile);
        }
    }
    mm.End();
}

/* The vector core scales the product that it asks for, in a mixed kernel. */
void mixed(Request &r) {
    const int m = int(r.numbers[2]), n = int(r.numbers[3]), k = int(r.numbers[4]);
    TCubeTiling tiling = host_tiling(r, m, n, k);
    GlobalTensor<half> a, b;
    GlobalTensor<float> c, workspace;
    a.SetGlobalBuffer(r.of<half>(0), uint64_t(m * k));
    b.SetGlobalBuffer(r.of<half>(1), uint64_t(k * n));
    c.SetGlobalBuffer(r.of<float>(2), uint64_t(m * n));
    workspace.SetGlobalBuffer(r.of<float>(3), uint64_t(m * n));
    TPipe pipe;
    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half>, MatmulType<TPosition::GM, CubeFormat::ND, half>,
           MatmulType<TPosition::GM, CubeFormat::ND, float>>
        mm;
    REGIST_MATMUL_OBJ(&pipe, r.of<uint8_t>(3), mm, &tiling);
    const int half_rows = m / 2, first = int(GetSubBlockIdx()) * half_rows;
    mm.SetSingleShape(half_rows, n, k);
    mm.SetTensorA(a[uint64_t(first * k)]);
    mm.SetTensorB(b);
    mm.IterateAll<false>(workspace[uint64_t(first * n)], 0, false, true);
    mm.WaitIterateAll();
    mm.End();
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, uint32_t(half_rows * n * 4));
    pipe.InitBuffer(out, 1, uint32_t(half_rows * n * 4));
    LocalTensor<float> x = in.AllocTensor<float>();
    DataCopy(x, workspace[uint64_t(first * n)], uint32_t(half_rows * n));
    in.EnQue(x);
    x = in.DeQue<float>();
    LocalTensor<float> y = out.AllocTensor<float>();
    Muls(y, x, 2.0f, half_rows * n);
    out.EnQue(y);
    y = out.DeQue<float>();
    DataCopy(c[uint64_t(first * n)], y, uint32_t(half_rows * n));
    in.FreeTensor(x);
    out.FreeTensor(y);
}

/* int8 to half by one factor, or by a factor for each column. */
void quantised(Request &r) {
    const int m = int(r.numbers[2]), n = int(r.numbers[3]), k = int(r.numbers[4]);
    TCubeTiling tiling = host_tiling(r, m, n, k);
    GlobalTensor<int8_t> a, b;
    GlobalTensor<half> c;
    GlobalTensor<uint64_t> factors;
    a.SetGlobalBuffer(r.of<int8_t>(0), uint64_t(m * k));
    b.SetGlobalBuffer(r.of<int8_t>(1), uint64_t(k * n));
    factors.SetGlobalBuffer(r.of<uint64_t>(2), uint64_t(n));
    c.SetGlobalBuffer(r.of<half>(3), uint64_t(m * n));
    matmul::MatmulImpl<matmul::MatmulType<TPosition::GM, CubeFormat::ND, int8_t>,
                       matmul::MatmulType<TPosition::GM, CubeFormat::ND, int8_t>,
                       matmul::MatmulType<TPosition::GM, CubeFormat::ND, half>>
        mm;
    TPipe pipe;
    mm.Init(&tiling, &pipe);
    mm.SetSingleShape(m, n, k);
    mm.SetTensorA(a);
    mm.SetTensorB(b);
    if (r.numbers[1])
        mm.SetQuantVector(factors);
    else
        mm.SetQuantScalar(factors.GetValue(0));
    mm.IterateAll(c);
    mm.End();
}

/* Batches of attention's layout [B, S, N, D]: scores of each head. */
void batched(Request &r) {
    const int s = int(r.numbers[2]), heads = int(r.numbers[3]), d = int(r.numbers[4]);
    TCubeTiling tiling = host_tiling(r, s, s, d);
    tiling.ALayoutInfoB = tiling.BLayoutInfoB = tiling.CLayoutInfoB = 1;
    tiling.ALayoutInfoS = tiling.BLayoutInfoS = tiling.CLayoutInfoS1 = tiling.CLayoutInfoS2 = s;
    tiling.ALayoutInfoN = tiling.BLayoutInfoN = tiling.CLayoutInfoN = heads;
    tiling.ALayoutInfoG = tiling.BLayoutInfoG = tiling.CLayoutInfoG = 1;
    tiling.ALayoutInfoD = tiling.BLayoutInfoD = d;
    GlobalTensor<half> a, b;
    GlobalTensor<float> c;
    a.SetGlobalBuffer(r.of<half>(0), uint64_t(s * heads * d));
    b.SetGlobalBuffer(r.of<half>(1), uint64_t(s * heads * d));
    c.SetGlobalBuffer(r.of<float>(2), uint64_t(heads * s * s));
    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::BSNGD>,
           MatmulType<TPosition::GM, CubeFormat::ND, half, true, LayoutMode::BSNGD>,
           MatmulType<TPosition::GM, CubeFormat::ND, float, false, LayoutMode::BNGS1S2>>
        mm;
    TPipe pipe;
    mm.Init(&tiling, &pipe);
    mm.SetSingleShape(s, s, d);
    mm.SetTensorA(a);
    mm.SetTensorB(b, true);
    mm.IterateBatch(c, uint32_t(heads), uint32_t(heads), false);
    mm.End();
}

/* A product whose tiling the compiler knows. */
constexpr MatmulShapeParams SHAPE = {32, 48, 20, 16, 16, 20};
using OfHalf = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using OfFloat = MatmulType<TPosition::GM, CubeFormat::ND, float>;
constexpr MatmulApiStaticTiling constant_tiling() {
    MatmulConfig config = GetMMConfig<MatmulConfigMode::CONFIG_MDL>(SHAPE);
    config.enableSetBias = false;
    MatmulApiStaticTiling tiling = AscendC::GetMatmulApiTiling<OfHalf, OfHalf, OfFloat, OfFloat>(config);
    tiling.depthA1 = 2;
    return tiling;
}
constexpr MatmulApiStaticTiling CONSTANT = constant_tiling();
void with_constant_tiling(Request &r) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    Matmul<OfHalf, OfHalf, OfFloat, OfFloat, CONSTANT> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, static_cast<TCubeTiling *>(nullptr));
    GlobalTensor<half> a, b;
    GlobalTensor<float> c;
    a.SetGlobalBuffer(r.of<half>(0), 32 * 20), b.SetGlobalBuffer(r.of<half>(1), 20 * 48);
    c.SetGlobalBuffer(r.of<float>(2), 32 * 48);
    mm.SetTensorA(a), mm.SetTensorB(b);
    mm.IterateAll(c);
    mm.End();
}

/* What GetTiling returns, the share of a core, and the tile. */
void shares(Request &r) {
    optiling::TCubeTiling t;
    const int status = tile(r, int(r.numbers[2]), int(r.numbers[3]), int(r.numbers[4]), t);
    const int values[] = {status, t.get_singleCoreM(), t.get_singleCoreN(), t.get_baseM(), t.get_baseN()};
    std::memcpy(r.of<int>(0), values, sizeof values);
}

/* Each core of a kind notes that it ran. */
void note(Request &r, bool on_cube_cores) {
    if ((asc_cpu::core().kind == asc_cpu::CoreKind::Cube) != on_cube_cores) return;
    GlobalTensor<int32_t> noted;
    noted.SetGlobalBuffer(r.of<int32_t>(0), 64);
    noted[uint64_t(GetBlockIdx()) * 16].SetValue(0, 1);
}
void on_vector_cores(Request &r) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    note(r, false);
}
void on_both(Request &r) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    note(r, false);
}
void on_cube_cores(Request &r) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    note(r, true);
}

int main() {
    return serve([](Request &r) {
        switch (r.numbers[0]) {
            case 0: return product<half, float>(r);
            case 1: return product<bfloat16_t, bfloat16_t>(r);
            case 2: return product<float, float>(r);
            case 3: return mixed(r);
            case 4: return quantised(r);
            case 5: return batched(r);
            case 6: return on_vector_cores(r);
            case 7: return on_both(r);
            case 8: return on_cube_cores(r);
            case 9: return with_constant_tiling(r);
            case 10: return shares(r);
            default: std::abort();
        }
    });
}
