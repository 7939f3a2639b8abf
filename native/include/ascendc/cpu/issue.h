/* The one function through which every instruction goes: its pipe, what it reads and writes, its place in the kernel's
 * source, and its work.
 *
 *     issue(PIPE_V, "Add", where, {dst.writes(n), a.reads(n), b.reads(n)}, [=] { ... });
 *
 * Checked, at once: alignment, bounds, whether what it reads was written, and whether the pipes that wrote or read
 * those bytes are known to be finished. The work is done when something waits for it (core.h). It may capture
 * addresses and values, no tensors. With ASCENDC_CPU_NO_CHECK only the work is done, at once.
 */
#pragma once

#include <initializer_list>

#include "check_global.h"

namespace asc_cpu {

/* What advice.h looks at when the block has ended. */
inline void count(const Operand *operands, size_t n) {
    Core &c = core();
    for (size_t i = 0; i < n; i++) {
        const Operand &o = operands[i];
        if (o.space != Space::GM || !o.run.bytes) continue;
        c.copies += o.run.repeats;
        if (o.run.bytes < 512) {
            c.short_copies += o.run.repeats;
            c.short_copy = place().where;
        }
        if (o.write) continue;
        if (Global *g = global_at(o.base)) g->read += o.run.bytes * o.run.repeats, g->reader = place().where;
    }
}

/* What an instruction asks of its unit; copies are counted by what they move. */
inline void count_work(pipe_t which, const Operand *operands, size_t n) {
    Core &c = core();
    if (which == PIPE_S) c.work[WORK_SCALAR]++;
    if (which == PIPE_M) c.work[WORK_CUBE]++;
    uint64_t widest = 0;
    for (size_t i = 0; i < n; i++) {
        const Operand &o = operands[i];
        uint64_t bytes = 0;
        o.each_run([&bytes](const Run &r) { bytes += r.bytes * r.repeats; });
        if (which == PIPE_V && o.space == Space::UB && bytes > widest) widest = bytes;
        if (which != PIPE_S && o.space == Space::GM) c.work[o.write ? WORK_WRITTEN : WORK_READ] += bytes;
    }
    if (which == PIPE_V) c.work[WORK_VECTOR] += (widest + 255) / 256;
}

/* The bank of the unified buffer that a block of 32 bytes lies in: 16 side by side, in each 64 KB. */
constexpr uint32_t bank_of(uint64_t at) {
    return uint32_t(at / 65536 * 16 + at / 32 % 16);
}
/* Whether the blocks of a repeat lie in one group of banks, which gives one block at a time. */
inline bool in_one_bank(const Operand &o) {
    if (!o.n_more) return false;
    uint32_t blocks = 1;
    for (uint32_t i = 0; i < o.n_more; i++) {
        if ((o.more[i].begin - o.run.begin) % 512) return false;
        blocks++;
    }
    return blocks >= 2;
}
/* Repeats that wait for one another's banks: two sources in one bank, or an operand whose blocks all lie in one. */
inline void count_banks(const Operand *operands, size_t n) {
    Core &c = core();
    const Operand *first = nullptr;
    bool waits = false;
    uint64_t repeats = 0;
    for (size_t i = 0; i < n; i++) {
        const Operand &o = operands[i];
        if (o.space != Space::UB || !o.run.bytes) continue;
        const uint64_t bytes = o.run.bytes * o.run.repeats;
        if ((bytes + 255) / 256 > repeats) repeats = o.n_more ? o.run.repeats : (bytes + 255) / 256;
        waits = waits || in_one_bank(o);
        if (o.write) continue;
        const uint64_t at = uint64_t(o.base - c.in(Space::UB).data() + o.run.begin);
        if (!first)
            first = &o;
        else if (first->base != o.base &&
                 bank_of(at) == bank_of(uint64_t(first->base - c.in(Space::UB).data() + first->run.begin)))
            waits = true;
    }
    if (!waits) return;
    if (!c.bank_waits) c.bank_wait = place().where;
    c.bank_waits += repeats;
}

/* Checks an instruction and returns what is finished before it. */
[[gnu::noinline]] inline Clock check(pipe_t which, const char *name, Where where, const Operand *operands, size_t n,
                                     bool lanes) {
    Core &c = core();
    if (where.line) place().where = where;
    const uint32_t pipe = index_of(which);
    if (pipe) count(operands, n);
    count_work(which, operands, n);
    if (pipe == 1 && lanes) count_banks(operands, n);
    if (pipe || !c.scalar_event || c.scalar_event != c.log.size() - 1) {
        c.issued[pipe]++;
        c.log.push_back({place().where, name, c.issued[pipe], uint8_t(pipe)});
        c.scalar_event = pipe ? 0 : uint32_t(c.log.size() - 1);
    }
    Now now{pipe, uint32_t(c.log.size() - 1), name, c.before(pipe), lanes};
    for (size_t i = 0; i < n; i++) {
        use(operands[i], now);
        bounds(operands[i], now);
    }
    Holes holes; /* before the result is written, which may lie where a source does */
    for (const bool write : {false, true}) {
        if (write && now.holes) holes = holes_of(operands, n);
        for (size_t i = 0; i < n; i++) {
            const Operand &o = operands[i];
            if (o.write != write) continue;
            o.space == Space::GM ? check_global(o, now) : check_local(o, now);
        }
    }
    if (now.holes) spread_holes(operands, n, holes);
    return now.known;
}

constexpr size_t MOST_PENDING = 4096;

/* Does work once its pipe comes to it, which it moves there. */
inline void later(pipe_t which, const Clock &needs, ActionRef work) {
    Core &c = core();
    const uint32_t pipe = index_of(which);
    if (pipe == 0) {
        c.done[0] = c.issued[0];
        work();
        return;
    }
    c.waiting[pipe].push_back({needs, c.issued[pipe], Action(work)});
    if (c.hasty) {
        c.hasty = false;
        c.force(pipe, c.issued[pipe]);
    }
    if (c.waiting[pipe].size() > MOST_PENDING) c.force(pipe, c.issued[pipe] - uint32_t(MOST_PENDING / 2));
}

/* Whether an instruction is of a core of the other kind, beside this one in a mixed kernel. */
inline bool is_foreign(std::initializer_list<Operand> operands) {
    if (!core().apart) return false;
    for (const Operand &o : operands)
        if (o.space != Space::GM) return (core().kind == CoreKind::Cube) == (o.space == Space::UB);
    return false;
}

inline void issue_checked(pipe_t pipe, const char *name, Where where, std::initializer_list<Operand> operands,
                          bool lanes, ActionRef work) {
    if (is_foreign(operands)) return;
    later(pipe, check(pipe, name, where, operands.begin(), operands.size(), lanes), work);
}
/* An instruction whose result takes every element that it reads. */
template <typename F>
inline void issue(pipe_t pipe, const char *name, Where where, std::initializer_list<Operand> operands, F &&work) {
    if constexpr (CHECKED)
        issue_checked(pipe, name, where, operands, false, work);
    else if (!is_foreign(operands))
        work();
}
/* An elementwise instruction. */
template <typename F>
inline void issue_lanes(pipe_t pipe, const char *name, Where where, std::initializer_list<Operand> operands, F &&work) {
    if constexpr (CHECKED)
        issue_checked(pipe, name, where, operands, true, work);
    else if (!is_foreign(operands))
        work();
}

/* The access of one element by the scalar unit. */
[[gnu::noinline]] inline void scalar_issue(const char *name, Where w, const Operand &o) {
    issue(PIPE_S, name, w, {o}, [] {});
    if (!o.write) core().scalar_reads++, core().scalar_read = w;
    if (o.space == Space::GM) return;
    const Memory &m = core().in(o.space);
    const uint32_t id = m.writer[size_t((o.base - m.begun() + o.run.begin) / BLOCK)];
    core().scalar_knows[id % 8] = id;
}
/* Whether nothing needs to be looked at: in range, written, and by an instruction known to be finished. */
inline bool scalar_reads(Where w, const Buffer *buffer, Space space, const uint8_t *base, uint64_t limit,
                         uint64_t offset, uint64_t bytes) {
    Core &c = *the_core;
    const Memory &m = c.memory[size_t(space)];
    if (!base || offset + bytes > limit || (buffer && (buffer->stage == Stage::Free || buffer->stage == Stage::Queued)))
        return false;
    const uint64_t at = uint64_t(base - m.begun()) + offset;
    const uint32_t id = m.writer[size_t(at / BLOCK)];
    if (c.scalar_knows[id % 8] != id || !m.written.element(at, bytes)) return false;
    place().where = w;
    c.scalar_reads++, c.work[WORK_SCALAR]++, c.scalar_read = w;
    return true;
}
/* Whether the last instruction was a scalar write to the same block. */
inline bool scalar_writes(Where w, const Buffer *buffer, Space space, const uint8_t *base, uint64_t limit,
                          uint64_t offset, uint64_t bytes) {
    Core &c = *the_core;
    Memory &m = c.memory[size_t(space)];
    if (!c.scalar_event || !base || offset + bytes > limit ||
        (buffer && (buffer->stage == Stage::Free || buffer->stage == Stage::Queued)))
        return false;
    const uint64_t at = uint64_t(base - m.begun()) + offset;
    if (m.writer[size_t(at / BLOCK)] != c.scalar_event || c.scalar_event != c.log.size() - 1) return false;
    m.written.set(at, bytes);
    c.work[WORK_SCALAR]++;
    place().where = w;
    return true;
}

}  // namespace asc_cpu
