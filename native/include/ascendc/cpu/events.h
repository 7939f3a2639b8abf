/* Synchronisation of the pipes of a core: flags, barriers. */
#pragma once

#include "tensor.h"

namespace AscendC {

using ::PIPE_ALL;
using ::PIPE_FIX;
using ::PIPE_M;
using ::PIPE_MTE1;
using ::PIPE_MTE2;
using ::PIPE_MTE3;
using ::PIPE_S;
using ::pipe_t;
using ::PIPE_V;

/* A_B: pipe B waits for pipe A. */
enum class HardEvent : uint8_t {
    MTE2_MTE1,
    MTE1_MTE2,
    MTE1_M,
    M_MTE1,
    MTE2_V,
    V_MTE2,
    MTE3_V,
    V_MTE3,
    M_V,
    V_M,
    V_V,
    MTE3_MTE1,
    MTE1_MTE3,
    MTE1_V,
    V_MTE1,
    MTE2_M,
    M_MTE2,
    M_MTE3,
    MTE3_M,
    V_S,
    S_V,
    MTE2_S,
    S_MTE2,
    MTE1_S,
    S_MTE1,
    MTE3_S,
    S_MTE3,
    M_S,
    S_M,
    MTE2_MTE3,
    MTE3_MTE2,
    FIX_M,
    M_FIX,
    FIX_MTE3,
    MTE3_FIX,
    FIX_MTE2,
    MTE2_FIX,
    FIX_MTE1,
    MTE1_FIX,
    FIX_S,
    S_FIX,
    FIX_V,
    V_FIX,
    FIX_FIX,
    M_M,
    MAX
};

}  // namespace AscendC

using event_t = int32_t;
enum : event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };
using TEventID = int8_t;
constexpr TEventID INVALID_TEVENTID = -1;
namespace AscendC {
using ::event_t;
using ::TEventID;
}  // namespace AscendC

