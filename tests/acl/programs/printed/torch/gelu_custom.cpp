// clang-format off: printed so.
// gelu_custom.cpp - Ascend C核函数实现
#include "kernel_operator.h"
using namespace AscendC;
constexpr int32_t BLOCK_SIZE = 256;
constexpr int32_t TILE_NUM = 8;
class GeluCustomKernel {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t totalLength) {
        xGm_.set_global_buffer((__gm__ half*)x, totalLength);
        yGm_.set_global_buffer((__gm__ half*)y, totalLength);
        totalLength_ = totalLength;
        // 每个核处理BLOCK_SIZE个元素
        pipe_.init_buffer(inQueueX_, TILE_NUM, BLOCK_SIZE * sizeof(half));
        pipe_.init_buffer(outQueueY_, TILE_NUM, BLOCK_SIZE * sizeof(half));
    }
    __aicore__ inline void Process() {
        const uint32_t loopCount = totalLength_ / BLOCK_SIZE;
        for (uint32_t i = 0; i < loopCount; i++) {
            // 流水线阶段1: 从Global Memory加载数据
            CopyIn(i);
            // 流水线阶段2: 计算GELU
            Compute();
            // 流水线阶段3: 写回结果
            CopyOut(i);
        }
    }
private:
    __aicore__ inline void CopyIn(uint32_t progress) {
        LocalTensor<half> xLocal = inQueueX_.alloc_tensor<half>();
        // 使用DataCopy实现高效内存传输
        DataCopy(xLocal, xGm_[progress * BLOCK_SIZE], BLOCK_SIZE);
        inQueueX_.enque(xLocal);
    }
    __aicore__ inline void Compute() {
        LocalTensor<half> xLocal = inQueueX_.deque<half>();
        LocalTensor<half> yLocal = outQueueY_.alloc_tensor<half>();
        // GELU的tanh近似: 0.5*x*(1+tanh(sqrt(2/pi)*(x+0.044715*x^3)))
        const half sqrt_2_over_pi = 0.7978845608h;
        const half coefficient = 0.044715h;
        const half half_val = 0.5h;
        const half one = 1.0h;
        // 向量化计算
        for (int32_t i = 0; i < BLOCK_SIZE; i++) {
            half x = xLocal.get_value(i);
            half x_cubed = x * x * x;
            half inner = x + coefficient * x_cubed;
            half tanh_input = sqrt_2_over_pi * inner;
            half tanh_val = fast_tanh(tanh_input);
            half result = half_val * x * (one + tanh_val);
            yLocal.set_value(i, result);
        }
        inQueueX_.free_tensor(xLocal);
        outQueueY_.enque(yLocal);
    }
    __aicore__ inline void CopyOut(uint32_t progress) {
        LocalTensor<half> yLocal = outQueueY_.deque<half>();
        DataCopy(yGm_[progress * BLOCK_SIZE], yLocal, BLOCK_SIZE);
        outQueueY_.free_tensor(yLocal);
    }
    __aicore__ inline half fast_tanh(half x) {
        // 高效tanh近似实现，使用分段有理函数
        float x_f = static_cast<float>(x);
        if (x_f > 3.0f) return 1.0h;
        if (x_f < -3.0f) return -1.0h;
        float x2 = x_f * x_f;
        // [3/3] Pade近似
        float numerator = x_f * (135135.0f + x2 * (17325.0f + x2 * 378.0f));
        float denominator = 135135.0f + x2 * (62370.0f + x2 * (3150.0f + 28.0f * x2));
        return static_cast<half>(numerator / denominator);
    }
    TPipe pipe_;
    TQue<QuePosition::VECIN, TILE_NUM> inQueueX_;
    TQue<QuePosition::VECOUT, TILE_NUM> outQueueY_;
    GlobalTensor<half> xGm_;
    GlobalTensor<half> yGm_;
    uint32_t totalLength_;
};
extern "C" __global__ __aicore__ void gelu_custom(GM_ADDR x, GM_ADDR y, uint32_t totalLength) {
    GeluCustomKernel op;
    op.Init(x, y, totalLength);
    op.Process();
}
