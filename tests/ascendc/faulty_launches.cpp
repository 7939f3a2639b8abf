/* As those of faulty_kernel.h, of faults that not every launch looks for, and of the cube: `strict`, with nothing that
 * the compiler would synchronise by itself; `whole`, where y must be written whole; `cube`, on a cube core. The
 * request's numbers go on with whether it is strict and whether y is looked at. */
#include "launch_program.h"

using namespace AscendC;

constexpr uint32_t N = 256;

class Launch {
   public:
    explicit Launch(Request &r) : number_(r.numbers[0]), mended_(r.numbers[1] != 0) {
        x_.SetGlobalBuffer(r.of<half>(0), 1024);
        y_.SetGlobalBuffer(r.of<half>(2), 1024);
        workspace_.SetGlobalBuffer(r.of<half>(3), 1024);
    }
    void run() {
        if (number_ < 10)
            within_a_pipe();
        else if (number_ < 20)
            before_all();
        else if (number_ < 30)
            pipes();
        else if (number_ < 40)
            outputs();
        else if (number_ < 50)
            positions();
        else
            cube();
    }

   private:
    bool is(int64_t wanted) const { return number_ == wanted; }
    bool broken(int64_t wanted) const { return number_ == wanted && !mended_; }
    template <pipe_t pipe>
    void barrier() const {
        if (mended_) PipeBarrier<pipe>();
    }
    void within_a_pipe() const;
    void before_all() const;
    void pipes() const;
    void outputs() const;
    void positions() const;
    void cube() const;

    int64_t number_;
    bool mended_;
    GlobalTensor<half> x_, y_, workspace_;
};

void Launch::within_a_pipe() const {
    TPipe pipe;
    TBuf<> first, second;
    pipe.InitBuffer(first, 4 * N);
    pipe.InitBuffer(second, 4 * N);
    LocalTensor<half> a = first.Get<half>(), b = second.Get<half>();
    Duplicate(a, half(1), N);
    if (is(0)) {
        barrier<PIPE_V>();
        // 0 ErrorSync1, strict
        Adds(b, a, half(1), N);
    }
    PipeBarrier<PIPE_V>();
    if (is(1)) { /* a sum, each time of the one before */
        Duplicate(b, half(0), N);
        PipeBarrier<PIPE_V>();
        for (uint32_t i = 0; i < 4; i++) {
            // 1 ErrorSync1, strict
            Add(b, b, a, N);
            barrier<PIPE_V>();
        }
    }
    if (is(2)) {
        Muls(b, a, half(2), N);
        barrier<PIPE_V>();
        // 2 ErrorSync1, strict
        ReduceMax<half>(a, b, a[N], N);
    }
    if (is(3)) { /* the last 16 elements only */
        Duplicate(b, half(1), N);
        PipeBarrier<PIPE_V>();
        Muls(b[N - 16], a, half(2), 16);
        barrier<PIPE_ALL>();
        // 3 ErrorSync1, strict
        Cast(a.ReinterpretCast<float>(), b[N - 64], RoundMode::CAST_NONE, 64);
    }
    if (is(4)) { /* offsets */
        LocalTensor<uint32_t> at = b.ReinterpretCast<uint32_t>();
        Duplicate(at, uint32_t(0), 64);
        barrier<PIPE_V>();
        // 4 ErrorSync1, strict
        Gather(a[N], a, at, 0u, 64u);
    }
    PipeBarrier<PIPE_ALL>();
}

void Launch::before_all() const {
    TPipe pipe;
    TBuf<> buffer, words;
    pipe.InitBuffer(buffer, 2 * N);
    pipe.InitBuffer(words, 64);
    LocalTensor<half> a = buffer.Get<half>();
    const uint64_t mine = uint64_t(GetBlockIdx()) * N;
    Duplicate(a, half(1), N);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    if (is(10)) {
        DataCopy(workspace_[mine], a, N);
        barrier<PIPE_ALL>();
        // 10 ErrorSync5, strict, 2 cores
        SyncAll();
    }
    if (is(11)) { /* the pipe of the copy alone is no barrier */
        DataCopyPad(workspace_[mine], a, DataCopyExtParams{1, 50, 0, 0, 0});
        mended_ ? PipeBarrier<PIPE_ALL>() : PipeBarrier<PIPE_MTE3>();
        // 11 ErrorSync5, strict, 2 cores
        SyncAll<false>();
    }
    if (is(12)) { /* in the second round */
        for (uint32_t i = 0; i < 2; i++) {
            DataCopy(workspace_[mine], a, N);
            if (i == 0) PipeBarrier<PIPE_ALL>();
            barrier<PIPE_ALL>();
            // 12 ErrorSync5, strict, 2 cores
            SyncAll();
        }
    }
    if (is(13)) { /* the older form, and a flag instead of a barrier */
        GlobalTensor<int32_t> counters;
        counters.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t *>(workspace_.GetPhyAddr()), 64);
        if (GetBlockIdx() == 1) DataCopy(y_, a, N);
        SetFlag<HardEvent::MTE3_S>(EVENT_ID1);
        WaitFlag<HardEvent::MTE3_S>(EVENT_ID1);
        barrier<PIPE_ALL>();
        // 13 ErrorSync5, strict, 2 cores
        SyncAll(counters, words.Get<int32_t>());
    }
    PipeBarrier<PIPE_ALL>();
}

