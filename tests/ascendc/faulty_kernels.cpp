/* Kernels with one fault each, and the same ones mended. The request's numbers are the kernel's and whether it is
 * mended. Above the line that is named stands a comment: the kernel's number, its kind of fault, and how it is
 * launched, if not as usual. Arrays: x of 1024 half, another of 4096 half, y and a workspace of 1024 half. */
#include "launch_program.h"

using namespace AscendC;

constexpr uint32_t N = 256;

struct Kernel {
    explicit Kernel(Request &r) : number(r.numbers[0]), mended(r.numbers[1] != 0) {
        x.SetGlobalBuffer(r.of<half>(0), 1024);
        y.SetGlobalBuffer(r.of<half>(2), 1024);
        workspace.SetGlobalBuffer(r.of<half>(3), 1024);
        wide.SetGlobalBuffer(r.of<half>(1), 4096);
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

    void destructors();
    void queues();
    void ranges();
    void order();
    void cores();
    void advice();
    void run() {
        destructors();
        queues();
        ranges();
        order();
        cores();
        advice();
    }

    int64_t number;
    bool mended;
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    TQue<TPosition::VECOUT, 2> out;
    TQue<TPosition::VECIN, 2> never;
    TBuf<> room, second, large;
    TBufPool<TPosition::VECCALC, 2> pool;
    GlobalTensor<half> x, y, workspace, nowhere, wide;
};

/* Destructors, which let no exception out, and one of a class with virtual functions. */
struct Waiting {
    explicit Waiting(bool has) : flagged(has) {}
    virtual ~Waiting() = default;
    bool flagged;
};
struct WaitsAtEnd : Waiting {
    using Waiting::Waiting;
    ~WaitsAtEnd() override {
        if (flagged) SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID3);
        // 90 ErrorSync3
        WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID3);
    }
    TQue<TPosition::VECIN, 1> queue;
};
struct SyncsAtEnd {
    ~SyncsAtEnd() {
        // 67 ErrorSync6, 2 cores
        SyncAll();
    }
};

