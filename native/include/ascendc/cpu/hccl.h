/* Collective communication of kernels: Hccl<>, in a group of one rank.
 *
 * The ranks of a group are chips, and a launch here has one: what a rank gathers, reduces or exchanges is its own. A
 * task is done at its commit, by the core that is the first to commit it; the others know of it after Wait.
 */
#pragma once

#include <sys/mman.h>

#include "../../hccl/hccl_types.h"
#include "../kernel_tiling/kernel_tiling.h"
#include "cross_core.h"
#include "intrinsics.h"

namespace asc_cpu {

constexpr uint64_t WINDOW = uint64_t(64) << 20; /* bytes that ranks see of one another */

/* What GetHcclContext points to. Operators have structures of their own for it, which begin alike: two words of the
 * communication's workspace, this rank, the number of ranks, the bytes of a window, and the windows. */
struct HcclContext {
    uint64_t workspace = 0, workspace_bytes = 0;
    uint32_t rank = 0, ranks = 1;
    uint64_t window = WINDOW, in = 0, out = 0;
    uint8_t name[128] = {};
    uint64_t experts_window = WINDOW, experts = 0;
    uint8_t between[96] = {};
    uint64_t outs[32] = {};
    uint8_t rest[65536] = {};
};
static_assert(offsetof(HcclContext, outs) == 32 + 8 * 32, "windowsOut behind 32 windowsIn");

/* The group of one. Its memory is there from the first use on. */
class HcclGroup {
   public:
    HcclContext &context() {
        if (!context_.in) {
            for (uint64_t *window : {&context_.in, &context_.out, &context_.experts}) {
                void *at =
                    ::mmap(nullptr, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
                if (at == MAP_FAILED) throw std::bad_alloc();
                *window = reinterpret_cast<uint64_t>(at);
            }
            context_.outs[0] = context_.out;
        }
        known(&context_, sizeof context_, "the HCCL context");
        known(reinterpret_cast<void *>(context_.in), WINDOW, "the HCCL window in");
        known(reinterpret_cast<void *>(context_.out), WINDOW, "the HCCL window out");
        known(reinterpret_cast<void *>(context_.experts), WINDOW, "the HCCL window of experts");
        return context_;
    }

   private:
    /* A tensor of this launch. */
    static void known(void *begin, uint64_t bytes, const char *name) {
        if (globals().empty()) return;
        for (const Global &g : globals())
            if (g.begin == begin) return;
        add_global(begin, bytes, name, true, false);
    }
    HcclContext context_;
};
inline HcclGroup &hccl_group() {
    static HcclGroup group;
    return group;
}

constexpr uint32_t HCCL_TASK = 0x30; /* a mode of flags of its own */

inline uint64_t hccl_bytes(HcclDataType type) {
    switch (type) {
        case HCCL_DATA_TYPE_INT8:
        case HCCL_DATA_TYPE_UINT8: return 1;
        case HCCL_DATA_TYPE_INT16:
        case HCCL_DATA_TYPE_UINT16:
        case HCCL_DATA_TYPE_FP16:
        case HCCL_DATA_TYPE_BFP16: return 2;
        case HCCL_DATA_TYPE_INT32:
        case HCCL_DATA_TYPE_UINT32:
        case HCCL_DATA_TYPE_FP32: return 4;
        case HCCL_DATA_TYPE_INT64:
        case HCCL_DATA_TYPE_UINT64:
        case HCCL_DATA_TYPE_FP64: return 8;
        default: fail_with("ErrorParam", "give an HcclDataType", "Hccl: data type %d", int(type));
    }
}
inline void hccl_copy(const char *name, Where w, GM_ADDR to, GM_ADDR from, uint64_t bytes) {
    if (to == from || !bytes) return;
    GlobalTensor<uint8_t> d, s;
    d.SetGlobalBuffer(to, bytes), s.SetGlobalBuffer(from, bytes);
    issue(PIPE_MTE3, name, w, {d.writes(0, bytes), s.reads(0, bytes)}, [=] { std::memmove(to, from, size_t(bytes)); });
}

}  // namespace asc_cpu

namespace AscendC {

using ::HCCL_DATA_TYPE_BFP16;
using ::HCCL_DATA_TYPE_FP16;
using ::HCCL_DATA_TYPE_FP32;
using ::HCCL_DATA_TYPE_FP64;
using ::HCCL_DATA_TYPE_INT16;
using ::HCCL_DATA_TYPE_INT32;
using ::HCCL_DATA_TYPE_INT64;
using ::HCCL_DATA_TYPE_INT8;
using ::HCCL_DATA_TYPE_UINT16;
using ::HCCL_DATA_TYPE_UINT32;
using ::HCCL_DATA_TYPE_UINT64;
using ::HCCL_DATA_TYPE_UINT8;
using ::HCCL_REDUCE_MAX;
using ::HCCL_REDUCE_MIN;
using ::HCCL_REDUCE_PROD;
using ::HCCL_REDUCE_SUM;
using ::HcclDataType;
using ::HcclReduceOp;
using HcclHandle = int8_t;
constexpr HcclHandle INVALID_HANDLE_ID = -1;
enum HcclServerType : uint8_t {
    HCCL_SERVER_TYPE_AICPU,
    HCCL_SERVER_TYPE_DPU,
    HCCL_SERVER_TYPE_CCU,
    HCCL_SERVER_TYPE_END
};
constexpr uint32_t HCCL_GROUP_ID_0 = 0, HCCL_GROUP_ID_1 = 1, HCCL_MAX_RANK_NUM = 32, HCCL_MAX_HANDLE_ID_NUM = 32;
/* Verbs of InfiniBand, which a group of one rank has none of. */
struct IbVerbsData;
struct HcclServerConfig {
    int32_t type = 0;
    int64_t blockId = 0;
};
constexpr HcclServerConfig DEFAULT_CFG = {};
/* A piece of BatchWrite, in global memory or the unified buffer. */
struct BatchWriteItem {
    uint64_t localBuf, remoteBuf, count;
    uint32_t dataType, remoteRankId;
};

template <uint32_t index>
inline GM_ADDR GetHcclContext() {
    return reinterpret_cast<GM_ADDR>(&asc_cpu::hccl_group().context());
}
template <uint32_t index>
inline void SetHcclContext(GM_ADDR) {}

template <HcclServerType serverType = HCCL_SERVER_TYPE_AICPU, const auto &config = DEFAULT_CFG>
class Hccl {
    using Where = asc_cpu::Where;

