// ROWS rows of x times y, by the cube core of a block.
#pragma once
#include "kernel_operator.h"

constexpr uint32_t ROWS = 32;
constexpr uint32_t DEPTH = 32;
constexpr uint32_t COLUMNS = 32;
constexpr uint16_t MULTIPLIED = 3;

class Product {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR products, AscendC::TPipe *pipe) {
        uint64_t block = AscendC::GetBlockIdx();
        xGm_.SetGlobalBuffer((__gm__ half *)x + block * ROWS * DEPTH, ROWS * DEPTH);
        yGm_.SetGlobalBuffer((__gm__ half *)y, DEPTH * COLUMNS);
        wGm_.SetGlobalBuffer((__gm__ float *)products + block * ROWS * COLUMNS, ROWS * COLUMNS);
        pipe->InitBuffer(a1_, 1, ROWS * DEPTH * sizeof(half));
        pipe->InitBuffer(b1_, 1, DEPTH * COLUMNS * sizeof(half));
        pipe->InitBuffer(a2_, 1, ROWS * DEPTH * sizeof(half));
        pipe->InitBuffer(b2_, 1, DEPTH * COLUMNS * sizeof(half));
        pipe->InitBuffer(co1_, 1, ROWS * COLUMNS * sizeof(float));
    }
    __aicore__ inline void Process() {
        AscendC::LocalTensor<half> a = a1_.AllocTensor<half>();
        AscendC::LocalTensor<half> b = b1_.AllocTensor<half>();
        DataCopy(a, xGm_, AscendC::Nd2NzParams(1, ROWS, DEPTH, 0, DEPTH, ROWS, 1, 0));
        DataCopy(b, yGm_, AscendC::Nd2NzParams(1, DEPTH, COLUMNS, 0, COLUMNS, DEPTH, 1, 0));
        a1_.EnQue(a);
        b1_.EnQue(b);
        a = a1_.DeQue<half>();
        b = b1_.DeQue<half>();
        AscendC::LocalTensor<half> left = a2_.AllocTensor<half>();
        AscendC::LocalTensor<half> right = b2_.AllocTensor<half>();
        AscendC::LoadData2DParams bandOfA(0, DEPTH / 16, ROWS / 16, 0, 0, false, 0);
        for (uint32_t i = 0; i < ROWS / 16; i++) {
            LoadData(left[i * 16 * DEPTH], a[i * 256], bandOfA);
        }
        AscendC::LoadData2DParams bandOfB(0, COLUMNS / 16, DEPTH / 16, 0, 0, true, 0);
        for (uint32_t i = 0; i < DEPTH / 16; i++) {
            LoadData(right[i * 16 * COLUMNS], b[i * 256], bandOfB);
        }
        a1_.FreeTensor(a);
        b1_.FreeTensor(b);
        a2_.EnQue(left);
        b2_.EnQue(right);
        left = a2_.DeQue<half>();
        right = b2_.DeQue<half>();
        AscendC::LocalTensor<float> sums = co1_.AllocTensor<float>();
        AscendC::MmadParams shape;
        shape.m = ROWS;
        shape.n = COLUMNS;
        shape.k = DEPTH;
        Mmad(sums, left, right, shape);
        a2_.FreeTensor(left);
        b2_.FreeTensor(right);
        co1_.EnQue(sums);
        sums = co1_.DeQue<float>();
        Fixpipe(wGm_, sums, AscendC::FixpipeParamsV220(COLUMNS, ROWS, ROWS, COLUMNS, false));
        co1_.FreeTensor(sums);
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(MULTIPLIED);
    }

private:
    AscendC::GlobalTensor<half> xGm_, yGm_;
    AscendC::GlobalTensor<float> wGm_;
    AscendC::TQue<AscendC::TPosition::A1, 1> a1_;
    AscendC::TQue<AscendC::TPosition::B1, 1> b1_;
    AscendC::TQue<AscendC::TPosition::A2, 1> a2_;
    AscendC::TQue<AscendC::TPosition::B2, 1> b2_;
    AscendC::TQue<AscendC::TPosition::CO1, 1> co1_;
};
