// run: --input_shape "[4096];[4096]" --dtype float16 --block_dim 2 --arg total=4096
// z = exp(x * y) + y with flags and repeats that are written out, and two buffers by turns.
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t MASK = 128;
constexpr uint32_t TIMES = 4;
constexpr uint32_t TILE = MASK * TIMES;

extern "C" __global__ __aicore__ void events(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
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