namespace asc_cpu {

struct Ends {
    pipe_t from, to;
};
constexpr Ends ends_of(AscendC::HardEvent event) {
    constexpr pipe_t S = PIPE_S, V = PIPE_V, M = PIPE_M, MTE1 = PIPE_MTE1, MTE2 = PIPE_MTE2, MTE3 = PIPE_MTE3,
                     FIX = PIPE_FIX;
    using E = AscendC::HardEvent;
    switch (event) {
#define ASC_ENDS(a, b) \
    case E::a##_##b: return {a, b};
        ASC_ENDS(MTE2, MTE1)
        ASC_ENDS(MTE1, MTE2)
        ASC_ENDS(MTE1, M)
        ASC_ENDS(M, MTE1)
        ASC_ENDS(MTE2, V)
        ASC_ENDS(V, MTE2)
        ASC_ENDS(MTE3, V)
        ASC_ENDS(V, MTE3)
        ASC_ENDS(M, V)
        ASC_ENDS(V, M)
        ASC_ENDS(V, V)
        ASC_ENDS(MTE3, MTE1)
        ASC_ENDS(MTE1, MTE3)
        ASC_ENDS(MTE1, V)
        ASC_ENDS(V, MTE1)
        ASC_ENDS(MTE2, M)
        ASC_ENDS(M, MTE2)
        ASC_ENDS(M, MTE3)
        ASC_ENDS(MTE3, M)
        ASC_ENDS(V, S)
        ASC_ENDS(S, V)
        ASC_ENDS(MTE2, S)
        ASC_ENDS(S, MTE2)
        ASC_ENDS(MTE1, S)
        ASC_ENDS(S, MTE1)
        ASC_ENDS(MTE3, S)
        ASC_ENDS(S, MTE3)
        ASC_ENDS(M, S)
        ASC_ENDS(S, M)
        ASC_ENDS(MTE2, MTE3)
        ASC_ENDS(MTE3, MTE2)
        ASC_ENDS(FIX, M)
        ASC_ENDS(M, FIX)
        ASC_ENDS(FIX, MTE3)
        ASC_ENDS(MTE3, FIX)
        ASC_ENDS(FIX, MTE2)
        ASC_ENDS(MTE2, FIX)
        ASC_ENDS(FIX, MTE1)
        ASC_ENDS(MTE1, FIX)
        ASC_ENDS(FIX, S)
        ASC_ENDS(S, FIX)
        ASC_ENDS(FIX, V)
        ASC_ENDS(V, FIX)
        ASC_ENDS(FIX, FIX)
        ASC_ENDS(M, M)
#undef ASC_ENDS
        default: return {S, S};
    }
}

inline void barrier(pipe_t pipe, Where w) {
    if constexpr (!CHECKED) return;
    if (w.line) place().where = w;
    Core &c = core();
    if (pipe == PIPE_ALL) return c.barrier_all();
    const uint32_t p = index_of(pipe);
    c.scalar_event = 0;
    c.known[p][p] = c.issued[p];
    if (p == 0) c.known[0] = c.after(0);
}

/* For what a pipe has been given so far; a flag of a vector instruction is behind it, so that it counts as a barrier.
 */
inline Clock signal(uint32_t pipe) {
    Core &c = core();
    c.scalar_event = 0;
    if (pipe == 1) c.known[1][1] = c.issued[1];
    return c.after(pipe);
}

inline void set_flag(pipe_t from, pipe_t to, int32_t id, Where w) {
    if constexpr (!CHECKED) return;
    if (w.line) place().where = w;
    Flag &flag = core().flags[index_of(from)][index_of(to)][id & 15];
    if (flag.set)
        report("ErrorSync7", "wait for it first, or take another event", nullptr, -1,
               "SetFlag %s_%s of event %d, which line %d has set and nothing has waited for",
               name_of_pipe(index_of(from)), name_of_pipe(index_of(to)), int(id), flag.where.line);
    flag = {true, signal(index_of(from)), place().where};
}
inline void wait_flag(pipe_t from, pipe_t to, int32_t id, Where w) {
    if constexpr (!CHECKED) return;
    if (w.line) place().where = w;
    Flag &flag = core().flags[index_of(from)][index_of(to)][id & 15];
    if (!flag.set)
        fail_with("ErrorSync3", "call SetFlag with the same event before it",
                  "WaitFlag without SetFlag: %s_%s of event %d", name_of_pipe(index_of(from)),
                  name_of_pipe(index_of(to)), int(id));
    flag.set = false;
    core().learn(index_of(to), flag.clock);
}
/* Flags that nobody waited for, at the end of a block. */
inline void check_flags() {
    const Core &c = core();
    for (uint32_t a = 0; a < PIPES; a++)
        for (uint32_t b = 0; b < PIPES; b++)
            for (const Flag &flag : c.flags[a][b])
                if (flag.set) {
                    place().where = flag.where;
                    report("ErrorSync3", "wait for every flag that is set", nullptr, -1,
                           "SetFlag without WaitFlag: %s_%s", name_of_pipe(a), name_of_pipe(b));
                }
}

}  // namespace asc_cpu

namespace AscendC {

template <pipe_t pipe>
inline void PipeBarrier(asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::barrier(pipe, w);
}
template <HardEvent event>
inline void SetFlag(int32_t id, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::set_flag(asc_cpu::ends_of(event).from, asc_cpu::ends_of(event).to, id, w);
}
template <HardEvent event>
inline void WaitFlag(int32_t id, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::wait_flag(asc_cpu::ends_of(event).from, asc_cpu::ends_of(event).to, id, w);
}
template <pipe_t from, pipe_t to>
inline void SetFlag(int32_t id, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::set_flag(from, to, id, w);
}
template <pipe_t from, pipe_t to>
inline void WaitFlag(int32_t id, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::wait_flag(from, to, id, w);
}
/* Flags of one pair of pipes. */
template <pipe_t from, pipe_t to>
class TQueSync {
   public:
    void SetFlag(TEventID id, asc_cpu::Where w = asc_cpu::Where::here()) { asc_cpu::set_flag(from, to, id, w); }
    void WaitFlag(TEventID id, asc_cpu::Where w = asc_cpu::Where::here()) { asc_cpu::wait_flag(from, to, id, w); }
};
enum class MemDsbT : uint8_t { ALL, DDR, UB, SEQ };
template <MemDsbT mode>
inline void DataSyncBarrier(asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::barrier(PIPE_ALL, w);
}

}  // namespace AscendC

inline void set_flag(pipe_t from, pipe_t to, int32_t id, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::set_flag(from, to, id, w);
}
inline void wait_flag(pipe_t from, pipe_t to, int32_t id, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::wait_flag(from, to, id, w);
}
inline void pipe_barrier(pipe_t pipe, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::barrier(pipe, w);
}
