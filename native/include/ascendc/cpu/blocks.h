/* The cores of a launch on a CPU: each is a thread, and one runs at a time, until it ends or waits for another. */
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "advice.h"

namespace asc_cpu {

/* What a block that waits throws when another one has failed. */
struct Stopped {};

/* Cores of a block: vector cores, cube cores, or one cube core with `ratio` vector cores. */
enum class Kernel : uint8_t { Vector, Cube, Mix };

class Blocks {
   public:
    /* Runs body() for every block on a core with `ub` bytes of unified buffer. Throws the first Fault, naming its
     * block. */
    void run(uint32_t n, uint32_t ub, ActionRef body) {
        Chip chip;
        chip.ub = ub;
        run(n, chip, Kernel::Vector, 1, body);
    }
    /* The same on a chip's cores. A mixed kernel's body runs once on the cube core and on each of its vector cores. */
    void run(uint32_t n, const Chip &chip, Kernel kernel, uint32_t ratio, ActionRef body);
    /* SyncAll: on return every core of this kind, or of both, has called it as often as this one. `used`: of the first
     * so many blocks. */
    void sync(bool both = false, int64_t used = 0);
    /* What a core has written before it said so is known to this one. */
    void merge_seen(const std::vector<uint32_t> &seen, uint32_t from, uint32_t time);
    /* Lets other cores run until `condition` holds. */
    void wait_until(ConditionRef condition, const char *what);
    size_t size() const { return cores_.size(); }
    Core &at(size_t i) { return *cores_[i]; }
    uint32_t ratio() const { return ratio_; }
    Kernel kernel() const { return kernel_; }
    /* Counters that cores share, by a caller's number: CrossCoreSetFlag, IBSet. */
    struct Signal {
        uint32_t count = 0, from = 0, time = 0;
        std::vector<uint32_t> seen;
    };
    Signal &signal_of(uint64_t key);
    /* Raises a signal: what this core has given its pipe is finished then. */
    void raise(uint64_t key, pipe_t pipe);
    /* Takes one of each signal, once all are raised. */
    void take(const std::vector<uint64_t> &keys);
    static Blocks *&the_blocks() {
        static Blocks *blocks = nullptr;
        return blocks;
    }

   private:
    void run_core(uint32_t i, const Chip &chip, ActionRef body);
    void leave(uint32_t i);
    void add(uint32_t i, uint32_t n, uint32_t per_block, Kernel kernel, uint32_t ratio);
    void end(const Fault &fault);
    void wait(uint32_t i);
    /* To the next core that has not ended and can go on. False when there is none though one waits. */
    bool pass(uint32_t i);
    Fault describe_deadlock(uint32_t k);

    std::vector<std::unique_ptr<Core>> cores_;
    std::vector<std::unique_ptr<std::condition_variable>> turns_;
    std::vector<ConditionRef> ready_; /* each held by the core that waits */
    std::vector<Where> places_;       /* of their waits */
    /* Each core's time when it came to the last SyncAll, and to the one before: it may be further by now. */
    std::vector<uint32_t> arrivals_[2];
    std::vector<char> ended_;
    std::map<uint64_t, Signal> signals_;
    std::mutex mutex_;
    uint32_t turn_ = 0, ratio_ = 1;
    Kernel kernel_ = Kernel::Vector;
    bool stopped_ = false;
    Fault fault_{};
};

}  // namespace asc_cpu

#ifndef ASC_CPU_APART
#include "turns.h"
#endif

namespace AscendC {

inline int64_t GetBlockIdx() {
    return asc_cpu::core().block_idx;
}
inline int64_t GetBlockNum() {
    return asc_cpu::core().block_num;
}
inline int64_t GetSubBlockIdx() {
    return asc_cpu::core().sub_block;
}
inline int64_t GetSubBlockNum() {
    return asc_cpu::core().sub_blocks;
}
/* Vector cores to a cube core. */
inline int64_t GetTaskRation() {
    return asc_cpu::core().kind == asc_cpu::CoreKind::Vector ? asc_cpu::core().sub_blocks : 1;
}
inline int64_t GetTaskRatio() {
    return GetTaskRation();
}

}  // namespace AscendC