/* What makes a pipe of its own. */
void inner() {
    // 21 ErrorBuffer5, strict
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 64);
}
struct Stage {
    // 22 ErrorBuffer5, strict
    Stage() { pipe.InitBuffer(buffer, 64); }
    TPipe pipe;
    TBuf<> buffer;
};

void Launch::pipes() const {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 64);
    Duplicate(buffer.Get<half>(), half(1), 32);
    if (is(20)) {
        if (mended_) pipe.Destroy();
        // 20 ErrorBuffer5, strict
        TPipe another;
        another.InitBuffer(buffer, 64);
    }
    if (is(21)) {
        if (mended_) pipe.Destroy();
        inner();
    }
    if (is(22)) {
        if (mended_) pipe.Destroy();
        Stage stage;
    }
    if (is(23)) { /* back to the first */
        pipe.Destroy();
        TPipe another;
        another.InitBuffer(buffer, 64);
        if (mended_) another.Destroy();
        // 23 ErrorBuffer5, strict
        pipe.Init();
    }
}

void Launch::outputs() const {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 2048);
    LocalTensor<half> a = buffer.Get<half>();
    Duplicate(a, half(1), 1024);
    PipeBarrier<PIPE_ALL>();
    if (is(30)) { /* no multiple of the tile */
        const uint32_t tile = 240, tiles = (1024 + (mended_ ? tile - 1 : 0)) / tile;
        for (uint32_t i = 0; i < tiles; i++) {
            const uint32_t n = 1024 - i * tile < tile ? 1024 - i * tile : tile;
            // 30 ErrorWrite5, whole
            DataCopy(y_[i * tile], a, n);
        }
    }
    if (is(31)) { /* the last block's rest */
        const uint32_t n = GetBlockIdx() == 0 || mended_ ? 512 : 510;
        // 31 ErrorWrite5, whole, 2 cores
        DataCopyPad(y_[uint64_t(GetBlockIdx()) * 512], a, DataCopyExtParams{1, n * 2, 0, 0, 0});
    }
    if (is(32)) { /* gaps of a block */
        // 32 ErrorWrite5, whole
        DataCopy(y_, a, DataCopyParams{uint16_t(mended_ ? 1 : 16), uint16_t(mended_ ? 64 : 3), 0, 1});
    }
    if (is(33)) {
        for (uint32_t i = mended_ ? 0 : 2; i < 1024; i++)
            // 33 ErrorWrite5, whole
            y_.SetValue(i, half(1));
    }
    if (is(35)) { /* one element of the last four bytes */
        const uint32_t n = mended_ ? 1024 : 1023;
        // 35 ErrorWrite5, whole
        DataCopyPad(y_, a, DataCopyExtParams{1, n * 2, 0, 0, 0});
    }
    if (is(36)) { /* the even ones */
        for (uint32_t i = 0; i < 1024; i++)
            // 36 ErrorWrite5, whole
            if (mended_ || i % 2 == 0) y_.SetValue(i, half(1));
    }
    if (is(34)) { /* as many blocks as the launch should have had */
        // 34 ErrorWrite5, whole, 2 cores
        DataCopy(y_[uint64_t(GetBlockIdx()) * (mended_ ? 512 : 256)], a, mended_ ? 512 : 256);
    }
}

