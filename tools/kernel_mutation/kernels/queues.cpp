// run: --input_shape "[2100];[2100]" --block_dim 4 --arg total=2100 --arg slope=0.5
// z = max(x, slope*x) + y, tile by tile, with queues; the last tile of a block copies what is left.
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t TILE = 128;

class Leaky {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total, float slope, TPipe *pipe) {
        slope_ = slope;
        uint32_t share = (total / GetBlockNum() + 8) / 8 * 8;
        uint32_t begin = share * GetBlockIdx();
        length_ = begin >= total ? 0 : total - begin < share ? total - begin : share;
        xGm_.SetGlobalBuffer((__gm__ float *)x + begin, length_);
        yGm_.SetGlobalBuffer((__gm__ float *)y + begin, length_);
        zGm_.SetGlobalBuffer((__gm__ float *)z + begin, length_);
        pipe->InitBuffer(inX_, 2, TILE * sizeof(float));
        pipe->InitBuffer(inY_, 2, TILE * sizeof(float));
        pipe->InitBuffer(out_, 2, TILE * sizeof(float));
        pipe->InitBuffer(room_, TILE * sizeof(float));
    }
    __aicore__ inline void Process() {
        uint32_t tiles = (length_ + TILE - 1) / TILE;
        for (uint32_t i = 0; i < tiles; i++) {
            uint32_t n = length_ - i * TILE < TILE ? length_ - i * TILE : TILE;
            CopyIn(i, n);
            Compute(n);
            CopyOut(i, n);
        }
    }

private:
    __aicore__ inline void CopyIn(uint32_t i, uint32_t n) {
        LocalTensor<float> x = inX_.AllocTensor<float>();
        LocalTensor<float> y = inY_.AllocTensor<float>();
        DataCopyExtParams copy{1, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0};
        DataCopyPadExtParams<float> pad{false, 0, 0, 0};
        DataCopyPad(x, xGm_[i * TILE], copy, pad);
        inX_.EnQue(x);
        DataCopyPad(y, yGm_[i * TILE], copy, pad);
        inY_.EnQue(y);
    }
    __aicore__ inline void Compute(uint32_t n) {
        LocalTensor<float> x = inX_.DeQue<float>();
        LocalTensor<float> y = inY_.DeQue<float>();
        LocalTensor<float> z = out_.AllocTensor<float>();
        LocalTensor<float> scaled = room_.Get<float>();
        Muls(scaled, x, slope_, n);
        PipeBarrier<PIPE_V>();
        Max(scaled, scaled, x, n);
        PipeBarrier<PIPE_V>();
        Add(z, scaled, y, n);
        out_.EnQue(z);
        inX_.FreeTensor(x);
        inY_.FreeTensor(y);
    }
    __aicore__ inline void CopyOut(uint32_t i, uint32_t n) {
        LocalTensor<float> z = out_.DeQue<float>();
        DataCopyExtParams copy{1, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0};
        DataCopyPad(zGm_[i * TILE], z, copy);
        out_.FreeTensor(z);
    }
    GlobalTensor<float> xGm_, yGm_, zGm_;
    TQue<QuePosition::VECIN, 2> inX_;
    TQue<QuePosition::VECIN, 2> inY_;
    TQue<QuePosition::VECOUT, 2> out_;
    TBuf<TPosition::VECCALC> room_;
    uint32_t length_;
    float slope_;
};

extern "C" __global__ __aicore__ void leaky(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total, float slope) {
    TPipe pipe;
    Leaky op;
    op.Init(x, y, z, total, slope, &pipe);
    op.Process();
}
