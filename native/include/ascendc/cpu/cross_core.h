/* Synchronisation between cores: SyncAll, flags between the cores of a block, IBSet and IBWait. The workspaces that
 * some forms take are not needed here. */
#pragma once

#include "control.h"

namespace asc_cpu {

inline Blocks &blocks() {
    return *Blocks::the_blocks();
}

/* The cores that a flag of a mode goes to, or comes from. Mode 0: all of this kind; 1: the vector cores of this block;
 * 2: between the cube core and the vector cores of a block. */
inline std::vector<uint32_t> partners(uint32_t mode) {
    const Core &mine = core();
    Blocks &all = blocks();
    const uint32_t per_block = all.kernel() == Kernel::Mix ? 1 + all.ratio() : 1,
                   first = mine.number / per_block * per_block;
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < all.size(); i++) {
        const Core &other = all.at(i);
        const bool here = i >= first && i < first + per_block;
        if (mode == 0 ? other.kind == mine.kind
                      : here && (mode == 1 ? other.kind == mine.kind : other.kind != mine.kind))
            found.push_back(i);
    }
    return found;
}
inline uint64_t flag_key(uint32_t mode, uint32_t flag, uint32_t from, uint32_t to) {
    return uint64_t(mode) << 56 | uint64_t(flag & 0xFFFF) << 40 | uint64_t(from) << 20 | to;
}
inline void cross_set(uint32_t mode, pipe_t pipe, uint32_t flag, Where w) {
    at(w);
    for (const uint32_t to : partners(mode)) blocks().raise(flag_key(mode, flag, core().number, to), pipe);
    core().time++;
}
inline void cross_wait(uint32_t flag, Where w) {
    at(w);
    std::vector<uint64_t> keys[3];
    for (uint32_t mode = 0; mode < 3; mode++)
        for (const uint32_t from : partners(mode)) keys[mode].push_back(flag_key(mode, flag, from, core().number));
    const auto raised = [&keys](uint32_t mode) {
        for (const uint64_t key : keys[mode])
            if (!blocks().signal_of(key).count) return false;
        return !keys[mode].empty();
    };
    blocks().wait_until([&] { return raised(0) || raised(1) || raised(2); }, "CrossCoreWaitFlag");
    for (const uint32_t mode : {2u, 1u, 0u})
        if (raised(mode)) {
            blocks().take(keys[mode]);
            break;
        }
}

constexpr uint32_t IB = 0x10, NEXT = 0x20, GROUP = 0x30; /* modes of their own */

}  // namespace asc_cpu

namespace AscendC {

template <bool isAIVOnly = true>
inline void SyncAll(asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::at(w);
    asc_cpu::blocks().sync(!isAIVOnly);
}
template <bool isAIVOnly = true>
inline void SyncAll(const GlobalTensor<int32_t> &, const LocalTensor<int32_t> &, const int32_t usedCores = 0,
                    asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::at(w);
    asc_cpu::blocks().sync(false, usedCores);
}

template <uint8_t modeId, pipe_t pipe>
inline void CrossCoreSetFlag(uint16_t flagId, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::cross_set(modeId, pipe, flagId, w);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
inline void CrossCoreWaitFlag(uint16_t flagId, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::cross_wait(flagId, w);
}

/* Block `blockIdx` has reached event `eventID`, and the wait for it. */
template <bool isAIVOnly = true>
inline void IBSet(const GlobalTensor<int32_t> &, const LocalTensor<int32_t> &, int32_t blockIdx, int32_t eventID,
                  asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::at(w);
    asc_cpu::blocks().raise(asc_cpu::flag_key(asc_cpu::IB, uint32_t(eventID), uint32_t(blockIdx), 0), PIPE_ALL);
    asc_cpu::core().time++;
}
template <bool isAIVOnly = true>
inline void IBWait(const GlobalTensor<int32_t> &, const LocalTensor<int32_t> &, int32_t blockIdx, int32_t eventID,
                   asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::at(w);
    const uint64_t key = asc_cpu::flag_key(asc_cpu::IB, uint32_t(eventID), uint32_t(blockIdx), 0);
    asc_cpu::blocks().wait_until([key] { return asc_cpu::blocks().signal_of(key).count > 0; }, "IBWait");
    asc_cpu::blocks().take({key});
}

/* One block after the other. */
inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t> &, LocalTensor<int32_t> &) {}
inline void WaitPreBlock(GlobalTensor<int32_t> &, LocalTensor<int32_t> &, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::at(w);
    const int64_t mine = GetBlockIdx(), before = mine ? mine - 1 : GetBlockNum() - 1;
    const uint64_t key = asc_cpu::flag_key(asc_cpu::NEXT, 0, uint32_t(before), 0),
                   first = asc_cpu::flag_key(asc_cpu::NEXT, 1, 0, 0);
    if (mine == 0 && !asc_cpu::blocks().signal_of(first).count) {
        asc_cpu::blocks().signal_of(first).count = 1;
        return;
    }
    asc_cpu::blocks().wait_until([key] { return asc_cpu::blocks().signal_of(key).count > 0; }, "WaitPreBlock");
    asc_cpu::blocks().take({key});
}
inline void NotifyNextBlock(GlobalTensor<int32_t> &, LocalTensor<int32_t> &,
                            asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::at(w);
    asc_cpu::blocks().raise(asc_cpu::flag_key(asc_cpu::NEXT, 0, uint32_t(GetBlockIdx()), 0), PIPE_ALL);
    asc_cpu::core().time++;
}

inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) {
    return workspace + asc_cpu::LIBRARY_WORKSPACE;
}

}  // namespace AscendC

/* config: 1 | mode << 4 | flag << 8 */
inline void ffts_cross_core_sync(pipe_t pipe, uint64_t config, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::cross_set(uint32_t(config >> 4 & 3), pipe, uint32_t(config >> 8 & 15), w);
}
inline void wait_flag_dev(uint64_t flag, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::cross_wait(uint32_t(flag), w);
}
inline void set_ffts_base_addr(uint64_t) {}
inline uint64_t get_ffts_base_addr() {
    return 0;
}

namespace AscendC {

/* Where flags between cores lie; here they have a place. */
inline void SetSyncBaseAddr(uint64_t) {}

}  // namespace AscendC
