/* One core on a CPU: its memories, its pipes, and what each pipe knows to be finished on the others.
 *
 * Instructions of one pipe take effect in order. Between pipes nothing is certain but what flags, queues and barriers
 * say: every pipe has a clock, the numbers of the last instructions of all pipes that are finished before its next one
 * begins. An instruction takes effect only when something that waits for it does; one that nobody waits for, after
 * those that should have waited.
 */
#pragma once

#include <array>
#include <deque>

#include "callables.h"
#include "global.h"
#include "work.h"

enum pipe_t : uint8_t {
    PIPE_S,
    PIPE_V,
    PIPE_M,
    PIPE_MTE1,
    PIPE_MTE2,
    PIPE_MTE3,
    PIPE_ALL,
    PIPE_MTE4,
    PIPE_MTE5,
    PIPE_V2,
    PIPE_FIX
};

namespace asc_cpu {

/* A pipe's place in clocks. */
constexpr uint32_t index_of(pipe_t pipe) {
    return pipe == PIPE_FIX ? 6 : pipe < PIPE_ALL ? uint32_t(pipe) : pipe == PIPE_V2 ? 1 : 5;
}
inline const char *name_of_pipe(uint32_t index) {
    static const char *const names[PIPES] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
    return names[index];
}

using Clock = std::array<uint32_t, PIPES>;
inline void merge(Clock &into, const Clock &from) {
    for (uint32_t p = 0; p < PIPES; p++)
        if (from[p] > into[p]) into[p] = from[p];
}

/* An instruction of a core, by its number in the core's log: where, what, and its number in its pipe. */
struct Issued {
    Where where = Where::nowhere();
    const char *name;
    uint32_t number;
    uint8_t pipe;
    uint64_t begin = 0, bytes = 0; /* of a load: where to, and how much */
    uint32_t root = 0;   /* the first instruction of those that computed with what nothing wrote, 0: none did */
    uint32_t partly = 0; /* the first that found a part of what it read unwritten, 0: none did */
};
/* An instruction that has not taken effect. */
struct Pending {
    Clock needs;
    uint32_t number;
    Action work;
};
struct Flag {
    bool set = false;
    Clock clock{};
    Where where = Where::nowhere();
};

enum class CoreKind : uint8_t { Any, Cube, Vector };
enum class Atomic : uint8_t { None, Add, Max, Min };
/* The masks of vector instructions that take none of their own: bits, or a number of elements in counter mode. */
struct VectorMask {
    uint64_t bits[2] = {~uint64_t(0), ~uint64_t(0)};
    bool counter = false;
};

struct Core {
    uint32_t number = 0; /* among all cores of the launch */
    int64_t block_idx = 0, block_num = 1;
    uint32_t sub_block = 0, sub_blocks = 1;
    CoreKind kind = CoreKind::Any;
    bool apart = false; /* one of a mixed kernel, which leaves the other kind's instructions to the others */
    Memory memory[SPACES];
    void *tpipe = nullptr;                   /* the TPipe in use */
    std::vector<std::shared_ptr<void>> kept; /* their buffers */
    uint32_t owners = 0;                     /* queues and buffers that InitBuffer has made */
    uint32_t hccls = 0; /* objects of Hccl that it has made, which are numbered alike on every core */

    std::vector<Issued> log;
    Clock issued{}, done{};
    Clock known[PIPES] = {};
    std::deque<Pending> waiting[PIPES];
    Flag flags[PIPES][PIPES][16];
    std::vector<uint32_t> seen; /* of each core, the time up to which its writes to global memory are known */
    uint32_t time = 1;
    uint32_t syncs = 0;
    uint64_t control_bits = 0;     /* what SetCtrlSpr has set, for GetCtrlSpr */
    uint32_t scalar_event = 0;     /* the number of the last instruction, where that is a scalar write */
    uint32_t scalar_knows[8] = {}; /* instructions that the scalar unit knows to be finished */
    bool hasty = false;            /* the instruction being issued overtakes one that it should have waited for */
    bool storing = false;          /* whether a copy to global memory may be under way */

    /* For advice: copies to and from global memory, those of less than 512 bytes, elements that the scalar unit read,
     * bytes of the unified buffer in use at most. */
    uint64_t copies = 0, short_copies = 0, scalar_reads = 0;
    Where short_copy = Where::nowhere(), scalar_read = Where::nowhere(), last_buffer = Where::nowhere();
    uint32_t ub_most = 0;
    /* Repeats of vector instructions that wait for a bank of the unified buffer, and the first such instruction. */
    uint64_t bank_waits = 0;
    Where bank_wait = Where::nowhere();
    /* What made copies atomic. */
    Where atomic_from = Where::nowhere();

    uint64_t work[WORK_KINDS] = {};

    Atomic atomic = Atomic::None;
    VectorMask mask;
    uint64_t compare_mask[2] = {}; /* what Compare without a destination leaves */
    float deq_scale = 1.0f;
    uint64_t accumulated = 0, best = 0, best_at = 0; /* bits of what ReduceSum, ReduceMax and ReduceMin found last */

    void start(const Chip &chip) {
        for (uint32_t s = 0; s < SPACES; s++) memory[s].start(Space(s), chip.of(Space(s)));
        log.push_back({Where::nowhere(), "", 0, 0});
    }
    Memory &in(Space space) { return memory[size_t(space)]; }
    /* Empty memories, for a new TPipe. */
    void empty() {
        drain();
        for (Memory &m : memory) m.forget();
        owners = 0;
    }

    /* What is finished before the next instruction of a pipe: it is issued after all that the scalar unit waited for.
     */
    Clock before(uint32_t pipe) const {
        Clock clock = known[pipe];
        const uint32_t scalar = clock[0];
        merge(clock, known[0]);
        if (pipe) clock[0] = scalar;
        return clock;
    }
    /* The clock of a pipe once all that it has been given is finished. */
    Clock after(uint32_t pipe) const {
        Clock clock = before(pipe);
        clock[pipe] = issued[pipe];
        return clock;
    }
    void learn(uint32_t pipe, const Clock &clock) {
        merge(known[pipe], clock);
        if (pipe == 0) catch_up(clock);
    }
    void catch_up(const Clock &clock) {
        for (uint32_t p = 1; p < PIPES; p++) force(p, clock[p]);
    }
    /* Lets the instructions of a pipe up to a number take effect, after all that they wait for. */
    void force(uint32_t pipe, uint32_t upto);
    /* Everything takes effect: first what would read, then what it should have waited for. */
    void drain() {
        for (const uint32_t p : {5u, 6u, 2u, 1u, 3u, 4u}) force(p, issued[p]);
    }
    /* PipeBarrier<PIPE_ALL>. */
    void barrier_all() {
        Clock all = issued;
        scalar_event = 0;
        catch_up(all);
        for (Clock &clock : known) clock = all;
        storing = false;
    }
};

#ifndef ASC_CPU_APART
ASC_RUNTIME void Core::force(uint32_t pipe, uint32_t upto) {
    while (done[pipe] < upto && !waiting[pipe].empty()) {
        Pending next = std::move(waiting[pipe].front());
        waiting[pipe].pop_front();
        done[pipe] = next.number;
        catch_up(next.needs);
        next.work();
    }
}
#endif

/* The core whose turn it is. */
inline Core *the_core = nullptr;
/* Whether it is a cube core: read by the entries of kernels that are compiled for either kind of core. */
extern "C" {
[[gnu::used]] inline bool asc_on_cube_core = false;
}
inline Core &core() {
    return *the_core;
}

}  // namespace asc_cpu
