#include "kernel_operator.h"

using namespace AscendC;

/* z = alpha*x + y, for any length: the last tile of a block copies what is left. */
class KernelScaledAdd {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, const ScaledAddTilingData &tiling, TPipe *pipe) {
        const uint64_t begin = tiling.perBlock * GetBlockIdx();
        count = tiling.length - begin < tiling.perBlock ? tiling.length - begin : tiling.perBlock;
        tile = tiling.tile;
        alpha = tiling.alpha;
        xGm.SetGlobalBuffer((__gm__ DTYPE_X *)x + begin, count);
        yGm.SetGlobalBuffer((__gm__ DTYPE_X *)y + begin, count);
        zGm.SetGlobalBuffer((__gm__ DTYPE_X *)z + begin, count);
        pipe->InitBuffer(inX, 2, tile * sizeof(DTYPE_X));
        pipe->InitBuffer(inY, 2, tile * sizeof(DTYPE_X));
        pipe->InitBuffer(outZ, 2, tile * sizeof(DTYPE_X));
    }
    __aicore__ inline void Process() {
        for (uint64_t at = 0; at < count; at += tile) {
            const uint32_t n = count - at < tile ? count - at : tile;
            CopyIn(at, n);
            Compute(n);
            CopyOut(at, n);
        }
    }

private:
    __aicore__ inline void CopyIn(uint64_t at, uint32_t n) {
        LocalTensor<DTYPE_X> a = inX.AllocTensor<DTYPE_X>();
        LocalTensor<DTYPE_X> b = inY.AllocTensor<DTYPE_X>();
        DataCopyExtParams copy{1, static_cast<uint32_t>(n * sizeof(DTYPE_X)), 0, 0, 0};
        DataCopyPadExtParams<DTYPE_X> pad{false, 0, 0, 0};
        DataCopyPad(a, xGm[at], copy, pad);
        DataCopyPad(b, yGm[at], copy, pad);
        inX.EnQue(a);
        inY.EnQue(b);
    }
    __aicore__ inline void Compute(uint32_t n) {
        LocalTensor<DTYPE_X> a = inX.DeQue<DTYPE_X>();
        LocalTensor<DTYPE_X> b = inY.DeQue<DTYPE_X>();
        LocalTensor<DTYPE_X> c = outZ.AllocTensor<DTYPE_X>();
        Muls(c, a, static_cast<DTYPE_X>(alpha), n);
        PipeBarrier<PIPE_V>();
        Add(c, c, b, n);
        outZ.EnQue(c);
        inX.FreeTensor(a);
        inY.FreeTensor(b);
    }
    __aicore__ inline void CopyOut(uint64_t at, uint32_t n) {
        LocalTensor<DTYPE_X> c = outZ.DeQue<DTYPE_X>();
        DataCopyExtParams copy{1, static_cast<uint32_t>(n * sizeof(DTYPE_X)), 0, 0, 0};
        DataCopyPad(zGm[at], c, copy);
        outZ.FreeTensor(c);
    }
    TQue<QuePosition::VECIN, 2> inX, inY;
    TQue<QuePosition::VECOUT, 2> outZ;
    GlobalTensor<DTYPE_X> xGm, yGm, zGm;
    uint64_t count;
    uint32_t tile;
    float alpha;
};

extern "C" __global__ __aicore__ void scaled_add(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(tilingData, tiling);
    if (TILING_KEY_IS(1)) {
        TPipe pipe;
        KernelScaledAdd op;
        op.Init(x, y, z, tilingData, &pipe);
        op.Process();
    }
}