   public:
    template <typename Tiling = void>
    void Init(GM_ADDR, const Tiling * = nullptr) {
        InitV2(nullptr, nullptr);
    }
    void InitV2(GM_ADDR, const void *) { context_ = &asc_cpu::hccl_group().context(); }
    int32_t SetCcTiling(const void *) { return 0; }
    int32_t SetCcTilingV2(uint64_t) { return 0; }
    uint32_t GetRankId() { return begun("GetRankId").rank; }
    uint32_t GetRankDim() { return begun("GetRankDim").ranks; }
    GM_ADDR GetWindowsInAddr(uint32_t rank) { return window(begun("GetWindowsInAddr").in, rank); }
    GM_ADDR GetWindowsOutAddr(uint32_t rank) { return window(begun("GetWindowsOutAddr").out, rank); }

    /* `repeat` tasks, each `count` elements on, done at their commits (commit: all of them at once). */
    template <bool commit = false>
    HcclHandle AllReduce(GM_ADDR send, GM_ADDR receive, uint64_t count, HcclDataType type, HcclReduceOp,
                         uint8_t repeat = 1, Where w = Where::here()) {
        return prepare("Hccl AllReduce", send, receive, count * asc_cpu::hccl_bytes(type), repeat, commit, w);
    }
    template <bool commit = false>
    HcclHandle AllGather(GM_ADDR send, GM_ADDR receive, uint64_t count, HcclDataType type, uint64_t = 0,
                         uint8_t repeat = 1, Where w = Where::here()) {
        return prepare("Hccl AllGather", send, receive, count * asc_cpu::hccl_bytes(type), repeat, commit, w);
    }
    template <bool commit = false>
    HcclHandle ReduceScatter(GM_ADDR send, GM_ADDR receive, uint64_t count, HcclDataType type, HcclReduceOp,
                             uint64_t = 0, uint8_t repeat = 1, Where w = Where::here()) {
        return prepare("Hccl ReduceScatter", send, receive, count * asc_cpu::hccl_bytes(type), repeat, commit, w);
    }
    template <bool commit = false>
    HcclHandle AlltoAll(GM_ADDR send, GM_ADDR receive, uint64_t count, HcclDataType type, uint64_t = 0,
                        uint8_t repeat = 1, Where w = Where::here()) {
        return prepare("Hccl AlltoAll", send, receive, count * asc_cpu::hccl_bytes(type), repeat, commit, w);
    }
    /* Counts and displacements have an element for each rank. */
    template <bool commit = false>
    HcclHandle AlltoAllV(GM_ADDR send, const void *sendCounts, const void *sendPlaces, HcclDataType sendType,
                         GM_ADDR receive, const void *receiveCounts, const void *receivePlaces,
                         HcclDataType receiveType, uint8_t repeat = 1, Where w = Where::here()) {
        const uint64_t bytes = first(sendCounts) * asc_cpu::hccl_bytes(sendType);
        asc_cpu::need_parameter(w, bytes == first(receiveCounts) * asc_cpu::hccl_bytes(receiveType), "Hccl AlltoAllV",
                                "a rank sends itself as much as it receives from itself");
        return prepare("Hccl AlltoAllV", send + first(sendPlaces) * asc_cpu::hccl_bytes(sendType),
                       receive + first(receivePlaces) * asc_cpu::hccl_bytes(receiveType), bytes, repeat, commit, w);
    }
    /* Bytes from places of `send` to a place of the rank's window. */
    template <bool commit = false>
    HcclHandle AlltoAllvWrite(GM_ADDR send, GM_ADDR sendPlaces, GM_ADDR sendSizes, uint64_t place, uint64_t,
                              Where w = Where::here()) {
        return prepare("Hccl AlltoAllvWrite", send + first(sendPlaces), GetWindowsInAddr(0) + place, first(sendSizes),
                       1, commit, w);
    }
    template <bool commit = false>
    HcclHandle BatchWrite(GM_ADDR items, uint32_t n, uint16_t = 0, Where w = Where::here()) {
        const HcclHandle handle = prepare("Hccl BatchWrite", nullptr, nullptr, 0, 1, false, w);
        const auto *item = reinterpret_cast<const BatchWriteItem *>(items);
        for (uint32_t i = 0; i < n; i++) {
            window(begun("BatchWrite").in, item[i].remoteRankId);
            tasks_[handle].pieces.push_back({reinterpret_cast<GM_ADDR>(item[i].localBuf),
                                             reinterpret_cast<GM_ADDR>(item[i].remoteBuf),
                                             item[i].count * asc_cpu::hccl_bytes(HcclDataType(item[i].dataType))});
        }
        if (commit) Commit(handle, w);
        return handle;
    }

