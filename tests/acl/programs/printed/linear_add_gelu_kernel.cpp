/* out = GELU(x w + bias), a tile of BM x BN a block, with the printed signature. */
#include "kernel_operator.h"
#include "tiling_strategy.h"

using namespace AscendC;

namespace {

constexpr int WIDTH = 64;

/* GELU by its tanh form, in place. */
__aicore__ inline void gelu(const LocalTensor<float> &y, const LocalTensor<float> &t, float c) {
    Mul(t, y, y, WIDTH);
    Muls(t, t, c, WIDTH);
    Adds(t, t, 1.0f, WIDTH);
    Mul(t, t, y, WIDTH);
    Muls(t, t, -1.5957691216f, WIDTH);
    Exp(t, t, WIDTH);
    Adds(t, t, 1.0f, WIDTH);
    Div(y, y, t, WIDTH);
}

}  // namespace

extern "C" __global__ __aicore__ void LinearAddGeluKernel(__gm__ float *x, __gm__ float *w, __gm__ float *bias,
                                                          __gm__ float *out, __gm__ LinearAddGeluTiling *tiling) {
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> rows;
    TQue<QuePosition::VECOUT, 2> results;
    TBuf<QuePosition::VECCALC> kept;
    pipe.InitBuffer(rows, 2, WIDTH * sizeof(float));
    pipe.InitBuffer(results, 2, WIDTH * sizeof(float));
    pipe.InitBuffer(kept, WIDTH * sizeof(float));
    GlobalTensor<float> xs, ws, biases, outs;
    xs.SetGlobalBuffer(x, uint64_t(tiling->M * tiling->K));
    ws.SetGlobalBuffer(w, uint64_t(tiling->K * tiling->N));
    biases.SetGlobalBuffer(bias, uint64_t(tiling->N));
    outs.SetGlobalBuffer(out, uint64_t(tiling->M * tiling->N));
    const int m_start = int(GetBlockIdx()) / tiling->gridN * tiling->BM;
    const int n_start = int(GetBlockIdx()) % tiling->gridN * tiling->BN;
    const auto load = [&](const GlobalTensor<float> &from, int at) {
        LocalTensor<float> row = rows.AllocTensor<float>();
        DataCopy(row, from[uint64_t(at)], WIDTH);
        rows.EnQue(row);
        return rows.DeQue<float>();
    };
    for (int m = m_start; m < tiling->M && m < m_start + tiling->BM; m++) {
        LocalTensor<float> y = results.AllocTensor<float>(), row = load(biases, n_start);
        Adds(y, row, 0.0f, WIDTH);
        rows.FreeTensor(row);
        for (int k = 0; k < tiling->K; k++) {
            row = load(ws, k * tiling->N + n_start);
            Axpy(y, row, xs.GetValue(uint64_t(m * tiling->K + k)), WIDTH);
            rows.FreeTensor(row);
        }
        gelu(y, kept.Get<float>(), tiling->gelu_const);
        results.EnQue(y);
        y = results.DeQue<float>();
        DataCopy(outs[uint64_t(m * tiling->N + n_start)], y, WIDTH);
        results.FreeTensor(y);
    }
}
