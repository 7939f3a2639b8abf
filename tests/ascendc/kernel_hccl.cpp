/* Kernels of test_kernel_hccl.py, which communicate: the request's first number says which. */
#include "launch_program.h"
#include "lib/hccl/hccl.h"
#include "tiling/tiling_api.h"

using namespace AscendC;

namespace {

struct Tiling {
    Mc2InitTiling init;
    Mc2CcTiling reduce;
};

/* Each block doubles its share of x; what all have reduced is y. In two tasks. */
void all_reduce(Request &r, bool waits) {
    const uint32_t n = uint32_t(r.numbers[1]), share = n / uint32_t(GetBlockNum());
    Tiling tiling;
    Mc2CcTilingConfig config("group", 2, "AllReduce=level0:fullmesh", 0);
    if (config.GetTiling(tiling.init) || config.GetTiling(tiling.reduce)) asc_cpu::fail("ErrorParam", "no tiling");
    Hccl hccl;
    hccl.InitV2(GetHcclContext<HCCL_GROUP_ID_0>(), &tiling);
    hccl.SetCcTilingV2(offsetof(Tiling, reduce));
    const HcclHandle handle = hccl.AllReduce(r.of<uint8_t>(1), r.of<uint8_t>(2), n / 2,
                                             HcclDataType::HCCL_DATA_TYPE_FP32, HcclReduceOp::HCCL_REDUCE_SUM, 2);
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, share * 4);
    LocalTensor<float> x = buffer.Get<float>();
    GlobalTensor<float> from, to, all;
    from.SetGlobalBuffer(r.of<float>(0) + share * GetBlockIdx(), share);
    to.SetGlobalBuffer(r.of<float>(1) + share * GetBlockIdx(), share);
    DataCopy(x, from, share);
    PipeBarrier<PIPE_ALL>();
    Muls(x, x, 2.0f, int32_t(share));
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, x, share);
    PipeBarrier<PIPE_ALL>();
    SyncAll();
    hccl.Commit(handle);
    hccl.Commit(handle);
    if (waits) hccl.Wait(handle), hccl.Wait(handle);
    all.SetGlobalBuffer(r.of<float>(2) + n - share * (GetBlockIdx() + 1), share);
    to.SetGlobalBuffer(r.of<float>(3) + n - share * (GetBlockIdx() + 1), share);
    DataCopy(x, all, share);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, x, share);
    PipeBarrier<PIPE_ALL>();
    hccl.Finalize();
}

/* Through the window that ranks see of one another, and back. */
void through_the_window(Request &r) {
    const uint32_t n = uint32_t(r.numbers[1]), rank = uint32_t(r.numbers[2]);
    Hccl<HCCL_SERVER_TYPE_AICPU> hccl;
    hccl.Init(GetHcclContext<0>());
    GlobalTensor<int32_t> from, window, to;
    from.SetGlobalBuffer(r.of<int32_t>(0), n), to.SetGlobalBuffer(r.of<int32_t>(1), n);
    window.SetGlobalBuffer(reinterpret_cast<int32_t *>(hccl.GetWindowsInAddr(rank) + 512), n);
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, n * 4);
    LocalTensor<int32_t> x = buffer.Get<int32_t>();
    DataCopy(x, from, n);
    PipeBarrier<PIPE_ALL>();
    DataCopy(window, x, n);
    PipeBarrier<PIPE_ALL>();
    Adds(x, x, 1, int32_t(n));
    PipeBarrier<PIPE_ALL>();
    DataCopy(x, window, n);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, x, n);
    if (hccl.GetRankDim() != 1 || hccl.GetRankId() != 0) asc_cpu::fail("ErrorParam", "a group of one");
    hccl.Finalize();
}

/* A task that is prepared, and never committed. */
void uncommitted(Request &r) {
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    hccl.AllGather(r.of<uint8_t>(0), r.of<uint8_t>(1), 8, HCCL_DATA_TYPE_INT32);
    hccl.Finalize();
}

/* Of a kernel's two communicators, each gathers its own: handles and commits are the object's. */
void two_objects(Request &r) {
    Hccl<> first, second;
    first.Init(GetHcclContext<0>()), second.Init(GetHcclContext<1>());
    const auto a = first.AllGather<true>(r.of<uint8_t>(0), r.of<uint8_t>(1), 8, HCCL_DATA_TYPE_INT32);
    const auto b = second.AllGather<true>(r.of<uint8_t>(0), r.of<uint8_t>(2), 8, HCCL_DATA_TYPE_INT32);
    if (first.Query(a) != 1 || second.Query(b) != 1) asc_cpu::fail("ErrorParam", "a task is not done");
    first.Wait(a), second.Wait(b);
    first.Finalize(), second.Finalize();
}

}  // namespace

int main() {
    return serve([](Request &r) {
        switch (r.numbers[0]) {
            case 0: return all_reduce(r, true);
            case 1: return all_reduce(r, false);
            case 2: return through_the_window(r);
            case 4: return two_objects(r);
            default: return uncommitted(r);
        }
    });
}
