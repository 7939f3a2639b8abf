/* What costs nothing but speed. */
#include "faulty_kernel.h"

using namespace AscendC;

struct Advice : faulty::Kernel {
    using Kernel::Kernel;
    void run();
};

void Advice::run() {
    LocalTensor<half> a = room.Get<half>(), b = second.Get<half>();
    if (is(80)) {
        for (uint32_t i = 0; i < 16; i++) {
            // 80 AdviceCopy
            DataCopy(a[i * 16], x[i * 16], mended ? 256 : 16);
            PipeBarrier<PIPE_ALL>();
            if (mended) break;
            Adds(b, a[i * 16], half(1), 16);
            PipeBarrier<PIPE_ALL>();
        }
    }
    if (is(81)) {
        for (uint32_t i = 0; i < 16; i++) {
            DataCopyExtParams copy{uint16_t(mended ? 1 : 4), mended ? 512u : 32u, 0, 0, 0};
            // 81 AdviceCopy
            DataCopyPad(a, x[mended ? 256 : 0], copy, DataCopyPadExtParams<half>{});
            PipeBarrier<PIPE_ALL>();
            if (mended) break;
            Adds(b, a, half(1), 64);
            PipeBarrier<PIPE_ALL>();
        }
    }
    if (is(82)) {
        Duplicate(a, half(1), N);
        half sum = 0;
        for (uint32_t i = 0; i < (mended ? 8u : 1100u); i++)
            // 82 AdviceScalar
            sum = half(float(sum) + float(a.GetValue(i % N)));
        b.SetValue(0, sum);
    }
    if (is(83)) {
        // 83 AdviceBuffer
        pipe.InitBuffer(large, mended ? 100000 : 64);
        for (uint32_t i = 0; i < 17; i++) {
            DataCopy(a, wide, N);
            PipeBarrier<PIPE_ALL>();
            Adds(b, a, half(1), N);
            PipeBarrier<PIPE_ALL>();
        }
    }
    if (is(84)) {
        pipe.InitBuffer(large, 100000);
        for (uint32_t i = 0; i < (mended ? 1 : 28); i++) {
            // 84 AdviceRead
            DataCopy(a, wide[i * N % 2048], 2 * N);
            PipeBarrier<PIPE_ALL>();
            Adds(b, a, half(1), N);
            PipeBarrier<PIPE_ALL>();
        }
    }
    if (is(85)) {
        pipe.InitBuffer(large, 100000);
        LocalTensor<float> t = large.Get<float>();
        Duplicate(t, 1.0f, 25000);
        // 85 AdviceBank
        for (uint32_t i = 0; i < 20; i++) Add(t[16384], t, t[mended ? 8256 : 8192], 4096);
    }
    if (is(86)) {
        pipe.InitBuffer(large, 100000);
        LocalTensor<float> t = large.Get<float>();
        Duplicate(t, 1.0f, 25000);
        const uint8_t stride = mended ? 1 : 16;
        const UnaryRepeatParams spread{1, stride, 8, 8};
        // 86 AdviceBank
        for (uint32_t i = 0; i < 20; i++) Adds(t[20000], t, 1.0f, 64, 60, spread);
    }
}

int main() {
    return faulty::serve_all<Advice>();
}
