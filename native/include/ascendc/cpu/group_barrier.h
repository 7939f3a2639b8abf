/* GroupBarrier: some vector cores wait until others have arrived. */
#pragma once

#include "cross_core.h"

namespace AscendC {

enum class PipeMode : uint8_t { SCALAR_MODE = 0, MTE3_MODE = 1, MAX };

/* Told from other barriers by where its messages lie, which must be aligned to 512 bytes. */
template <PipeMode mode>
class GroupBarrier {
    static_assert(mode == PipeMode::MTE3_MODE, "GroupBarrier sends its messages with PipeMode::MTE3_MODE only");

   public:
    GroupBarrier(GM_ADDR groupWorkspace, uint32_t arriveSize, uint32_t waitSize,
                 asc_cpu::Where w = asc_cpu::Where::here())
        : arriving_(arriveSize), waiting_(waitSize), flag_(uint32_t(uint64_t(groupWorkspace) / MESSAGE)) {
        asc_cpu::at(w);
        if (uint64_t(groupWorkspace) % MESSAGE)
            asc_cpu::fail_with("ErrorParam", "align its workspace to 512 bytes",
                               "the workspace of a GroupBarrier is not aligned to 512 bytes");
    }
    void Arrive(uint32_t arriveIndex, asc_cpu::Where w = asc_cpu::Where::here()) {
        within(arriveIndex, arriving_, "Arrive", w);
        for (uint32_t to = 0; to < waiting_; to++) asc_cpu::blocks().raise(key(arriveIndex, to), PIPE_MTE3);
        asc_cpu::core().time++;
    }
    void Wait(uint32_t waitIndex, asc_cpu::Where w = asc_cpu::Where::here()) {
        within(waitIndex, waiting_, "Wait", w);
        std::vector<uint64_t> keys;
        for (uint32_t from = 0; from < arriving_; from++) keys.push_back(key(from, waitIndex));
        asc_cpu::blocks().wait_until(
            [&keys] {
                for (const uint64_t one : keys)
                    if (!asc_cpu::blocks().signal_of(one).count) return false;
                return true;
            },
            "GroupBarrier.Wait");
        asc_cpu::blocks().take(keys);
    }

   private:
    static constexpr uint32_t MESSAGE = 512;
    uint64_t key(uint32_t from, uint32_t to) const { return asc_cpu::flag_key(asc_cpu::GROUP, flag_, from, to); }
    static void within(uint32_t index, uint32_t size, const char *what, asc_cpu::Where w) {
        asc_cpu::at(w);
        if (index >= size)
            asc_cpu::fail_with("ErrorParam", "count from 0 within the group",
                               "GroupBarrier.%s of core %u in a group of %u", what, index, size);
    }
    uint32_t arriving_, waiting_, flag_;
};

}  // namespace AscendC