    /* The next of the handle's tasks may be done. */
    void Commit(HcclHandle handle, Where w = Where::here()) {
        asc_cpu::at(w);
        Task &t = task(handle, "Commit");
        if (t.committed == t.repeat)
            asc_cpu::fail_with("ErrorParam", "commit it as often as `repeat` says", "Hccl: handle %d, commit %u of %u",
                               int(handle), t.committed + 1, t.repeat);
        const uint64_t key = key_of(handle);
        const uint32_t turn = t.committed++;
        if (asc_cpu::blocks().signal_of(key).count > turn) return;
        asc_cpu::core().barrier_all();
        for (const Piece &piece : t.pieces)
            asc_cpu::hccl_copy(t.name, t.where, piece.to + turn * piece.bytes, piece.from + turn * piece.bytes,
                               piece.bytes);
        asc_cpu::core().barrier_all();
        asc_cpu::blocks().raise(key, PIPE_ALL);
        asc_cpu::core().time++;
    }
    /* Until one more task of the handle is done. */
    int32_t Wait(HcclHandle handle, Where w = Where::here()) {
        asc_cpu::at(w);
        Task &t = task(handle, "Wait");
        const uint64_t key = key_of(handle);
        const uint32_t turn = t.waited++;
        asc_cpu::blocks().wait_until([=] { return asc_cpu::blocks().signal_of(key).count > turn; }, "Hccl Wait");
        const auto &signal = asc_cpu::blocks().signal_of(key);
        asc_cpu::blocks().merge_seen(signal.seen, signal.from, signal.time);
        return 0;
    }
    /* Tasks of the handle that are done. */
    int32_t Query(HcclHandle handle) {
        task(handle, "Query");
        return int32_t(asc_cpu::blocks().signal_of(key_of(handle)).count);
    }
    void InterHcclGroupSync(int8_t, HcclHandle) {}
    template <typename... Types>
    bool SetReduceDataTypeAbility(HcclReduceOp, Types...) {
        return true;
    }
    template <bool sync = true>
    void Finalize(Where w = Where::here()) {
        asc_cpu::at(w);
        for (size_t i = 0; i < tasks_.size(); i++)
            if (tasks_[i].committed < tasks_[i].repeat)
                asc_cpu::fail_with("ErrorParam", "commit each task before Finalize",
                                   "Hccl: handle %d, %u of %u tasks were committed", int(i), tasks_[i].committed,
                                   tasks_[i].repeat);
        context_ = nullptr;
    }