void Launch::positions() const {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TBuf<> buffer, spare;
    TBuf<TPosition::A1> l1;
    TBuf<TPosition::B2> l0b;
    pipe.InitBuffer(in, 1, N * sizeof(half));
    pipe.InitBuffer(buffer, 4 * N);
    pipe.InitBuffer(spare, 4 * N);
    pipe.InitBuffer(l1, 4 * N);
    pipe.InitBuffer(l0b, 4 * N);
    LocalTensor<half> a = buffer.Get<half>();
    if (is(40)) {
        LocalTensor<half> t = in.AllocTensor<half>();
        DataCopy(t, x_, N);
        if (mended_) in.EnQue(t);
        if (mended_) t = in.DeQue<half>();
        // 40 ErrorBuffer2, strict
        Adds(a, t, half(1), N);
        in.FreeTensor(t);
    }
    if (is(41)) { /* flags are not what the queue waits by; of three tiles the last */
        for (uint32_t i = 0; i < 3; i++) {
            LocalTensor<half> t = in.AllocTensor<half>();
            DataCopy(t, x_[i * N], N);
            if (mended_ || i < 2) {
                in.EnQue(t);
                t = in.DeQue<half>();
            } else {
                SetFlag<HardEvent::MTE2_V>(EVENT_ID5);
                WaitFlag<HardEvent::MTE2_V>(EVENT_ID5);
            }
            // 41 ErrorBuffer2, strict
            ReduceSum<half>(a, t, a[N], N);
            in.FreeTensor(t);
            PipeBarrier<PIPE_V>();
        }
    }
    if (is(42)) {
        // 42 ErrorBuffer2
        Duplicate(mended_ ? a : l1.Get<half>(), half(1), N);
    }
    if (is(43)) {
        LocalTensor<half> t = mended_ ? spare.Get<half>() : l1.Get<half>();
        Duplicate(a, half(1), N);
        DataCopy(t, x_, N);
        PipeBarrier<PIPE_ALL>();
        // 43 ErrorBuffer2
        Add(a, a, t, N);
    }
    if (is(44)) {
        Duplicate(a, half(1), N);
        LocalTensor<half> t = mended_ ? spare.Get<half>() : l0b.Get<half>();
        // 44 ErrorBuffer2
        ReduceMax<half>(t, a, a[N], N);
    }
    PipeBarrier<PIPE_ALL>();
}

/* y = x x^T of 16 x 16, with a fault on the way. */
void Launch::cube() const {
    const Nd2NzParams rows(1, 16, 16, 0, 16, 16, 1, 0);
    const LoadData2DParams one(0, 1, 0, 0, 0, false, 0);
    TPipe pipe;
    TQue<TPosition::A1, 1> a1;
    TBuf<TPosition::A2> l0a;
    TBuf<TPosition::B2> l0b;
    TBuf<TPosition::CO1> l0c;
    TBuf<TPosition::B1> l1;
    pipe.InitBuffer(a1, 1, 512);
    pipe.InitBuffer(l0a, 1024);
    pipe.InitBuffer(l0b, 1024);
    pipe.InitBuffer(l0c, 1024);
    pipe.InitBuffer(l1, 1024);
    LocalTensor<half> from = a1.AllocTensor<half>(), a = l0a.Get<half>(), b = l0b.Get<half>();
    LocalTensor<float> c = l0c.Get<float>();
    DataCopy(from, x_, rows);
    if (is(54)) {
        if (mended_) PipeBarrier<PIPE_ALL>();
        if (mended_) LoadData(b, from, one);
        if (mended_) PipeBarrier<PIPE_ALL>();
        // 54 ErrorWrite3, cube
        DataCopy(from, x_[256], rows);
    }
    a1.EnQue(from);
    if (mended_ || !is(53)) from = a1.DeQue<half>();
    // 53 ErrorBuffer1, cube
    LoadData(a, from, one);
    // 52 ErrorBuffer2, cube
    LoadData(b, broken(52) ? a : from, one);
    // 57 ErrorRead3, cube
    LoadData(b[256], from, LoadData2DParams(broken(57) ? 1 : 0, 1, 0, 0, 0, false, 0));
    if (!broken(58)) {
        SetFlag<HardEvent::MTE1_M>(EVENT_ID0);
        WaitFlag<HardEvent::MTE1_M>(EVENT_ID0);
    }
    const MmadParams size(uint16_t(broken(55) ? 0 : 16), 16, uint16_t(broken(56) ? 32 : 16), 0, false, true);
    // 50 ErrorBuffer2, cube
    if (is(50)) Mmad(c, mended_ ? a : b, mended_ ? b : a, size);
    // 55 ErrorParam, cube
    if (is(55)) Mmad(c, a, b, size);
    // 56 ErrorRead2, cube
    if (is(56)) Mmad(c, a, b, size);
    // 58 ErrorSync2, cube
    if (!is(50) && !is(55) && !is(56)) Mmad(c, a, b, size);
    if (!broken(59)) PipeBarrier<PIPE_ALL>();
    FixpipeParamsV220 store(16, 16, 16, 16, false);
    store.quantPre = F322F16;
    // 60 ErrorWrite2, cube
    if (is(60)) Fixpipe(y_[mended_ ? 768 : 800], c, store);
    // 59 ErrorSync2, cube
    if (is(59)) Fixpipe(y_, c, store);
    // 51 ErrorBuffer2, cube
    if (!is(60) && !is(59)) Fixpipe(y_, broken(51) ? l1.Get<float>() : c, store);
    PipeBarrier<PIPE_ALL>();
    a1.FreeTensor(from);
}

int main() {
    return serve(
        [](Request &r) {
            asc_cpu::settings().strict = r.numbers[2] != 0;
            Launch(r).run();
        },
        false,
        [](const Request &r) {
            const asc_cpu::Global &y = asc_cpu::globals()[2];
            const uint64_t at = r.numbers[3] ? asc_cpu::first_unwritten(y) : y.bytes;
            if (at < y.bytes) asc_cpu::report_unwritten(y, at);
        });
}
