/* The blocks of a launch on a CPU: each is a thread, and one runs at a time, until it ends or waits in SyncAll. */
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "core.h"

namespace asc_cpu {

/* What a block that waits throws when another one has failed. */
struct Stopped {};

class Blocks {
   public:
    /* Runs body() for every block. Throws the first Fault, naming its block. */
    template <typename F>
    void run(uint32_t n, uint32_t ub, F body) {
        for (uint32_t i = 0; i < n; i++) {
            cores_.push_back(std::make_unique<Core>());
            cores_[i]->block_idx = i;
            cores_[i]->block_num = n;
        }
        reached_.assign(n, 0);
        the_blocks() = this;
        std::vector<std::thread> threads;
        for (uint32_t i = 0; i < n; i++)
            threads.emplace_back([this, i, ub, &body] {
                try {
                    wait(i);
                    core().start(ub);
                    body();
                    if (core().flags) fail("ErrorSync3", "%lld SetFlag without WaitFlag", (long long)core().flags);
                } catch (const Fault &fault) {
                    std::snprintf(fault_.text, sizeof fault_.text, "block %u: %.480s", i, fault.text);
                    stopped_ = true;
                } catch (const Stopped &) {
                }
                cores_[i] = nullptr;
                pass(i);
            });
        for (std::thread &t : threads) t.join();
        if (stopped_) throw fault_;
    }
    /* SyncAll: on return every block has called it as often as this one. */
    void sync() {
        Core &mine = core();
        if (mine.storing) fail("ErrorSync5", "SyncAll with no PipeBarrier<PIPE_ALL> since a copy to global memory");
        reached_[size_t(mine.block_idx)] = ++mine.syncs;
        pass(uint32_t(mine.block_idx));
        wait(uint32_t(mine.block_idx));
        for (uint32_t other : reached_)
            if (other < mine.syncs) fail("ErrorSync6", "SyncAll number %u, which not every block reaches", mine.syncs);
    }
    static Blocks *&the_blocks() {
        static Blocks *blocks = nullptr;
        return blocks;
    }

   private:
    void wait(uint32_t i) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this, i] { return turn_ == i; });
        current() = cores_[i].get();
        if (stopped_) throw Stopped();
    }
    /* To the next block that has not ended. */
    void pass(uint32_t i) {
        std::lock_guard<std::mutex> lock(mutex_);
        const uint32_t n = uint32_t(cores_.size());
        for (uint32_t k = 1; k <= n; k++)
            if (cores_[(i + k) % n]) {
                turn_ = (i + k) % n;
                break;
            }
        changed_.notify_all();
    }

    std::vector<std::unique_ptr<Core>> cores_;
    std::vector<uint32_t> reached_; /* SyncAll of each block so far */
    std::mutex mutex_;
    std::condition_variable changed_;
    uint32_t turn_ = 0;
    bool stopped_ = false;
    Fault fault_;
};

}  // namespace asc_cpu
