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
    ~Threads();
    /* Calls body() once for each thread, x fastest. Throws what it throws. */
    void run(const Dim3 &dims, ActionRef body);
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

    void wait(Waits what, uint64_t brings, Where w, const char *name);
    Context *next_context();
    void resume(Context &c);
    void become(uint32_t thread);
    static void enter();
    void run_threads(Context &c);
    /* Every thread has begun, and those that have not ended wait. */
    void release();
    /* Of each warp, those that wait where its first waiting lane does. */
    bool release_warps();

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
Threads &threads();

}  // namespace asc_cpu::simt

#ifndef ASC_CPU_APART
#include "scheduling.h"
#endif
