/* Reads and writes: what nothing wrote, out of range, misaligned, lost, and parameters that no instruction has. */
#include "faulty_kernel.h"

using namespace AscendC;

struct Ranges : faulty::Kernel {
    using Kernel::Kernel;
    void run();
};

void Ranges::run() {
    LocalTensor<half> a = room.Get<half>(), b = second.Get<half>();
    if (is(20)) {
        Duplicate(b, half(1), N);
        if (mended) Duplicate(a, half(1), N);
        // 20 ErrorRead2
        Add(b, a, b, N);
    }
    if (is(21)) {
        Duplicate(a, half(1), mended ? N : N - 16);
        PipeBarrier<PIPE_ALL>();
        // 21 ErrorRead2
        DataCopy(y, a, N);
    }
    if (is(22)) {
        Duplicate(a, half(1), mended ? N : N / 2);
        // 22 ErrorRead2
        ReduceSum<half>(b, a, b, N);
    }
    if (is(23)) {
        Duplicate(a, half(1), 16);
        // 23 ErrorRead2
        b.SetValue(0, a.GetValue(mended ? 15 : 16));
    }
    if (is(24)) {
        // 24 ErrorRead3
        DataCopy(a, x[mended ? 768 : 800], N);
    }
    if (is(25)) {
        Duplicate(a, half(1), 2 * N);
        // 25 ErrorRead3
        Adds(b, a[N], half(1), mended ? N : N + 16);
    }
    if (is(26)) {
        // 26 ErrorRead3
        LocalTensor<half> part = a[mended ? 2 * N : 2 * N + 1];
        part.SetUserTag(1);
    }
    if (is(27)) {
        // 27 ErrorRead4
        DataCopy(a, x, mended ? 16 : 17);
    }
    if (is(28)) {
        Duplicate(a, half(1), N);
        // 28 ErrorRead4
        Adds(b, a[mended ? 16 : 8], half(1), 64);
    }
    if (is(29)) {
        // 29 ErrorWrite2
        Duplicate(a, half(1), mended ? 2 * N : 2 * N + 1);
    }
    if (is(30)) {
        Duplicate(a, half(1), N);
        PipeBarrier<PIPE_ALL>();
        // 30 ErrorWrite2
        DataCopy(y[mended ? 768 : 1008], a, N);
    }
    if (is(31)) {
        // 31 ErrorWrite4
        Duplicate(a[mended ? 16 : 3], half(1), 64);
    }
    if (is(32)) {
        Duplicate(a, half(1), N);
        PipeBarrier<PIPE_ALL>();
        // 32 ErrorWrite1
        DataCopy(mended ? y : x, a, N);
    }
    if (is(33)) {
        if (mended) nowhere.SetGlobalBuffer(x.GetPhyAddr(), 1024);
        // 33 ErrorRead1
        DataCopy(a, nowhere, N);
    }
    if (is(34)) {
        DataCopy(a, x, N);
        if (mended) PipeBarrier<PIPE_ALL>();
        if (mended) Adds(b, a, half(1), N);
        if (mended) PipeBarrier<PIPE_ALL>();
        // 34 ErrorWrite3
        DataCopy(a, x[N], N);
    }
    if (is(103)) { /* the sum is only of the last tile */
        Duplicate(b, half(0), N);
        for (uint32_t i = 0; i < 4; i++) {
            // 103 ErrorWrite3
            DataCopy(a, x[i * N], N);
            PipeBarrier<PIPE_ALL>();
            if (mended) Add(b, b, a, N);
            PipeBarrier<PIPE_ALL>();
        }
        if (!mended) Add(b, b, a, N);
    }
    if (is(104)) { /* a tail over the tail of the other input */
        const DataCopyExtParams tail{1, 100, 0, 0, 0};
        const DataCopyPadExtParams<half> zeros{true, 0, 14, half(0)};
        DataCopyPad(a, x[900], tail, zeros);
        // 104 ErrorWrite3
        DataCopyPad(mended ? b : a, wide[900], tail, zeros);
        PipeBarrier<PIPE_ALL>();
        Add(b, a, mended ? b : a, 64);
    }
    if (is(105)) { /* every other block of 32 bytes */
        const DataCopyParams blocks{4, 1, 1, 1};
        DataCopy(a, x, blocks);
        // 105 ErrorWrite3
        DataCopy(a[mended ? 16 : 0], x[16], blocks);
        PipeBarrier<PIPE_ALL>();
        Adds(b, a, half(1), mended ? 128 : 16);
    }
    if (is(35)) {
        Duplicate(a, half(1), N);
        // 35 ErrorParam
        Adds(b, a, half(1), uint64_t(mended ? 128 : 129), 1, {1, 1, 8, 8});
    }
    if (is(36)) {
        Duplicate(a, half(1), N);
        LocalTensor<uint32_t> at = b.ReinterpretCast<uint32_t>();
        LocalTensor<half> to = b[N];
        Duplicate(at, uint32_t(mended ? 1022 : 1024), 64);
        Duplicate(a, half(1), 2 * N);
        // 36 ErrorRead3
        Gather(to, a, at, 0u, 64u);
    }
    if (is(37)) {
        if (mended) Duplicate(a, half(1), N);
        if (mended) PipeBarrier<PIPE_ALL>();
        if (mended) DataCopy(workspace, a, N);
        if (mended) PipeBarrier<PIPE_ALL>();
        // 37 ErrorRead2
        DataCopy(b, workspace, N);
    }
    if (is(38)) {
        const DataCopyExtParams copy{1, 200, 0, 0, 0};
        // 38 ErrorRead3
        DataCopyPad(a, x[mended ? 900 : 1000], copy, DataCopyPadExtParams<half>{});
    }
    if (is(39)) {
        Duplicate(a, half(1), 2 * N);
        PipeBarrier<PIPE_ALL>();
        // 39 ErrorWrite2
        DataCopy(y, a, DataCopyParams{4, 8, 0, uint16_t(mended ? 8 : 20)});
    }
    if (is(70)) {
        Duplicate(a, half(1), 2 * N);
        // 70 ErrorRead3
        b.SetValue(0, a.GetValue(mended ? 0 : 2 * N));
    }
    if (is(71)) {
        // 71 ErrorWrite2
        a.SetValue(mended ? 0 : 2 * N, half(1));
    }
    if (is(72)) {
        Duplicate(a, half(1), N);
        LocalTensor<float> wider = b.ReinterpretCast<float>();
        // 72 ErrorWrite4
        Cast(wider[mended ? 8 : 4], a, RoundMode::CAST_NONE, 64);
    }
    if (is(73)) {
        Duplicate(a, half(1), 2 * N);
        // 73 ErrorRead3
        Adds(b, a, half(1), uint64_t(128), 2, {1, 1, 8, uint8_t(mended ? 8 : 30)});
    }
    if (is(74)) {
        Duplicate(a, half(1), 2 * N);
        // 74 ErrorParam
        WholeReduceSum(b, a, 128, mended ? 2 : 256, 1, 1, 0);
    }
    if (is(75)) {
        // 75 ErrorWrite2
        DataCopy(a[mended ? 0 : N + 16], x, N);
    }
    if (is(76)) {
        Duplicate(a, half(1), N);
        PipeBarrier<PIPE_ALL>();
        // 76 ErrorRead4
        DataCopy(y, a[mended ? 16 : 8], 16);
    }
    if (is(77)) {
        Duplicate(a, half(1), 2 * N);
        LocalTensor<uint8_t> mask = b[N].ReinterpretCast<uint8_t>();
        if (mended) Duplicate(b[N], half(1), 128);
        // 77 ErrorRead2
        Select(b, mask, a, half(0), SELMODE::VSEL_TENSOR_SCALAR_MODE, 128);
    }
    if (is(78)) {
        Duplicate(a, half(1), mended ? N : N - 1);
        // 78 ErrorRead2
        ReduceMax<half>(b, a, b[N], N);
    }
    if (is(92)) { /* two rows of 128, of which the left half is filled, and then twice as large */
        Duplicate(a, half(1), uint64_t(64), 2, 1, 8);
        PipeBarrier<PIPE_V>();
        Muls(b, a, half(2), uint64_t(64), 2, {1, 1, 8, 8});
        // 92 ErrorRead2
        Muls(b[64], a[64], half(2), uint64_t(64), 2, {1, 1, 8, 8});
        PipeBarrier<PIPE_ALL>();
        DataCopy(y, b[mended ? 128 : 64], 64);
    }
    if (is(115)) {
        // 115 ErrorWrite4
        DataCopy(a[mended ? 32 : 20], x, N);
    }
    if (is(116)) { /* rows of 20 elements, one behind the other */
        for (uint32_t row = 0; row < 3; row++)
            // 116 ErrorWrite4
            DataCopyPad(a[row * (mended ? 32 : 20)], x[row * 20], DataCopyExtParams{1, 40, 0, 0, 0}, {});
    }
    if (is(123)) { /* a buffer that this branch has no use for may be empty */
        pipe.InitBuffer(large, mended ? 512 : 0);
        LocalTensor<half> none = large.Get<half>();
        // 123 ErrorWrite2
        Duplicate(none, half(1), 16);
    }
    if (is(79)) {
        Duplicate(a, half(1), N);
        // 79 ErrorParam
        Adds(b, a, half(1), mended ? 128 : -128);
    }
}

int main() {
    return faulty::serve_all<Ranges>();
}
