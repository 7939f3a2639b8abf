/* The checks of an instruction, what is counted of it, and its place behind those that its pipe has. */
#pragma once

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

ASC_RUNTIME Clock check(pipe_t which, const char *name, Where where, const Operand *operands, size_t n, bool lanes) {
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

ASC_RUNTIME void later(pipe_t which, const Clock &needs, ActionRef work) {
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

}  // namespace asc_cpu