void Kernel::destructors() {
    if (is(90)) WaitsAtEnd w(mended);
    if (is(91)) {
        WaitsAtEnd w(mended); /* fails, too, and isn't told */
        // 91 ErrorRead3
        DataCopy(room.Get<half>(), x[mended ? 0 : 1024], N);
    }
    if (is(66)) {
        SyncsAtEnd s;
        if (broken(66) && GetBlockIdx() == 1) {
            GlobalTensor<half> z = x[512];
            LocalTensor<half> t = room.Get<half>();
            // 66 ErrorWrite2, 2 cores
            DataCopy(t, z, 1024);
        }
    }
    if (is(67)) {
        SyncsAtEnd s;
        if (!mended && GetBlockIdx() == 1) SyncAll();
    }
}

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
    if (is(10)) {
        LocalTensor<half> t = in.AllocTensor<half>();
        DataCopy(t, x, N);
        in.EnQue(t);
        if (mended) t = in.DeQue<half>();
        // 10 ErrorFree
        in.FreeTensor(t);
    }
    if (is(11)) {
        LocalTensor<half> t = in.AllocTensor<half>();
        DataCopy(t, x, N);
        in.EnQue(t);
        // 11 ErrorBuffer3
        if (!mended) in.EnQue(t);
        in.FreeTensor(in.DeQue<half>());
    }
    if (is(12)) {
        if (mended) pipe.InitBuffer(large, 64);
        // 12 ErrorBuffer0
        LocalTensor<half> t = large.Get<half>();
        t.SetUserTag(1);
    }
    if (is(13)) {
        // 13 ErrorRead3
        LocalTensor<half> t = room.Get<half>(mended ? 2 * N : 4 * N);
        t.SetUserTag(1);
    }
    if (is(14)) {
        // 14 ErrorLeak
        LocalTensor<half> t = loaded(), z = out.AllocTensor<half>();
        Adds(z, t, half(1), N);
        in.FreeTensor(t);
        out.EnQue(z);
        z = out.DeQue<half>();
        DataCopy(y, z, N);
        if (mended) out.FreeTensor(z);
    }
    if (is(16)) {
        LocalTensor<half> t = loaded(), z = out.AllocTensor<half>();
        if (!mended) out.FreeTensor(z);
        // 16 ErrorWrite1
        Adds(z, t, half(1), N);
        in.FreeTensor(t);
        if (mended) store(z);
    }
    if (is(17)) {
        // 17 ErrorBuffer0
        pipe.InitBuffer(large, mended ? 1024 : 200000);
    }
    if (is(18)) {
        LocalTensor<half> t = in.AllocTensor<half>(), z = out.AllocTensor<half>();
        DataCopy(t, x, N);
        // 18 ErrorBuffer4
        mended ? in.EnQue(t) : out.EnQue(t);
        in.FreeTensor(in.DeQue<half>());
        out.FreeTensor(z);
    }
    if (is(19)) {
        pipe.InitBufPool(pool, 1024);
        // 19 ErrorBuffer0
        pool.InitBuffer(large, mended ? 512 : 2048);
    }
    if (is(100)) {
        LocalTensor<half> t = loaded(), z = out.AllocTensor<half>();
        Adds(z, t, half(1), N);
        in.FreeTensor(t);
        out.EnQue(z);
        if (mended) z = out.DeQue<half>();
        // 100 ErrorBuffer1
        DataCopy(y, z, N);
        out.FreeTensor(mended ? z : out.DeQue<half>());
    }
    if (is(101)) { /* the second half comes too late */
        LocalTensor<half> t = in.AllocTensor<half>();
        DataCopy(t, x, N / 2);
        if (!mended) in.EnQue(t);
        // 101 ErrorBuffer1
        DataCopy(t[N / 2], x[N / 2], N / 2);
        if (mended) in.EnQue(t);
        in.FreeTensor(in.DeQue<half>());
    }
    if (is(102)) { /* of two tiles under way, the one that is not taken yet */
        LocalTensor<half> tiles[2];
        for (LocalTensor<half> &t : tiles) {
            in.AllocTensor(t);
            DataCopy(t, x, N);
            in.EnQue(t);
        }
        in.DeQue(tiles[0]);
        // 102 ErrorBuffer1
        const half first = tiles[mended ? 0 : 1].GetValue(0);
        in.FreeTensor(tiles[0]);
        in.FreeTensor(in.DeQue<half>());
        if (float(first) != 1) Trap();
    }
    if (is(110)) {
        LocalTensor<half> t = loaded();
        if (!mended) in.FreeTensor(t);
        // 110 ErrorRead1
        const half first = t.GetValue(0);
        if (mended) in.FreeTensor(t);
        if (float(first) != 1) Trap();
    }
    if (is(111)) { /* given only to the first tile's */
        LocalTensor<half> z = out.AllocTensor<half>(), t;
        for (uint32_t i = 0; i < 2; i++) {
            if (mended || i == 0) t = loaded();
            // 111 ErrorRead1
            Muls(z, t, half(2), N);
            in.FreeTensor(t);
        }
        store(z);
    }
    if (is(112)) {
        LocalTensor<half> z;
        for (uint32_t i = 0; i < 2; i++) {
            if (mended || i == 0) z = out.AllocTensor<half>();
            // 112 ErrorFree
            out.FreeTensor(z);
        }
    }
    if (is(113)) { /* a tail that leaves early */
        for (uint32_t at = 0; at < 600; at += N) {
            // 113 ErrorLeak
            LocalTensor<half> t = in.AllocTensor<half>();
            DataCopy(t, x[at], N);
            in.EnQue(t);
            t = in.DeQue<half>();
            if (at + N > 600 && !mended) break;
            in.FreeTensor(t);
        }
    }
    if (is(114)) {
        LocalTensor<half> t = mended ? out.AllocTensor<half>() : room.Get<half>();
        Duplicate(t, half(1), N);
        // 114 ErrorBuffer4
        out.EnQue(t);
        out.FreeTensor(out.DeQue<half>());
    }
    if (is(120)) {
        for (uint32_t i = 0; i < 4; i++) {
            // 120 ErrorAssert
            ascendc_assert(mended || i * N + N <= 768);
        }
    }
    if (is(121)) {
        // 121 ErrorAssert
        assert(float(wide.GetValue(0)) == (mended ? 1 : 2));
    }
    if (is(122)) {
        // 122 ErrorAssert
        if (!mended) trap();
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
    if (is(79)) {
        Duplicate(a, half(1), N);
        // 79 ErrorParam
        Adds(b, a, half(1), mended ? 128 : -128);
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
    using MTE2_MTE3 = std::integral_constant<HardEvent, HardEvent::MTE2_MTE3>;
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
    if (is(106)) {
        const auto id = EVENT_ID1;
        SetFlag<HardEvent::MTE3_V>(id);
        for (uint32_t i = 0; i < 2; i++) {
            if (mended) WaitFlag<HardEvent::MTE3_V>(id);
            Duplicate(a, half(1), N);
            SetFlag<HardEvent::V_MTE3>(id);
            WaitFlag<HardEvent::V_MTE3>(id);
            DataCopy(y, a, N);
            // 106 ErrorSync7
            SetFlag<HardEvent::MTE3_V>(id);
        }
        WaitFlag<HardEvent::MTE3_V>(id);
    }
    if (is(107)) {
        for (uint32_t i = 0; i < 9; i++) {
            // 107 ErrorSync7
            const TEventID id = pipe.AllocEventID<HardEvent::V_S>();
            SetFlag<HardEvent::V_S>(id);
            WaitFlag<HardEvent::V_S>(id);
            if (mended) pipe.ReleaseEventID<HardEvent::V_S>(id);
        }
    }
    if (is(108)) {
        TQueSync<PIPE_V, PIPE_MTE3> sync;
        sync.SetFlag(0);
        // 108 ErrorSync7
        set_flag(PIPE_V, PIPE_MTE3, mended ? EVENT_ID1 : EVENT_ID0);
        sync.WaitFlag(0);
        if (mended) wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    }
    if (is(109)) {
        for (int32_t i = 0; i < 8; i++) pipe.AllocEventID(HardEvent::MTE2_V);
        if (mended) pipe.ReleaseEventID(HardEvent::MTE2_V, 7);
        // 109 ErrorSync7
        const TEventID id = pipe.FetchEventID(HardEvent::MTE2_V);
        SetFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE2_V>(id);
    }
    if (is(48)) {
        Duplicate(a, half(1), N);
        PipeBarrier<PIPE_ALL>();
        DataCopy(workspace, a, N);
        wait(MTE3_MTE2());
        // 48 ErrorSync4
        DataCopy(b, workspace, N);
    }
    if (is(117)) { /* a sum in global memory, tile by tile */
        Duplicate(a, half(1), N);
        PipeBarrier<PIPE_ALL>();
        DataCopy(workspace, a, N);
        PipeBarrier<PIPE_ALL>();
        for (uint32_t i = 0; i < 2; i++) {
            // 117 ErrorSync4
            DataCopy(b, workspace, N);
            SetFlag<HardEvent::MTE2_V>(EVENT_ID1);
            WaitFlag<HardEvent::MTE2_V>(EVENT_ID1);
            Adds(a, b, half(1), N);
            SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
            WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
            DataCopy(workspace, a, N);
            SetFlag<HardEvent::V_MTE2>(EVENT_ID1);
            WaitFlag<HardEvent::V_MTE2>(EVENT_ID1);
            SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
            WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
            wait(MTE3_MTE2());
        }
    }
    if (is(50)) {
        DataCopy(a, x, N);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID2);
        // 50 ErrorSync3
        WaitFlag<HardEvent::MTE2_V>(mended ? EVENT_ID2 : EVENT_ID3);
    }
    if (is(51)) {
        DataCopy(a, x, N);
        if (mended) SetFlag<HardEvent::MTE2_V>(EVENT_ID2), WaitFlag<HardEvent::MTE2_V>(EVENT_ID2);
        if (!mended) SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID2), WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID2);
        // 51 ErrorSync2
        Adds(b, a, half(1), N);
    }
    if (is(52)) {
        if (!mended) SetFlag<HardEvent::MTE2_V>(EVENT_ID2);
        DataCopy(a, x, N);
        if (mended) SetFlag<HardEvent::MTE2_V>(EVENT_ID2);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID2);
        // 52 ErrorSync2
        Adds(b, a, half(1), N);
    }
    if (is(53)) {
        DataCopy(a, x, N);
        mended ? PipeBarrier<PIPE_ALL>() : PipeBarrier<PIPE_V>();
        // 53 ErrorSync2
        Adds(b, a, half(1), N);
    }
    if (is(54)) {
        DataCopy(a, x, N);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        DataCopy(b, x, N);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID1);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        if (mended) WaitFlag<HardEvent::MTE2_V>(EVENT_ID1);
        // 54 ErrorSync2
        Add(a, a, b, N);
        if (!mended) WaitFlag<HardEvent::MTE2_V>(EVENT_ID1);
    }
    if (is(55)) {
        DataCopy(a, x, N);
        wait(MTE2_MTE3());
        // 55 ErrorSync2
        DataCopy(y, a, N);
    }
}