   private:
    struct Piece {
        GM_ADDR from;
        GM_ADDR to;
        uint64_t bytes;
    };
    struct Task {
        const char *name;
        std::vector<Piece> pieces;
        uint32_t repeat, committed = 0, waited = 0;
        Where where = Where::nowhere();
    };

    asc_cpu::HcclContext &begun(const char *name) {
        if (!context_)
            asc_cpu::fail_with("ErrorParam", "call Init or InitV2 with GetHcclContext first", "Hccl: %s without Init",
                               name);
        return *context_;
    }
    GM_ADDR window(uint64_t at, uint32_t rank) {
        if (rank)
            asc_cpu::fail_with("ErrorParam", "a launch here is rank 0 of one", "Hccl: rank %u of a group of 1", rank);
        return reinterpret_cast<GM_ADDR>(at);
    }
    /* Of the commits of a handle, by all cores that have this object. */
    uint64_t key_of(HcclHandle handle) const {
        return asc_cpu::flag_key(asc_cpu::HCCL_TASK, uint32_t(handle), number_, 0);
    }
    static uint64_t first(const void *numbers) { return *static_cast<const uint64_t *>(numbers); }
    HcclHandle prepare(const char *name, GM_ADDR from, GM_ADDR to, uint64_t bytes, uint32_t repeat, bool commit,
                       Where w) {
        asc_cpu::at(w);
        begun(name);
        asc_cpu::need_parameter(w, tasks_.size() < HCCL_MAX_HANDLE_ID_NUM && repeat > 0, name,
                                "a kernel has at most 32 handles, each of a task at least");
        tasks_.push_back({name, {}, repeat, 0, 0, w});
        if (from) tasks_.back().pieces.push_back({from, to, bytes});
        const HcclHandle handle = HcclHandle(tasks_.size() - 1);
        for (uint32_t i = 0; commit && i < repeat; i++) Commit(handle, w);
        return handle;
    }
    Task &task(HcclHandle handle, const char *name) {
        begun(name);
        if (handle < 0 || size_t(handle) >= tasks_.size())
            asc_cpu::fail_with("ErrorParam", "give what AllReduce, AllGather and such return", "Hccl: %s of handle %d",
                               name, int(handle));
        return tasks_[size_t(handle)];
    }

    asc_cpu::HcclContext *context_ = nullptr;
    uint32_t number_ = asc_cpu::the_core ? asc_cpu::core().hccls++ : 0;
    std::vector<Task> tasks_;
};

}  // namespace AscendC
