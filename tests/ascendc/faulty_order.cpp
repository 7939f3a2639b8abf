/* Pipes that don't wait for each other, and flags without their pair. */
#include "faulty_kernel.h"

using namespace AscendC;

struct Order : faulty::Kernel {
    using Kernel::Kernel;
    void pool_of_a_pool();
    void run();
};

/* A second pool over the first one's memory: Reset ends what the first one's queues do. */
void Order::pool_of_a_pool() {
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

void Order::run() {
    if (is(15)) pool_of_a_pool();
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

int main() {
    return faulty::serve_all<Order>();
}
