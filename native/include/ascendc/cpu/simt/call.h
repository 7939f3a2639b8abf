/* VF_CALL and asc_vf_call: a SIMT function as one instruction of the vector pipe.
 *
 * Threads use addresses, not tensors, so their accesses can't be looked at one by one. What they write is found
 * afterwards, by comparison: global memory stays as the host gave it; in the unified buffer, zeros that nothing has
 * written are a pattern before, so that zeros are seen, too. */
#pragma once

#include "../intrinsics.h"
#include "threads.h"

namespace asc_cpu::simt {

/* What an unwritten byte of the unified buffer holds: no two places alike, so that few programs write it. */
inline uint8_t unwritten_byte(uint64_t at) {
    const uint64_t mixed = (at + 0x9E3779B97F4A7C15ull) * 0xBF58476D1CE4E5B9ull;
    return uint8_t(mixed >> 56 | 1);
}

/* Which four bytes of the unified buffer a call changes: a single one may become what the pattern was. What a program
 * has put there by an address of its own stays, but for zeros. */
class Changes {
   public:
    explicit Changes(Memory &memory) : memory_(memory) {
        uint8_t *const at = memory.data();
        constexpr uint8_t zeros[4] = {};
        for (uint32_t word = 0; word < memory.size(); word += 4) {
            if (std::memcmp(at + word, zeros, 4) != 0) continue;
            for (uint32_t i = word; i < word + 4; i++)
                if (!memory.written.at(i)) at[i] = unwritten_byte(i);
        }
        before_.assign(at, at + memory.size());
    }
    /* They are written from now on, by the instruction that `now` is, and checked as the writes of any other. */
    void mark(Now now) {
        uint8_t *const at = memory_.data();
        Operand o = local_at(at).writes(memory_.size()).aligned(1);
        const uint32_t bytes = memory_.size();
        for (uint32_t begin = 0, end; begin < bytes; begin = end) {
            for (end = begin; end < bytes && changed(end); end += 4) {
            }
            if (end == begin) {
                end += begin % BLOCK == 0 && !block_changed(begin) ? BLOCK : 4;
                continue;
            }
            o.base = at + begin;
            check_write(o, now, begin, end - begin);
        }
        core().hasty = false; /* it has taken effect */
    }

   private:
    bool changed(uint32_t word) const { return std::memcmp(memory_.data() + word, &before_[word], 4) != 0; }
    bool block_changed(uint32_t begin) const {
        return std::memcmp(memory_.data() + begin, &before_[begin], BLOCK) != 0;
    }
    Memory &memory_;
    std::vector<uint8_t> before_;
};

/* The first block that a pointer of the unified buffer names: the pipes that fill it are waited for, and those that
 * empty it wait. */
template <typename T>
inline void add_operand(std::vector<Operand> &to, const T &argument) {
    if constexpr (std::is_pointer_v<T>) {
        Memory &memory = core().in(Space::UB);
        const auto *at = reinterpret_cast<const uint8_t *>(argument);
        if (!memory.begun() || !memory.holds(at)) return;
        const LocalTensor<uint8_t> tensor = local_at(at);
        const uint32_t bytes = tensor.GetSize() < BLOCK ? tensor.GetSize() : BLOCK;
        to.push_back(tensor.reads(bytes).loosely().aligned(1));
    }
}

/* Where the call stands, beside its number of threads. */
struct Placed {
    Dim3 dims;
    Where where = Where::nowhere();
    Placed(const Dim3 &d, Where w = Where::here()) : dims(d), where(w) {}
    Placed(uint32_t x, uint32_t y = 1, uint32_t z = 1, Where w = Where::here()) : dims(x, y, z), where(w) {}
};

template <auto function, typename... Args>
inline void call(const Placed &placed, const Args &...args) {
    if (core().apart && core().kind == CoreKind::Cube) return;
    const Dim3 dims = placed.dims;
    at(placed.where);
    if (dims.size() == 0 || dims.size() > MOST_THREADS)
        fail_with("ErrorParam", "give 1 to 2048 threads in all", "VF_CALL with %llu threads",
                  (unsigned long long)dims.size());
    const auto work = [=] {
        the_block = {uint32_t(AscendC::GetBlockIdx()), 0, 0};
        the_grid = Dim3(AscendC::GetBlockNum());
        threads().run(dims, [&] { function(args...); });
    };
    if constexpr (CHECKED) {
        for (Global &g : globals()) g.expect_threads();
        std::vector<Operand> operands;
        (add_operand(operands, args), ...);
        const Clock known = check(PIPE_V, "VF_CALL", placed.where, operands.data(), operands.size(), false);
        later(PIPE_V, known, work);
        Core &c = core();
        const uint32_t pipe = index_of(PIPE_V), id = uint32_t(c.log.size() - 1);
        c.force(pipe, c.issued[pipe] - 1);
        Changes changes(c.in(Space::UB));
        after_vectors();
        at(placed.where);
        changes.mark({pipe, id, "VF_CALL", known, false});
    } else {
        work();
    }
}

}  // namespace asc_cpu::simt

namespace AscendC::Simt {

using asc_cpu::simt::Dim3;

template <auto function, typename... Args>
inline void VF_CALL(const asc_cpu::simt::Placed &threads, Args &&...args) {
    asc_cpu::simt::call<function>(threads, args...);
}

template <int dim = 0>
inline uint32_t GetThreadIdx() {
    const auto &i = asc_cpu::simt::the_thread;
    return dim == 0 ? i.x : dim == 1 ? i.y : i.z;
}
template <int dim = 0>
inline uint32_t GetThreadNum() {
    const auto &n = asc_cpu::simt::the_threads;
    return dim == 0 ? n.x : dim == 1 ? n.y : n.z;
}
inline uint32_t GetBlockIdx() {
    return asc_cpu::simt::the_block.x;
}
inline uint32_t GetBlockNum() {
    return asc_cpu::simt::the_grid.x;
}
constexpr int32_t GetWarpSize() {
    return int32_t(asc_cpu::simt::WARP);
}
inline uint32_t GetLaneId() {
    return asc_cpu::simt::threads().lane();
}

inline void ThreadBarrier(asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::simt::threads().wait_for_block(w);
}
/* Accesses of threads take effect in the order of their turns: there is nothing to wait for. */
inline void ThreadFence() {}

}  // namespace AscendC::Simt
