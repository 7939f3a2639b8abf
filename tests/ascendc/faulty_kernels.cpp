/* Kernels with one fault each, and the same ones mended. The request's numbers are the kernel's and whether it is
 * mended. Above the line that is named stands a comment: the kernel's number and its kind of fault. Arrays: x and y of
 * 1024 half, and a workspace of 1024 half. */
#include "launch_program.h"

using namespace AscendC;

constexpr uint32_t N = 256;

struct Kernel {
    explicit Kernel(Request &r) : number(r.numbers[0]), mended(r.numbers[1] != 0) {
        x.SetGlobalBuffer(r.of<half>(0), 1024);
        y.SetGlobalBuffer(r.of<half>(1), 1024);
        workspace.SetGlobalBuffer(r.of<half>(2), 1024);
        pipe.InitBuffer(in, 2, N * sizeof(half));
        pipe.InitBuffer(out, 2, N * sizeof(half));
        pipe.InitBuffer(room, 2 * N * sizeof(half));
        pipe.InitBuffer(second, 2 * N * sizeof(half));
    }
    bool is(int64_t wanted) const { return number == wanted; }
    bool broken(int64_t wanted) const { return number == wanted && !mended; }
    LocalTensor<half> loaded() {
        LocalTensor<half> t = in.AllocTensor<half>();
        DataCopy(t, x, N);
        in.EnQue(t);
        return in.DeQue<half>();
    }
    void store(const LocalTensor<half> &t, uint32_t n = N, uint64_t at = 0) {
        out.EnQue(t);
        LocalTensor<half> ready = out.DeQue<half>();
        DataCopy(y[at], ready, n);
        out.FreeTensor(ready);
    }

    void queues();
    void ranges();
    void order();
    void cores();
    void run() {
        queues();
        ranges();
        order();
        cores();
    }

    int64_t number;
    bool mended;
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    TQue<TPosition::VECOUT, 2> out;
    TQue<TPosition::VECIN, 2> never;
    TBuf<> room, second;
    GlobalTensor<half> x, y, workspace, nowhere;
};

void Kernel::queues() {
    if (is(0)) {
        LocalTensor<half> t = loaded(), z = out.AllocTensor<half>();
        if (!mended) in.FreeTensor(t);
        // 0 ErrorRead1
        Adds(z, t, half(1), N);
        if (mended) in.FreeTensor(t);
        store(z);
    }
    if (is(1)) {
        LocalTensor<half> z, t = loaded();
        if (mended) z = out.AllocTensor<half>();
        // 1 ErrorWrite1
        Adds(z, t, half(1), N);
        in.FreeTensor(t);
        store(z);
    }
    if (is(2)) {
        // 2 ErrorLeak
        LocalTensor<half> t = in.AllocTensor<half>();
        if (mended) in.FreeTensor(t);
    }
    if (is(3)) {
        LocalTensor<half> t = loaded();
        in.FreeTensor(t);
        // 3 ErrorFree
        if (!mended) in.FreeTensor(t);
    }
    if (is(4)) {
        if (mended) pipe.InitBuffer(never, 1, 64);
        // 4 ErrorBuffer0
        LocalTensor<half> t = never.AllocTensor<half>();
        never.FreeTensor(t);
    }
    if (is(5)) {
        // 5 ErrorBuffer0
        pipe.InitBuffer(never, 2, mended ? 1024 : 100000);
    }
    if (is(6)) {
        LocalTensor<half> t = in.AllocTensor<half>();
        DataCopy(t, x, N);
        if (mended) in.EnQue(t);
        // 6 ErrorBuffer3
        t = in.DeQue<half>();
        in.FreeTensor(t);
    }
    if (is(7)) {
        LocalTensor<half> a = in.AllocTensor<half>(), b = in.AllocTensor<half>();
        if (mended) in.FreeTensor(a);
        // 7 ErrorBuffer3
        LocalTensor<half> c = in.AllocTensor<half>();
        if (!mended) in.FreeTensor(a);
        in.FreeTensor(b);
        in.FreeTensor(c);
    }
    if (is(8)) {
        LocalTensor<half> t = loaded();
        // 8 ErrorBuffer4
        mended ? in.FreeTensor(t) : out.FreeTensor(t);
    }
    if (is(9)) {
        LocalTensor<half> t = in.AllocTensor<half>(), z = out.AllocTensor<half>();
        DataCopy(t, x, N);
        in.EnQue(t);
        if (mended) t = in.DeQue<half>();
        // 9 ErrorBuffer1
        Adds(z, t, half(1), N);
        in.FreeTensor(t);
        store(z);
    }
}

