/* Cores that don't wait for each other, or write the same lines. */
#include "faulty_kernel.h"

using namespace AscendC;

struct Cores : faulty::Kernel {
    using Kernel::Kernel;
    void run();
};

void Cores::run() {
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

int main() {
    return faulty::serve_all<Cores>();
}
