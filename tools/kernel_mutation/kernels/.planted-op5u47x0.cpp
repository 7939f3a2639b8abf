#include "kernel_operator.h"
#include <cstdlib>

#include <cstdio>
#include <set>
namespace asc_planted {
inline std::set<int> &lines() { static std::set<int> the; return the; }
inline void write() {
    FILE *file = std::fopen(std::getenv("ASC_PLANTED_REACHED"), "w");
    for (int line : lines()) std::fprintf(file, "%d\n", line);
    std::fclose(file);
}
inline void reach(int line) {
    if (lines().empty()) std::atexit(write);
    lines().insert(line);
}
}

namespace planted_0 {
#line 1 "planted_0.cpp"
// run: --input_shape "[4096];[4096]" --dtype float16 --block_dim 2 --arg total=4096
// z = exp(x * y) + y with flags and repeats that are written out, and two buffers by turns.

using namespace AscendC;

constexpr uint32_t MASK = 128;
constexpr uint32_t TIMES = 4;
constexpr uint32_t TILE = MASK * TIMES;

 __aicore__ void events(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> xRoom, yRoom, zRoom;
    pipe.InitBuffer(xRoom, TILE * sizeof(half));
    pipe.InitBuffer(yRoom, TILE * sizeof(half));
    pipe.InitBuffer(zRoom, TILE * sizeof(half));
    uint32_t share = total / GetBlockNum();
    GlobalTensor<half> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ half *)x + share * GetBlockIdx(), share);
    yGm.SetGlobalBuffer((__gm__ half *)y + share * GetBlockIdx(), share);
    zGm.SetGlobalBuffer((__gm__ half *)z + share * GetBlockIdx(), share);
    LocalTensor<half> a = xRoom.Get<half>();
    LocalTensor<half> b = yRoom.Get<half>();
    LocalTensor<half> c = zRoom.Get<half>();
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (uint32_t i = 0; i < share / TILE; i++) {
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
        DataCopy(a, xGm[i * TILE], TILE);
        DataCopy(b, yGm[i * TILE], TILE);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
        Mul(c, a, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        PipeBarrier<PIPE_V>();
        Exp(c, c, TILE);
        PipeBarrier<PIPE_V>();
        Add(c, c, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
        DataCopy(zGm[i * TILE], c, TILE);
        SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

}
namespace planted_1 {
#line 1 "planted_1.cpp"
// run: --input_shape "[4096];[4096]" --dtype float16 --block_dim 2 --arg total=4096
// z = exp(x * y) + y with flags and repeats that are written out, and two buffers by turns.

using namespace AscendC;

constexpr uint32_t MASK = 128;
constexpr uint32_t TIMES = 4;
constexpr uint32_t TILE = MASK * TIMES;

 __aicore__ void events(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> xRoom, yRoom, zRoom;
    pipe.InitBuffer(xRoom, TILE * sizeof(half));
    pipe.InitBuffer(yRoom, TILE * sizeof(half));
    pipe.InitBuffer(zRoom, TILE * sizeof(half));
    uint32_t share = total / GetBlockNum();
    GlobalTensor<half> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ half *)x + share * GetBlockIdx(), share);
    yGm.SetGlobalBuffer((__gm__ half *)y + share * GetBlockIdx(), share);
    zGm.SetGlobalBuffer((__gm__ half *)z + share * GetBlockIdx(), share);
    LocalTensor<half> a = xRoom.Get<half>();
    LocalTensor<half> b = yRoom.Get<half>();
    LocalTensor<half> c = zRoom.Get<half>();
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (uint32_t i = 0; i < share / TILE; i++) {
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
        DataCopy(a, xGm[i * TILE], TILE);
        DataCopy(b, yGm[i * TILE], TILE);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
        Mul(c, a, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        PipeBarrier<PIPE_V>();
        Exp(c, c, TILE);

        Add(c, c, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
        DataCopy(zGm[i * TILE], c, TILE);
        SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

}
namespace planted_2 {
#line 1 "planted_2.cpp"
// run: --input_shape "[4096];[4096]" --dtype float16 --block_dim 2 --arg total=4096
// z = exp(x * y) + y with flags and repeats that are written out, and two buffers by turns.

using namespace AscendC;

constexpr uint32_t MASK = 128;
constexpr uint32_t TIMES = 4;
constexpr uint32_t TILE = MASK * TIMES;

 __aicore__ void events(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> xRoom, yRoom, zRoom;
    pipe.InitBuffer(xRoom, TILE * sizeof(half));
    pipe.InitBuffer(yRoom, TILE * sizeof(half));
    pipe.InitBuffer(zRoom, TILE * sizeof(half));
    uint32_t share = total / GetBlockNum();
    GlobalTensor<half> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ half *)x + share * GetBlockIdx(), share);
    yGm.SetGlobalBuffer((__gm__ half *)y + share * GetBlockIdx(), share);
    zGm.SetGlobalBuffer((__gm__ half *)z + share * GetBlockIdx(), share);
    LocalTensor<half> a = xRoom.Get<half>();
    LocalTensor<half> b = yRoom.Get<half>();
    LocalTensor<half> c = zRoom.Get<half>();
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (uint32_t i = 0; i < share / TILE; i++) {
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
        DataCopy(a, xGm[i * TILE], TILE);
        DataCopy(b, yGm[i * TILE], TILE);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
        Mul(c, a, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        PipeBarrier<PIPE_V>();
        Exp(c, c, TILE);
        PipeBarrier<PIPE_V>();
        Add(c, c, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});

        SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
        DataCopy(zGm[i * TILE], c, TILE);
        SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

}
namespace planted_3 {
#line 1 "planted_3.cpp"
// run: --input_shape "[4096];[4096]" --dtype float16 --block_dim 2 --arg total=4096
// z = exp(x * y) + y with flags and repeats that are written out, and two buffers by turns.

using namespace AscendC;

constexpr uint32_t MASK = 128;
constexpr uint32_t TIMES = 4;
constexpr uint32_t TILE = MASK * TIMES;

 __aicore__ void events(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> xRoom, yRoom, zRoom;
    pipe.InitBuffer(xRoom, TILE * sizeof(half));
    pipe.InitBuffer(yRoom, TILE * sizeof(half));
    pipe.InitBuffer(zRoom, TILE * sizeof(half));
    uint32_t share = total / GetBlockNum();
    GlobalTensor<half> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ half *)x + share * GetBlockIdx(), share);
    yGm.SetGlobalBuffer((__gm__ half *)y + share * GetBlockIdx(), share);
    zGm.SetGlobalBuffer((__gm__ half *)z + share * GetBlockIdx(), share);
    LocalTensor<half> a = xRoom.Get<half>();
    LocalTensor<half> b = yRoom.Get<half>();
    LocalTensor<half> c = zRoom.Get<half>();
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (uint32_t i = 0; i < share / TILE; i++) {

        DataCopy(a, xGm[i * TILE], TILE);
        DataCopy(b, yGm[i * TILE], TILE);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
        Mul(c, a, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        PipeBarrier<PIPE_V>();
        Exp(c, c, TILE);
        PipeBarrier<PIPE_V>();
        Add(c, c, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
        DataCopy(zGm[i * TILE], c, TILE);
        SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

}
namespace planted_4 {
#line 1 "planted_4.cpp"
// run: --input_shape "[4096];[4096]" --dtype float16 --block_dim 2 --arg total=4096
// z = exp(x * y) + y with flags and repeats that are written out, and two buffers by turns.

using namespace AscendC;

constexpr uint32_t MASK = 128;
constexpr uint32_t TIMES = 4;
constexpr uint32_t TILE = MASK * TIMES;

 __aicore__ void events(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> xRoom, yRoom, zRoom;
    pipe.InitBuffer(xRoom, TILE * sizeof(half));
    pipe.InitBuffer(yRoom, TILE * sizeof(half));
    pipe.InitBuffer(zRoom, TILE * sizeof(half));
    uint32_t share = total / GetBlockNum();
    GlobalTensor<half> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ half *)x + share * GetBlockIdx(), share);
    yGm.SetGlobalBuffer((__gm__ half *)y + share * GetBlockIdx(), share);
    zGm.SetGlobalBuffer((__gm__ half *)z + share * GetBlockIdx(), share);
    LocalTensor<half> a = xRoom.Get<half>();
    LocalTensor<half> b = yRoom.Get<half>();
    LocalTensor<half> c = zRoom.Get<half>();
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (uint32_t i = 0; i < share / TILE; i++) {
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
        DataCopy(a, xGm[i * TILE], TILE);
        DataCopy(b, yGm[i * TILE], TILE);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID5);
        Mul(c, a, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        PipeBarrier<PIPE_V>();
        Exp(c, c, TILE);
        PipeBarrier<PIPE_V>();
        Add(c, c, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
        DataCopy(zGm[i * TILE], c, TILE);
        SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

}
namespace planted_5 {
#line 1 "planted_5.cpp"
// run: --input_shape "[4096];[4096]" --dtype float16 --block_dim 2 --arg total=4096
// z = exp(x * y) + y with flags and repeats that are written out, and two buffers by turns.

using namespace AscendC;

constexpr uint32_t MASK = 128;
constexpr uint32_t TIMES = 4;
constexpr uint32_t TILE = MASK * TIMES;

 __aicore__ void events(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> xRoom, yRoom, zRoom;
    pipe.InitBuffer(xRoom, TILE * sizeof(half));
    pipe.InitBuffer(yRoom, TILE * sizeof(half));
    pipe.InitBuffer(zRoom, TILE * sizeof(half));
    uint32_t share = total / GetBlockNum();
    GlobalTensor<half> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ half *)x + share * GetBlockIdx(), share);
    yGm.SetGlobalBuffer((__gm__ half *)y + share * GetBlockIdx(), share);
    zGm.SetGlobalBuffer((__gm__ half *)z + share * GetBlockIdx(), share);
    LocalTensor<half> a = xRoom.Get<half>();
    LocalTensor<half> b = yRoom.Get<half>();
    LocalTensor<half> c = zRoom.Get<half>();
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (uint32_t i = 0; i < share / TILE; i++) {
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
        DataCopy(a, xGm[i * TILE], TILE);
        DataCopy(b, yGm[i * TILE], TILE);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
        Mul(c, a, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        PipeBarrier<PIPE_V>();
        Exp(c, c, TILE);
        PipeBarrier<PIPE_V>();
        Add(c, c, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
        DataCopy(zGm[i * TILE], c, TILE);
        SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

}
namespace planted_6 {
#line 1 "planted_6.cpp"
// run: --input_shape "[4096];[4096]" --dtype float16 --block_dim 2 --arg total=4096
// z = exp(x * y) + y with flags and repeats that are written out, and two buffers by turns.

using namespace AscendC;

constexpr uint32_t MASK = 128;
constexpr uint32_t TIMES = 4;
constexpr uint32_t TILE = MASK * TIMES;

 __aicore__ void events(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> xRoom, yRoom, zRoom;
    pipe.InitBuffer(xRoom, TILE * sizeof(half));
    pipe.InitBuffer(yRoom, TILE * sizeof(half));
    pipe.InitBuffer(zRoom, TILE * sizeof(half));
    uint32_t share = total / GetBlockNum();
    GlobalTensor<half> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ half *)x + share * GetBlockIdx(), share);
    yGm.SetGlobalBuffer((__gm__ half *)y + share * GetBlockIdx(), share);
    zGm.SetGlobalBuffer((__gm__ half *)z + share * GetBlockIdx(), share);
    LocalTensor<half> a = xRoom.Get<half>();
    LocalTensor<half> b = yRoom.Get<half>();
    LocalTensor<half> c = zRoom.Get<half>();
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (uint32_t i = 0; i < share / TILE; i++) {
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
        DataCopy(a, xGm[i * TILE], TILE);
        DataCopy(b, yGm[i * TILE], TILE - 1);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
        Mul(c, a, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        PipeBarrier<PIPE_V>();
        Exp(c, c, TILE);
        PipeBarrier<PIPE_V>();
        Add(c, c, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
        DataCopy(zGm[i * TILE], c, TILE);
        SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

}
namespace planted_7 {
#line 1 "planted_7.cpp"
// run: --input_shape "[4096];[4096]" --dtype float16 --block_dim 2 --arg total=4096
// z = exp(x * y) + y with flags and repeats that are written out, and two buffers by turns.

using namespace AscendC;

constexpr uint32_t MASK = 128;
constexpr uint32_t TIMES = 4;
constexpr uint32_t TILE = MASK * TIMES;

 __aicore__ void events(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> xRoom, yRoom, zRoom;
    pipe.InitBuffer(xRoom, TILE * sizeof(half));
    pipe.InitBuffer(yRoom, TILE * sizeof(half));
    pipe.InitBuffer(zRoom, TILE * sizeof(half));
    uint32_t share = total / GetBlockNum();
    GlobalTensor<half> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ half *)x + share * GetBlockIdx(), share);
    yGm.SetGlobalBuffer((__gm__ half *)y + share * GetBlockIdx(), share);
    zGm.SetGlobalBuffer((__gm__ half *)z + share * GetBlockIdx(), share);
    LocalTensor<half> a = xRoom.Get<half>();
    LocalTensor<half> b = yRoom.Get<half>();
    LocalTensor<half> c = zRoom.Get<half>();
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (uint32_t i = 0; i < share / TILE; i++) {
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
        DataCopy(a, xGm[i * TILE], TILE);

        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
        Mul(c, a, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        PipeBarrier<PIPE_V>();
        Exp(c, c, TILE);
        PipeBarrier<PIPE_V>();
        Add(c, c, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
        DataCopy(zGm[i * TILE], c, TILE);
        SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

}
namespace planted_8 {
#line 1 "planted_8.cpp"
// run: --input_shape "[4096];[4096]" --dtype float16 --block_dim 2 --arg total=4096
// z = exp(x * y) + y with flags and repeats that are written out, and two buffers by turns.

using namespace AscendC;

constexpr uint32_t MASK = 128;
constexpr uint32_t TIMES = 4;
constexpr uint32_t TILE = MASK * TIMES;

 __aicore__ void events(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> xRoom, yRoom, zRoom;
    pipe.InitBuffer(xRoom, TILE * sizeof(half));
    pipe.InitBuffer(yRoom, TILE * sizeof(half));
    pipe.InitBuffer(zRoom, TILE * sizeof(half));
    uint32_t share = total / GetBlockNum();
    GlobalTensor<half> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ half *)x + share * GetBlockIdx(), share);
    yGm.SetGlobalBuffer((__gm__ half *)y + share * GetBlockIdx(), share);
    zGm.SetGlobalBuffer((__gm__ half *)z + share * GetBlockIdx(), share);
    LocalTensor<half> a = xRoom.Get<half>();
    LocalTensor<half> b = yRoom.Get<half>();
    LocalTensor<half> c = zRoom.Get<half>();
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (uint32_t i = 0; i < share / (TILE - TILE); i++) {
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
        DataCopy(a, xGm[i * TILE], TILE);
        DataCopy(b, yGm[i * TILE], TILE);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
        Mul(c, a, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        PipeBarrier<PIPE_V>();
        Exp(c, c, TILE);
        PipeBarrier<PIPE_V>();
        Add(c, c, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
        SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
        DataCopy(zGm[i * TILE], c, TILE);
        SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

}
namespace planted_9 {
#line 1 "planted_9.cpp"
// run: --input_shape "[4096];[4096]" --dtype float16 --block_dim 2 --arg total=4096
// z = exp(x * y) + y with flags and repeats that are written out, and two buffers by turns.

using namespace AscendC;

constexpr uint32_t MASK = 128;
constexpr uint32_t TIMES = 4;
constexpr uint32_t TILE = MASK * TIMES;

 __aicore__ void events(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> xRoom, yRoom, zRoom;
::asc_planted::reach(13); pipe.InitBuffer(xRoom, TILE * sizeof(half));
::asc_planted::reach(14); pipe.InitBuffer(yRoom, TILE * sizeof(half));
::asc_planted::reach(15); pipe.InitBuffer(zRoom, TILE * sizeof(half));
    uint32_t share = total / GetBlockNum();
    GlobalTensor<half> xGm, yGm, zGm;
::asc_planted::reach(18); xGm.SetGlobalBuffer((__gm__ half *)x + share * GetBlockIdx(), share);
::asc_planted::reach(19); yGm.SetGlobalBuffer((__gm__ half *)y + share * GetBlockIdx(), share);
::asc_planted::reach(20); zGm.SetGlobalBuffer((__gm__ half *)z + share * GetBlockIdx(), share);
    LocalTensor<half> a = xRoom.Get<half>();
    LocalTensor<half> b = yRoom.Get<half>();
    LocalTensor<half> c = zRoom.Get<half>();
::asc_planted::reach(24); SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
::asc_planted::reach(25); SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (uint32_t i = 0; i < share / TILE; i++) {
::asc_planted::reach(27); WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
::asc_planted::reach(28); DataCopy(a, xGm[i * TILE], TILE);
::asc_planted::reach(29); DataCopy(b, yGm[i * TILE], TILE);
::asc_planted::reach(30); SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
::asc_planted::reach(31); WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
::asc_planted::reach(32); WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
::asc_planted::reach(33); Mul(c, a, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
::asc_planted::reach(34); PipeBarrier<PIPE_V>();
::asc_planted::reach(35); Exp(c, c, TILE);
::asc_planted::reach(36); PipeBarrier<PIPE_V>();
::asc_planted::reach(37); Add(c, c, b, MASK, TIMES, {1, 1, 1, 8, 8, 8});
::asc_planted::reach(38); SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
::asc_planted::reach(39); SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
::asc_planted::reach(40); WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
::asc_planted::reach(41); DataCopy(zGm[i * TILE], c, TILE);
::asc_planted::reach(42); SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
::asc_planted::reach(44); WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
::asc_planted::reach(45); WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

}
#line 1 "planted.cpp"
extern "C" __global__ __aicore__ void events(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    static const int which = std::atoi(std::getenv("ASC_PLANTED_MISTAKE"));
    switch (which) {
        case 0: return planted_0::events(x, y, z, total);
        case 1: return planted_1::events(x, y, z, total);
        case 2: return planted_2::events(x, y, z, total);
        case 3: return planted_3::events(x, y, z, total);
        case 4: return planted_4::events(x, y, z, total);
        case 5: return planted_5::events(x, y, z, total);
        case 6: return planted_6::events(x, y, z, total);
        case 7: return planted_7::events(x, y, z, total);
        case 8: return planted_8::events(x, y, z, total);
        case 9: return planted_9::events(x, y, z, total);
    }
}
