/* How the cores of a launch take turns. Included by blocks.h, behind the class. */
#pragma once

#include <algorithm>
#include <csetjmp>

namespace asc_cpu {

/* Faults that can't leave by themselves: destructors of a kernel's objects let none out. Where std::terminate would
 * end the process, the core's thread goes on behind its kernel; what lies between is left as it is. */
class WayOut {
   public:
    WayOut() { before() = std::set_terminate(&WayOut::take); }
    ~WayOut() { std::set_terminate(before()); }
    WayOut(const WayOut &) = delete;
    WayOut &operator=(const WayOut &) = delete;
    /* Where this thread goes on, null for nowhere. */
    static std::jmp_buf *&beyond() {
        static thread_local std::jmp_buf *place = nullptr;
        return place;
    }

   private:
    [[noreturn]] static void take() {
        if (beyond() && is_ours()) std::longjmp(*beyond(), 1);
        if (before()) before()();
        std::abort();
    }
    static bool is_ours() {
        try {
            if (std::current_exception()) throw;
        } catch (const Fault &) {
            return true;
        } catch (const Stopped &) {
            return true;
        } catch (...) {
        }
        return false;
    }
    static std::terminate_handler &before() {
        static std::terminate_handler handler = nullptr;
        return handler;
    }
};

ASC_RUNTIME Blocks::Signal &Blocks::signal_of(uint64_t key) {
    return signals_[key];
}
ASC_RUNTIME void Blocks::run(uint32_t n, const Chip &chip, Kernel kernel, uint32_t ratio, ActionRef body) {
    const uint32_t per_block = kernel == Kernel::Mix ? 1 + ratio : 1;
    for (uint32_t i = 0; i < n * per_block; i++) add(i, n, per_block, kernel, ratio);
    ready_.assign(cores_.size(), nullptr);
    places_.assign(cores_.size(), Where::nowhere());
    the_blocks() = this;
    const WayOut way_out;
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < cores_.size(); i++)
        threads.emplace_back([this, i, &chip, body] {
            std::jmp_buf beyond;
            WayOut::beyond() = &beyond;
            if (setjmp(beyond) == 0)
                run_core(i, chip, body);
            else if (!stopped_)
                end(thrown());
            WayOut::beyond() = nullptr;
            leave(i);
        });
    for (std::thread &t : threads) t.join();
    launch_work() = {};
    for (const auto &made : cores_) launch_work().add(made->work);
    if (CHECKED && !stopped_) advise_on_globals();
    the_core = nullptr;
    asc_on_cube_core = false;
    the_blocks() = nullptr;
    if (stopped_) throw fault_;
}

ASC_RUNTIME void Blocks::sync(bool both, int64_t used) {
    Core &mine = core();
    if (CHECKED && mine.storing && settings().strict)
        fail("ErrorSync5", "SyncAll with no PipeBarrier<PIPE_ALL> since a copy to global memory");
    mine.barrier_all();
    const uint32_t round = ++mine.syncs;
    mine.time++;
    arrivals_[round % 2].resize(cores_.size());
    arrivals_[round % 2][mine.number] = mine.time;
    const auto takes_part = [both, used, kind = mine.kind](const Core &other) {
        return (both || other.kind == kind) && (used <= 0 || other.block_idx < used);
    };
    const auto arrived = [this, round, takes_part] {
        for (size_t i = 0; i < cores_.size(); i++)
            if (takes_part(*cores_[i]) && cores_[i]->syncs < round) {
                if (ended_[i]) fail("ErrorSync6", "SyncAll number %u, which not every block reaches", round);
                return false;
            }
        return true;
    };
    wait_until(arrived, "SyncAll");
    for (size_t i = 0; i < cores_.size(); i++)
        if (takes_part(*cores_[i])) merge_seen(cores_[i]->seen, uint32_t(i), arrivals_[round % 2][i]);
}

ASC_RUNTIME void Blocks::merge_seen(const std::vector<uint32_t> &seen, uint32_t from, uint32_t time) {
    Core &mine = core();
    for (size_t i = 0; i < seen.size(); i++) mine.seen[i] = std::max(mine.seen[i], seen[i]);
    mine.seen[from] = std::max(mine.seen[from], time);
}

ASC_RUNTIME void Blocks::wait_until(ConditionRef condition, const char *what) {
    const uint32_t i = core().number;
    const Where where = place().where;
    if (condition()) return;
    ready_[i] = condition;
    places_[i] = where;
    if (!pass(i)) {
        ready_[i] = nullptr;
        place().where = where;
        fail_with("ErrorSync6", "let another core release it, and all wait in the same order",
                  "%s waits for what no core will do", what);
    }
    wait(i);
    ready_[i] = nullptr;
    place().where = where;
}

