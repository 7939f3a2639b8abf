/* Tensors that a kernel places itself: address_, SetAddr, InitBuffer, and addresses of the unified buffer; and those of
 * buffers and queues that are copied, or end before their tensors do. */
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
    ASCENDC_REPORT_NOT_SUPPORT(no_such_name > 0, "no text, and no semicolon")
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

using In = TQue<TPosition::VECIN, 1>;
using Out = TQue<TPosition::VECOUT, 1>;

/* The unified buffer whole, as libraries of kernels take it: the TBuf ends, and the TPipe is destroyed. */
struct Whole {
    TPipe pipe;
    LocalTensor<uint8_t> ub;
    Whole() {
        TBuf<TPosition::VECCALC> whole;
        pipe.InitBuffer(whole, 16384);
        ub = whole.Get<uint8_t>();
        pipe.Destroy();
    }
};

struct Queues {
    In in;
    Out out;
    TBuf<> room;
};

Queues made(TPipe &pipe, uint32_t bytes) {
    Queues q;
    pipe.InitBuffer(q.in, 1, bytes);
    pipe.InitBuffer(q.out, 1, bytes);
    pipe.InitBuffer(q.room, bytes);
    return q;
}

void fill(In in, const GlobalTensor<float> &x, uint32_t n) {
    LocalTensor<float> a = in.AllocTensor<float>();
    DataCopy(a, x, n);
    in.EnQue(a);
}

/* y = x + x, by queues that are returned, assigned and given by value. is_leaky: a copy keeps a tensor. */
void copied(Request &r, bool is_leaky) {
    const uint32_t n = uint32_t(r.numbers[1]);
    GlobalTensor<float> x, y;
    x.SetGlobalBuffer(r.of<float>(0), n);
    y.SetGlobalBuffer(r.of<float>(1), n);
    TPipe pipe;
    Queues mine, others = made(pipe, uint32_t(n * sizeof(float)));
    mine = others;
    fill(others.in, x, n);
    LocalTensor<float> a = mine.in.DeQue<float>(), sum = mine.out.AllocTensor<float>(), b = mine.room.Get<float>();
    Adds(b, a, 0.0f, int32_t(n));
    PipeBarrier<PIPE_V>();
    Add(sum, a, b, int32_t(n));
    Out out = mine.out;
    out.EnQue(sum);
    if (!is_leaky) mine.in.FreeTensor(a);
    sum = others.out.DeQue<float>();
    DataCopy(y, sum, n);
    others.out.FreeTensor(sum);
}

/* y = x + x in memory whose TBuf is gone; what lies there since must not matter. */
void outlived(Request &r) {
    const uint32_t n = uint32_t(r.numbers[1]);
    GlobalTensor<float> x, y;
    x.SetGlobalBuffer(r.of<float>(0), n);
    y.SetGlobalBuffer(r.of<float>(1), n);
    const Whole whole;
    volatile uint8_t noise[512];
    for (volatile uint8_t &byte : noise) byte = 1;
    const LocalTensor<float> a = whole.ub.ReinterpretCast<float>(), sum = whole.ub[4096].ReinterpretCast<float>();
    DataCopy(a, x, n);
    PipeBarrier<PIPE_ALL>();
    Add(sum, a, a, int32_t(n));
    PipeBarrier<PIPE_ALL>();
    DataCopy(y, sum, n);
    PipeBarrier<PIPE_ALL>();
}

/* y = x times a factor of each row, of tiles of 32 rows of 64, of which `rows` rows of 48 are there: what is computed
 * of the others is taken by nobody. */
void tile(Request &r) {
    const uint32_t rows = uint32_t(r.numbers[1]), width = 64, there = 48;
    GlobalTensor<float> x, factors, y;
    x.SetGlobalBuffer(r.of<float>(0), rows * there);
    factors.SetGlobalBuffer(r.of<float>(1), 32);
    y.SetGlobalBuffer(r.of<float>(2), rows * there);
    TPipe pipe;
    TBuf<> room, wide, narrow;
    pipe.InitBuffer(room, 32 * width * 4);
    pipe.InitBuffer(wide, 32 * 32);
    pipe.InitBuffer(narrow, 32 * 4);
    LocalTensor<float> a = room.Get<float>(), by = wide.Get<float>(), one = narrow.Get<float>();
    DataCopyPad(a, x, {uint16_t(rows), there * 4, 0, (width - there) / 8, 0}, {false, 0, 0, 0});
    DataCopyPad(one, factors, {1, rows * 4, 0, 0, 0}, {false, 0, 0, 0});
    PipeBarrier<PIPE_ALL>();
    Brcb(by, one, 4, {1, 8});
    PipeBarrier<PIPE_V>();
    for (uint32_t column = 0; column < width; column += 32)
        Mul(a[column], a[column], by, uint64_t(32), 32, {1, 1, 0, 8, 8, 1});
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(y, a, DataCopyExtParams{uint16_t(rows), there * 4, (width - there) / 8, 0, 0});
    PipeBarrier<PIPE_ALL>();
}

int main() {
    return serve([](Request &r) {
        switch (r.numbers[0]) {
            case 0: return outside(r);
            case 1: return copied(r, false);
            case 2: return copied(r, true);
            case 3: return outlived(r);
            case 4: return tile(r);
            default: return twice(r);
        }
    });
}