void Kernel::ranges() {
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
}

void Kernel::order() {
    LocalTensor<half> a = room.Get<half>(), b = second.Get<half>();
    const auto wait = [&](auto pair) {
        if (!mended) return;
        SetFlag<decltype(pair)::value>(EVENT_ID0);
        WaitFlag<decltype(pair)::value>(EVENT_ID0);
    };
    using MTE2_V = std::integral_constant<HardEvent, HardEvent::MTE2_V>;
    using V_MTE3 = std::integral_constant<HardEvent, HardEvent::V_MTE3>;
    using V_MTE2 = std::integral_constant<HardEvent, HardEvent::V_MTE2>;
    using MTE3_V = std::integral_constant<HardEvent, HardEvent::MTE3_V>;
    using MTE3_MTE2 = std::integral_constant<HardEvent, HardEvent::MTE3_MTE2>;
    if (is(40)) {
        DataCopy(a, x, N);
        wait(MTE2_V());
        // 40 ErrorSync2
        Adds(b, a, half(1), N);
    }
    if (is(41)) {
        Duplicate(a, half(1), N);
        wait(V_MTE3());
        // 41 ErrorSync2
        DataCopy(y, a, N);
    }
    if (is(42)) {
        Duplicate(a, half(1), N);
        Adds(b, a, half(1), N);
        wait(V_MTE2());
        // 42 ErrorSync2
        DataCopy(a, x, N);
    }
    if (is(43)) {
        Duplicate(a, half(1), N);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
        DataCopy(y, a, N);
        wait(MTE3_V());
        // 43 ErrorSync2
        Duplicate(a, half(2), N);
    }
    if (is(44)) {
        Duplicate(a, half(1), N);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
        DataCopy(y, a, N);
        SetFlag<HardEvent::V_MTE2>(EVENT_ID2);
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID2);
        wait(MTE3_MTE2());
        // 44 ErrorSync2
        DataCopy(a, x, N);
    }
    if (is(45)) {
        if (mended) SetFlag<HardEvent::MTE2_V>(EVENT_ID3);
        // 45 ErrorSync3
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID3);
    }
    if (is(46)) {
        // 46 ErrorSync3
        SetFlag<HardEvent::MTE2_V>(EVENT_ID3);
        if (mended) WaitFlag<HardEvent::MTE2_V>(EVENT_ID3);
    }
    if (is(47)) {
        SetFlag<HardEvent::MTE2_V>(EVENT_ID3);
        if (mended) WaitFlag<HardEvent::MTE2_V>(EVENT_ID3);
        // 47 ErrorSync7
        SetFlag<HardEvent::MTE2_V>(EVENT_ID3);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID3);
    }
    if (is(48)) {
        Duplicate(a, half(1), N);
        PipeBarrier<PIPE_ALL>();
        DataCopy(workspace, a, N);
        wait(MTE3_MTE2());
        // 48 ErrorSync4
        DataCopy(b, workspace, N);
    }
}

void Kernel::cores() {
    LocalTensor<half> a = room.Get<half>(), b = second.Get<half>();
    const int64_t block = GetBlockIdx();
    if (is(60)) {
        Duplicate(a, half(float(block)), N);
        PipeBarrier<PIPE_ALL>();
        DataCopy(workspace[uint64_t(block) * N], a, N);
        PipeBarrier<PIPE_ALL>();
        if (mended) SyncAll();
        // 60 ErrorSync4
        if (block == 1) DataCopy(b, workspace, N);
    }
    if (is(61)) {
        // 61 ErrorSync6
        if (mended || block == 0) SyncAll();
    }
    if (is(62)) {
        if (mended) CrossCoreSetFlag<0, PIPE_MTE3>(4);
        // 62 ErrorSync6
        CrossCoreWaitFlag(4);
    }
    if (is(63)) {
        // 63 ErrorWrite6
        y.SetValue(uint64_t(block) * (mended ? 32 : 1), half(1));
    }
}

int main() {
    return serve([](Request &r) { Kernel(r).run(); });
}