/* A second pool over the first one's memory: Reset ends what the first one's queues do. */
void pool_of_a_pool(const GlobalTensor<half> &y, TPipe &pipe, bool mended) {
    TBufPool<TPosition::VECCALC> all, first, other;
    TQue<TPosition::VECOUT, 1> out, later;
    pipe.InitBufPool(all, 4096);
    all.InitBufPool(first, 2048);
    all.InitBufPool(other, 2048, first);
    first.InitBuffer(out, 1, N * sizeof(half));
    LocalTensor<half> t = out.AllocTensor<half>();
    Duplicate(t, half(1), N);
    out.EnQue(t);
    t = out.DeQue<half>();
    DataCopy(y, t, N);
    out.FreeTensor(t);
    if (mended) first.Reset();
    other.InitBuffer(later, 1, N * sizeof(half));
    t = later.AllocTensor<half>();
    // 15 ErrorSync2
    Duplicate(t, half(2), N);
    later.EnQue(t);
    t = later.DeQue<half>();
    DataCopy(y[N], t, N);
    later.FreeTensor(t);
}

void Kernel::cores() {
    if (is(15)) pool_of_a_pool(y, pipe, mended);
    LocalTensor<half> a = room.Get<half>(), b = second.Get<half>();
    const int64_t block = GetBlockIdx();
    if (is(60)) {
        Duplicate(a, half(float(block)), N);
        PipeBarrier<PIPE_ALL>();
        DataCopy(workspace[uint64_t(block) * N], a, N);
        PipeBarrier<PIPE_ALL>();
        if (mended) SyncAll();
        // 60 ErrorSync4, 2 cores
        if (block == 1) DataCopy(b, workspace, N);
    }
    if (is(61)) {
        // 61 ErrorSync6, 2 cores
        if (mended || block == 0) SyncAll();
    }
    if (is(62)) {
        if (mended) CrossCoreSetFlag<0, PIPE_MTE3>(4);
        // 62 ErrorSync6, 2 cores
        CrossCoreWaitFlag(4);
    }
    if (is(63)) {
        // 63 ErrorWrite6, 2 cores
        y.SetValue(uint64_t(block) * (mended ? 32 : 1), half(1));
    }
    if (is(64)) {
        // 64 ErrorWrite6, 2 cores
        y.SetValue(0, half(mended ? 1 : block + 1));
    }
    if (is(118)) { /* halves of no whole lines */
        const uint64_t half_of_all = mended ? 512 : 500;
        for (uint64_t i = 0; i < half_of_all; i++)
            // 118 ErrorWrite6, 2 cores
            y.SetValue(uint64_t(block) * half_of_all + i, half(1));
    }
    if (is(119)) { /* the flag is raised before the copy that it tells of */
        Duplicate(a, half(1), 512);
        PipeBarrier<PIPE_ALL>();
        if (!mended) CrossCoreSetFlag<0, PIPE_MTE3>(4);
        DataCopy(workspace[uint64_t(block) * 512], a, 512);
        if (mended) CrossCoreSetFlag<0, PIPE_MTE3>(4);
        CrossCoreWaitFlag(4);
        // 119 ErrorSync4, 2 cores
        DataCopyPad(b, workspace[uint64_t(1 - block) * 512], DataCopyExtParams{1, 512, 0, 0, 0}, {});
    }
    if (is(69)) {
        GroupBarrier<PipeMode::MTE3_MODE> barrier(reinterpret_cast<GM_ADDR>(512), 1, 1);
        if (block == 0) {
            Duplicate(a, half(7), N);
            PipeBarrier<PIPE_ALL>();
            DataCopy(workspace, a, N);
            if (mended) barrier.Arrive(0);
        } else {
            // 69 ErrorSync6, 2 cores
            barrier.Wait(0);
            DataCopy(b, workspace, N);
            PipeBarrier<PIPE_ALL>();
            if (float(b.GetValue(N - 1)) != 7) Trap();
        }
    }
    if (is(68)) {
        // 68 ErrorParam, 2 cores
        if (block == 0) GroupBarrier<PipeMode::MTE3_MODE>(reinterpret_cast<GM_ADDR>(512), 2, 2).Arrive(mended ? 1 : 2);
    }
}

void Kernel::advice() {
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
    return serve([](Request &r) { Kernel(r).run(); }, true);
}