ASC_RUNTIME void Blocks::raise(uint64_t key, pipe_t pipe) {
    Core &mine = core();
    if (pipe == PIPE_ALL || pipe == PIPE_S)
        mine.drain();
    else
        mine.catch_up(mine.after(index_of(pipe)));
    Signal &signal = signals_[key];
    signal.count++;
    signal.from = mine.number;
    signal.time = mine.time + 1;
    signal.seen = mine.seen;
}

ASC_RUNTIME void Blocks::take(const std::vector<uint64_t> &keys) {
    for (const uint64_t key : keys) {
        Signal &signal = signals_[key];
        signal.count--;
        merge_seen(signal.seen, signal.from, signal.time);
    }
}

ASC_RUNTIME void Blocks::run_core(uint32_t i, const Chip &chip, ActionRef body) {
    try {
        wait(i);
        core().start(chip);
        body();
        place().where = Where::nowhere();
        core().drain();
        if (CHECKED) {
            check_flags();
            if (i == 0) advise_on_block(chip.ub);
        }
    } catch (const Fault &fault) {
        if (!stopped_) end(fault);
    } catch (const Stopped &) {
    }
}

ASC_RUNTIME void Blocks::leave(uint32_t i) {
    ended_[i] = true;
    cores_[i]->waiting[0].clear();
    for (uint32_t s = 0; s < SPACES; s++) cores_[i]->memory[s].start(Space(s), 0);
    pass(i);
}

ASC_RUNTIME void Blocks::add(uint32_t i, uint32_t n, uint32_t per_block, Kernel kernel, uint32_t ratio) {
    auto made = std::make_unique<Core>();
    const uint32_t block = i / per_block, part = i % per_block;
    made->number = i;
    made->block_num = n;
    made->seen.assign(n * per_block, 0);
    const bool vector = kernel == Kernel::Vector || (kernel == Kernel::Mix && part > 0);
    made->kind = vector ? CoreKind::Vector : CoreKind::Cube;
    made->block_idx = block;
    made->apart = kernel == Kernel::Mix;
    if (kernel == Kernel::Mix && vector) {
        made->sub_block = part - 1, made->sub_blocks = ratio;
        made->block_idx = block * ratio + part - 1;
    }
    cores_.push_back(std::move(made));
    turns_.push_back(std::make_unique<std::condition_variable>());
    ended_.push_back(false);
    ratio_ = ratio, kernel_ = kernel;
}

ASC_RUNTIME void Blocks::end(const Fault &fault) {
    fault_ = fault;
    char at[96] = "";
    if (fault.where.line) {
        const char *name = std::strrchr(fault.where.file, '/');
        std::snprintf(at, sizeof at, "%.64s, line %d, ", name ? name + 1 : fault.where.file, fault.where.line);
    }
    std::snprintf(fault_.text, sizeof fault_.text, "%sblock %lld: %.400s", at, (long long)fault.block, fault.text);
    stopped_ = true;
}

ASC_RUNTIME void Blocks::wait(uint32_t i) {
    std::unique_lock<std::mutex> lock(mutex_);
    turns_[i]->wait(lock, [this, i] { return turn_ == i; });
    the_core = cores_[i].get();
    asc_on_cube_core = the_core->kind == CoreKind::Cube;
    place().block = the_core->block_idx;
    if (stopped_) throw Stopped();
}

ASC_RUNTIME bool Blocks::pass(uint32_t i) {
    std::lock_guard<std::mutex> lock(mutex_);
    const uint32_t n = uint32_t(cores_.size());
    for (uint32_t k = 1; k <= n; k++) {
        const uint32_t next = (i + k) % n;
        if (ended_[next]) continue;
        try {
            place().where = places_[next];
            if (!stopped_ && ready_[next] && !ready_[next]()) continue;
        } catch (const Fault &fault) {
            place().block = cores_[next]->block_idx;
            end(fault);
            fault_.block = place().block;
        }
        turn_ = next;
        turns_[next]->notify_one();
        return true;
    }
    for (uint32_t k = 0; k < n; k++)
        if (!ended_[k] && k != i) {
            /* All that are left wait: the first of them says so. */
            if (ended_[i]) {
                ready_[k] = nullptr;
                end(describe_deadlock(k));
                turn_ = k;
                turns_[k]->notify_one();
            }
            return false;
        }
    return false;
}

ASC_RUNTIME Fault Blocks::describe_deadlock(uint32_t k) {
    try {
        place() = {places_[k], cores_[k]->block_idx};
        fail_with("ErrorSync6", "let another core release it, and all wait in the same order",
                  "it waits for what no core will do");
    } catch (const Fault &fault) {
        return fault;
    }
}

}  // namespace asc_cpu
