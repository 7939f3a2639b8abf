/* Threads of a SIMT function. Each runs until it ends or waits for others; then another one has its turn.
 *
 * One context runs thread after thread. A thread that waits keeps its context, and the next threads get a new one, so
 * that a function in which nothing waits needs one. */
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

#include <deque>
#include <exception>
#include <memory>
#include <vector>

#include "../control.h"

namespace asc_cpu::simt {

constexpr uint32_t WARP = 32, MOST_THREADS = 2048;

/* Numbers of threads along three axes. */
struct Dim3 {
    uint32_t x = 1, y = 1, z = 1;
    constexpr Dim3() = default;
    template <typename X, typename Y = uint32_t, typename Z = uint32_t>
    constexpr Dim3(X x_, Y y_ = 1, Z z_ = 1) : x(uint32_t(x_)), y(uint32_t(y_)), z(uint32_t(z_)) {}
    constexpr uint64_t size() const { return uint64_t(x) * y * z; }
};
struct Index3 {
    uint32_t x = 0, y = 0, z = 0;
};
/* Who is running. One core has its turn at a time (blocks.h), and within it one thread. */
inline Index3 the_thread, the_block;
inline Dim3 the_threads, the_grid;

/* What the threads of a warp bring to a function that they call together; bit i of `active`: lane i did. */
struct WarpValues {
    uint64_t value[WARP] = {};
    uint32_t active = 0;
};

enum class Waits : uint8_t { No, ForBlock, ForWarp };
struct Context {
    ucontext_t registers;
    void *stack = nullptr;
    uint32_t thread = 0;
    Waits waits = Waits::No;
    Where where = Where::nowhere();
    uint64_t brings = 0;
    WarpValues gets{};
};

class Threads {
   public:
    ~Threads() {
        for (auto &c : contexts_) ::munmap(c->stack, STACK);
    }
    /* Calls body() once for each thread, x fastest. Throws what it throws. */
    void run(const Dim3 &dims, ActionRef body) {
        body_ = &body, dims_ = dims;
        next_ = ended_ = 0, total_ = uint32_t(dims.size());
        the_threads = dims;
        error_ = nullptr, ready_.clear(), waiting_.clear(), free_.clear();
        for (auto &c : contexts_) free_.push_back(c.get());
        running_ = true;
        while (ended_ < total_ && !error_) {
            if (Context *c = next_context())
                resume(*c);
            else
                release();
        }
        running_ = false;
        if (error_) std::rethrow_exception(error_);
    }
    /* Until every thread of the block is here. */
    void wait_for_block(Where w) { wait(Waits::ForBlock, 0, w, "asc_syncthreads"); }
    /* Until every thread of the warp that has not ended, and does not wait for the block, is here or elsewhere. */
    const WarpValues &wait_for_warp(uint64_t brings, Where w) {
        wait(Waits::ForWarp, brings, w, "a warp function");
        return current_->gets;
    }
    uint32_t lane() const { return current_ ? current_->thread % WARP : 0; }

   private:
    static constexpr size_t STACK = size_t(256) << 10;

    void wait(Waits what, uint64_t brings, Where w, const char *name) {
        if (!running_)
            fail_with("ErrorParam", "call it in a function that VF_CALL starts", "%s without SIMT threads", name);
        Context &c = *current_;
        c.waits = what, c.brings = brings, c.where = w;
        waiting_.push_back(&c);
        ::swapcontext(&c.registers, &scheduler_);
    }
    Context *next_context() {
        if (!ready_.empty()) {
            Context *c = ready_.front();
            ready_.pop_front();
            return c;
        }
        if (next_ == total_) return nullptr;
        if (free_.empty()) {
            contexts_.push_back(std::make_unique<Context>());
            void *at =
                ::mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (at == MAP_FAILED) throw std::bad_alloc();
            contexts_.back()->stack = at;
            free_.push_back(contexts_.back().get());
        }
        Context *c = free_.back();
        free_.pop_back();
        ::getcontext(&c->registers);
        c->registers.uc_stack.ss_sp = c->stack, c->registers.uc_stack.ss_size = STACK;
        c->registers.uc_link = &scheduler_;
        starting_ = this;
        ::makecontext(&c->registers, &Threads::enter, 0);
        c->thread = next_;
        return c;
    }
    void resume(Context &c) {
        c.waits = Waits::No;
        current_ = &c;
        become(c.thread);
        ::swapcontext(&scheduler_, &c.registers);
        current_ = nullptr;
    }
    void become(uint32_t thread) {
        the_thread = {thread % dims_.x, thread / dims_.x % dims_.y, thread / dims_.x / dims_.y};
    }
    static void enter() { starting_->run_threads(*starting_->current_); }
    void run_threads(Context &c) {
        while (next_ < total_ && !error_) {
            c.thread = next_++;
            become(c.thread);
            try {
                (*body_)();
            } catch (...) {
                error_ = std::current_exception();
            }
            ended_++;
        }
        free_.push_back(&c);
        ::swapcontext(&c.registers, &scheduler_);
    }
    /* Every thread has begun, and those that have not ended wait. */
    void release() {
        if (release_warps()) return;
        if (ended_) {
            const Where where = waiting_.front()->where;
            place().where = where;
            running_ = false;
            fail_with("ErrorSync6", "let every thread of the block reach it, outside of branches",
                      "asc_syncthreads, which %u of %u threads never reach", ended_, total_);
        }
        std::vector<Context *> all(waiting_.begin(), waiting_.end());
        waiting_.clear();
        order(all);
        ready_.insert(ready_.end(), all.begin(), all.end());
    }
    /* Of each warp, those that wait where its first waiting lane does. */
    bool release_warps() {
        std::vector<Context *> all;
        for (Context *c : waiting_)
            if (c->waits == Waits::ForWarp) all.push_back(c);
        if (all.empty()) return false;
        order(all);
        for (size_t begin = 0, end; begin < all.size(); begin = end) {
            WarpValues values;
            for (end = begin; end < all.size() && all[end]->thread / WARP == all[begin]->thread / WARP; end++)
                if (together(*all[end], *all[begin])) {
                    values.value[all[end]->thread % WARP] = all[end]->brings;
                    values.active |= 1u << all[end]->thread % WARP;
                }
            for (size_t i = begin; i < end; i++)
                if (together(*all[i], *all[begin])) {
                    all[i]->gets = values;
                    ready_.push_back(all[i]);
                    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), all[i]));
                }
        }
        return true;
    }
    static bool together(const Context &a, const Context &b) { return a.where.line == b.where.line; }
    static void order(std::vector<Context *> &all) {
        std::sort(all.begin(), all.end(), [](const Context *a, const Context *b) { return a->thread < b->thread; });
    }

    const ActionRef *body_ = nullptr;
    Dim3 dims_;
    uint32_t next_ = 0, ended_ = 0, total_ = 0;
    bool running_ = false;
    std::exception_ptr error_;
    ucontext_t scheduler_;
    Context *current_ = nullptr;
    std::vector<std::unique_ptr<Context>> contexts_;
    std::vector<Context *> free_;
    std::deque<Context *> ready_, waiting_;
    static inline Threads *starting_ = nullptr;
};
inline Threads &threads() {
    static Threads all;
    return all;
}

}  // namespace asc_cpu::simt
