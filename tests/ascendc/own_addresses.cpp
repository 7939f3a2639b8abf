/* Tensors that a kernel places itself: address_, SetAddr, InitBuffer, and addresses of the unified buffer. */
#include "launch_program.h"

using namespace AscendC;

/* The memories of a core as one tensor each, as libraries of kernels have them. */
struct Memories {
    LocalTensor<uint8_t> ub, l1;
    Memories() {
        ub.InitBuffer(0, 196608);
        ub.address_.logicPos = static_cast<uint8_t>(TPosition::VECIN);
        l1.InitBuffer(0, 524288);
        l1.address_.logicPos = static_cast<uint8_t>(TPosition::A1);
    }
};

/* y = x + x: x goes to byte 512, is copied to byte 4096, and summed at byte 96. */
void twice(Request &r) {
    const uint32_t n = uint32_t(r.numbers[0]);
    GlobalTensor<float> x, y;
    x.SetGlobalBuffer(r.of<float>(0), n);
    y.SetGlobalBuffer(r.of<float>(1), n);
    const Memories memories;
    const LocalTensor<float> in = memories.ub[512].ReinterpretCast<float>();
    DataCopy(in, x, n);
    PipeBarrier<PIPE_ALL>();

    TBuffAddr from, to;
    from.bufferAddr = in.GetPhyAddr(), to.bufferAddr = 4096;
    LocalTensor<float> a, b, sum;
    a.SetAddr(from), b.SetAddr(to);
    DataCopy(b, a, n);
    PipeBarrier<PIPE_ALL>();

    sum.address_.logicPos = static_cast<uint8_t>(TPosition::VECOUT);
    sum.address_.bufferAddr = get_imm(96);
    sum.address_.dataLen = n * sizeof(float);
    Add(sum, a, b, int32_t(n));
    PipeBarrier<PIPE_ALL>();
    LocalTensor<float> same;
    same.address_ = sum.address_;
    DataCopy(y, same, n);
    PipeBarrier<PIPE_ALL>();

    const auto *address = (__ubuf__ float *)sum.address_.bufferAddr;
    ASCENDC_ASSERT(no_such_name > 0, { KERNEL_LOG(KERNEL_ERROR, "no text for the compiler"); });
    const bool right = address == sum.data() && sum.GetSize() == n && same.begin() == 96 &&
                       same.GetPosition() == TPosition::VECOUT && memories.l1.space() == asc_cpu::Space::L1 &&
                       memories.l1.GetSize() == 524288 && uint64_t(a.address_.bufferAddr) == in.GetPhyAddr();
    if (!right) asc_cpu::fail("ErrorRead1", "the tensors lie elsewhere");
}

/* Beyond the unified buffer: no memory holds the address. */
void outside(Request &) {
    LocalTensor<float> a;
    a.address_.bufferAddr = uint64_t(1) << 40;
}

int main() {
    return serve([](Request &r) { r.numbers[0] ? twice(r) : outside(r); });
}
