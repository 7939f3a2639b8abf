// run: --input_shape "[1024]" --block_dim 4 --workspace 4096 --arg total=1024 --output_shape "[1024];[8]"
// y = x + the blocks' first elements, which all blocks read from a workspace; s = sums by atomic additions.
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t FIRST = 8;

extern "C" __global__ __aicore__ void blocks(GM_ADDR x, GM_ADDR y, GM_ADDR s, GM_ADDR workspace, uint32_t total) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> room, shared, sums;
    uint32_t share = total / GetBlockNum();
    pipe.InitBuffer(room, share * sizeof(float));
    pipe.InitBuffer(shared, FIRST * sizeof(float));
    pipe.InitBuffer(sums, FIRST * sizeof(float));
    GlobalTensor<float> xGm, yGm, sGm, partGm;
    xGm.SetGlobalBuffer((__gm__ float *)x + share * GetBlockIdx(), share);
    yGm.SetGlobalBuffer((__gm__ float *)y + share * GetBlockIdx(), share);
    sGm.SetGlobalBuffer((__gm__ float *)s, FIRST);
    partGm.SetGlobalBuffer((__gm__ float *)workspace, FIRST * GetBlockNum());
    LocalTensor<float> mine = room.Get<float>();
    LocalTensor<float> part = shared.Get<float>();
    LocalTensor<float> sum = sums.Get<float>();
    DataCopy(mine, xGm, share);
    SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    DataCopy(partGm[FIRST * GetBlockIdx()], mine, FIRST);
    if (GetBlockIdx() == 0) {
        Duplicate(sum, 0.0f, FIRST);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
        DataCopy(sGm, sum, FIRST);
    }
    PipeBarrier<PIPE_ALL>();
    SyncAll();
    for (uint32_t i = 0; i < GetBlockNum(); i++) {
        DataCopy(part, partGm[FIRST * i], FIRST);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        Add(mine, mine, part, FIRST);
        SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    }
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(yGm, mine, share);
    SetAtomicAdd<float>();
    DataCopy(sGm, mine, FIRST);
    SetAtomicNone();
}
