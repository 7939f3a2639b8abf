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

#include "core.h"

namespace asc_cpu {

/* Where a buffer of a queue is in its cycle; buffers of TBuf are always free to use. */
enum class Stage : uint8_t { Calc, Free, Allocated, Queued, Taken };

/* What InitBuffer made: bytes of one memory. `input`: of a queue that copies fill. */
struct Buffer {
    Stage stage = Stage::Calc;
    Space space = Space::UB;
    bool input = false;
    uint32_t begin = 0, bytes = 0, owner = 0, part = 0;
    Clock ready{};     /* at EnQue, or at FreeTensor */
    Where where{};     /* of the last AllocTensor */
    uint32_t user = 0; /* bytes of GetUserTag */
};

/* `repeats` runs of bytes, each `stride` after the one before, from an operand's first element. */
struct Run {
    int64_t begin = 0;
    uint64_t bytes = 0;
    uint32_t repeats = 1;
    int64_t stride = 0;
};

/* One operand of an instruction: the tensor it lies in, and which bytes. More runs than one live with the caller. */
struct Operand {
    Space space;
    bool write;
    uint32_t bits; /* of an element */
    uint32_t align;
    const Buffer *buffer;
    uint8_t *base;
    uint64_t limit; /* bytes of the tensor */
    Run run;
    const Run *more = nullptr;
    uint32_t n_more = 0;
    bool loose = false; /* not all of it is read: what is unwritten may be among it */

    Operand loosely() const {
        Operand other = *this;
        other.loose = true;
        return other;
    }
    Operand aligned(uint32_t bytes) const {
        Operand other = *this;
        other.align = bytes;
        return other;
    }
    template <typename F>
    void each_run(F f) const {
        f(run);
        for (uint32_t i = 0; i < n_more; i++) f(more[i]);
    }
};

/* A description of an operand for texts. */
struct Name {
    char text[128];
    explicit Name(const Operand &o) {
        if (o.space == Space::GM) {
            const Global *g = global_at(o.base);
            std::snprintf(text, sizeof text, "tensor %s", g ? g->name : "(none)");
        } else if (o.buffer) {
            const uint32_t at = uint32_t(o.base - core().in(o.space).data());
            std::snprintf(text, sizeof text, "buffer %u (part %u) at byte %u of %u (%s %u)", o.buffer->owner,
                          o.buffer->part, at - o.buffer->begin, o.buffer->bytes, name_of(o.space),
                          core().in(o.space).size());
        } else {
            const Memory &m = core().in(o.space);
            std::snprintf(text, sizeof text, "%s at byte %lld", name_of(o.space),
                          m.holds(o.base) ? (long long)(o.base - core().in(o.space).data()) : -1LL);
        }
    }
};

/* The instruction that is being checked. */
struct Now {
    uint32_t pipe, id;
    const char *name;
    Clock known;
    bool lanes; /* each element of the result depends on the same element of the operands */
    bool holes = false;
};

inline void use(const Operand &o, const Now &now) {
    const char *const kind = o.write ? "ErrorWrite1" : "ErrorRead1";
    if (!o.base)
        fail_with(
            kind, o.space == Space::GM ? "call SetGlobalBuffer first" : "take it from AllocTensor, DeQue or Get",
            "%s: %s", now.name,
            o.space == Space::GM ? "a GlobalTensor without SetGlobalBuffer" : "a tensor that was never allocated");
    if (!o.buffer) return;
    if (o.buffer->stage == Stage::Free)
        fail_with(kind, "call FreeTensor after the last use", "%s: %s was freed", now.name, Name(o).text);
    if (o.buffer->stage == Stage::Queued)
        fail_with("ErrorBuffer1", "use what DeQue returns", "%s: %s is used between EnQue and DeQue", now.name,
                  Name(o).text);
    if (now.pipe == 1 && !o.write && o.buffer->stage == Stage::Allocated && o.buffer->input && settings().strict)
        fail_with("ErrorBuffer2", "EnQue it after the copy and DeQue it before use",
                  "%s: %s, a VECIN tensor, is read before EnQue and DeQue", now.name, Name(o).text);
}

inline void bounds(const Operand &o, const Now &now) {
    o.each_run([&](const Run &run) {
        if (!run.bytes || !run.repeats) return;
        const int64_t far = run.begin + run.stride * int64_t(run.repeats - 1);
        const int64_t low = far < run.begin ? far : run.begin,
                      high = (far < run.begin ? run.begin : far) + int64_t(run.bytes);
        if (low >= 0 && uint64_t(high) <= o.limit) return;
        /* The size of a GlobalTensor is what the kernel says; the tensor itself is looked at by check_global. */
        if (low >= 0 && o.space == Space::GM && !settings().strict &&
            (!o.write || uint64_t(high) <= (o.limit + BLOCK - 1) / BLOCK * BLOCK))
            return;
        fail_with(o.write ? "ErrorWrite2" : "ErrorRead3", "check the count, the offset, and the size of the buffer",
                  "%s: %s: elements %lld to %lld of a tensor of %llu", now.name, Name(o).text,
                  (long long)(low * 8 / int64_t(o.bits)), (long long)(high * 8 / int64_t(o.bits)),
                  (unsigned long long)(o.limit * 8 / o.bits));
    });
    if (o.space != Space::GM && o.align > 1 && reinterpret_cast<uintptr_t>(o.base) % o.align)
        report(o.write ? "ErrorWrite4" : "ErrorRead4", "begin at a multiple of 32 bytes, or copy with DataCopyPad",
               Name(o).text, -1, "%s: %s: its address is not aligned to %u bytes", now.name, Name(o).text, o.align);
}

/* Two instructions in the wrong order: the one being checked, and number `other` of pipe `pipe`, which it does not
 * know to be finished. */
inline void unordered(const Operand &o, Now &now, uint32_t pipe, uint32_t other, const char *did,
                      const Issued *issued) {
    Core &c = core();
    const bool automatic = !settings().strict && (pipe == 0 || now.pipe == 0 || pipe == now.pipe);
    if (!automatic) {
        char fix[160];
        const char *const a = name_of_pipe(pipe), *const b = name_of_pipe(now.pipe);
        if (pipe == now.pipe)
            std::snprintf(fix, sizeof fix, "write PipeBarrier<PIPE_%s>() between them", a);
        else
            std::snprintf(fix, sizeof fix,
                          "write EnQue and DeQue, or SetFlag<HardEvent::%s_%s>(id) and WaitFlag<HardEvent::%s_%s>(id), "
                          "between them",
                          a, b, a, b);
        char from[160] = "";
        if (issued && issued->where.line)
            std::snprintf(from, sizeof from, " (%s, line %d)", issued->name, issued->where.line);
        report(pipe == now.pipe ? "ErrorSync1" : "ErrorSync2", fix, Name(o).text, -1,
               "%s: %s: %s on PIPE_%s with no %s since an instruction of PIPE_%s%s %s it", now.name, Name(o).text,
               o.write ? "written" : "read", b, pipe == now.pipe ? "PipeBarrier" : "wait", a, from, did);
    }
    if (automatic) {
        now.known[pipe] = other;
        if (c.known[now.pipe][pipe] < other) c.known[now.pipe][pipe] = other;
    } else if (o.write) {
        c.hasty = true;
    }
}

inline void unwritten(const Operand &o, Now &now, Memory &m, uint64_t begin, uint64_t bytes) {
    if (now.lanes && !settings().strict && !m.written.none(begin, bytes)) {
        now.holes = true;
        return;
    }
    uint64_t at = begin;
    while (m.written.at(at)) at++;
    const int64_t element = int64_t(at - uint64_t(o.base - m.data())) * 8 / int64_t(o.bits);
    report("ErrorRead2", "copy or Duplicate into it first", Name(o).text, element,
           "%s: %s: element %lld was never written", now.name, Name(o).text, (long long)element);
    m.written.set(begin, bytes);
}

inline void check_read(const Operand &o, Now &now, uint64_t begin, uint64_t bytes) {
    Core &c = core();
    Memory &m = c.in(o.space);
    if (!o.loose && !m.written.all(begin, bytes)) unwritten(o, now, m, begin, bytes);
    m.loaded.clear(begin, bytes);
    uint32_t last = 0;
    auto &reader = m.reader[now.pipe];
    const uint32_t number = c.issued[now.pipe];
    for (uint64_t b = begin / BLOCK, end = (begin + bytes + BLOCK - 1) / BLOCK; b < end; b++) {
        const uint32_t id = m.writer[b];
        reader[b] = number;
        if (id == last || id == now.id) continue;
        last = id;
        const Issued &w = c.log[id];
        if (w.number > now.known[w.pipe] && (w.pipe != now.pipe || (w.pipe == 1 && settings().strict)))
            unordered(o, now, w.pipe, w.number, "wrote", &w);
        if (now.pipe == 0 && c.done[w.pipe] < w.number && now.known[w.pipe] >= w.number) c.force(w.pipe, w.number);
    }
}

inline void check_write(const Operand &o, Now &now, uint64_t begin, uint64_t bytes) {
    Core &c = core();
    Memory &m = c.in(o.space);
    const uint64_t first = begin / BLOCK, end = (begin + bytes + BLOCK - 1) / BLOCK;
    for (uint32_t p = 1; p < PIPES; p++) {
        if (p == now.pipe || now.known[p] >= c.issued[p]) continue;
        uint32_t latest = 0;
        for (uint64_t b = first; b < end; b++) latest = m.reader[p][b] > latest ? m.reader[p][b] : latest;
        if (latest > now.known[p]) {
            unordered(o, now, p, latest, "read", nullptr);
            if (now.pipe == 0 && now.known[p] >= latest) c.force(p, latest);
        }
    }
    uint32_t last = 0;
    for (uint64_t b = first; b < end; b++) {
        const uint32_t id = m.writer[b];
        m.writer[b] = now.id;
        if (id == last || id == now.id) continue;
        last = id;
        const Issued &w = c.log[id];
        if (w.number > now.known[w.pipe] && w.pipe != now.pipe) unordered(o, now, w.pipe, w.number, "wrote", &w);
        if (now.pipe == 0 && now.known[w.pipe] >= w.number) c.force(w.pipe, w.number);
    }
    m.written.set(begin, bytes);
    if (now.pipe != index_of(PIPE_MTE2)) {
        m.loaded.clear(begin, bytes);
    } else if (m.loaded.all(begin, bytes)) {
        report("ErrorWrite3", "use what was loaded, or load it once", Name(o).text, -1,
               "%s: %s: what line %d loaded is overwritten before anything has read it", now.name, Name(o).text,
               c.log[last].where.line);
    } else {
        m.loaded.set(begin, bytes);
    }
}

inline void check_global_read(const Operand &o, Now &now, Global &g, uint64_t offset, uint64_t bytes) {
    Core &c = core();
    if (g.stamps.empty()) {
        if (g.tracked)
            report("ErrorRead2", "write it first", g.name, int64_t(offset * 8 / o.bits),
                   "%s: %s: byte %llu was never written", now.name, g.name, (unsigned long long)offset);
        return;
    }
    uint32_t last = ~0u;
    for (uint64_t i = offset / 4; i * 4 < offset + bytes; i++) {
        const uint32_t id = g.stamps[size_t(i)];
        if (id == last) continue;
        last = id;
        if (!id) {
            if (g.tracked)
                report("ErrorRead2", "write it first", g.name, int64_t(i * 32 / o.bits),
                       "%s: %s: byte %llu was never written", now.name, g.name, (unsigned long long)i * 4);
            continue;
        }
        const Event &e = events()[id];
        if (e.core == c.number) {
            if (e.number > now.known[e.pipe] && (e.pipe != now.pipe)) {
                if (settings().strict || (now.pipe != 0 && e.pipe != 0)) {
                    report("ErrorSync4", "write PipeBarrier<PIPE_ALL>(), or the flag of the two pipes, between them",
                           g.name, int64_t(i * 32 / o.bits),
                           "%s: %s: byte %llu is read with no wait since this block wrote it (line %d)", now.name,
                           g.name, (unsigned long long)i * 4, e.where.line);
                } else {
                    now.known[e.pipe] = e.number;
                }
            }
            if (now.pipe == 0 && now.known[e.pipe] >= e.number) c.force(e.pipe, e.number);
        } else if (e.core < c.seen.size() && c.seen[e.core] <= e.time) {
            report("ErrorSync4", "write SyncAll() between them", g.name, int64_t(i * 32 / o.bits),
                   "%s: %s: byte %llu is read with no SyncAll since block %u wrote it (line %d)", now.name, g.name,
                   (unsigned long long)i * 4, e.core, e.where.line);
        }
    }
}

inline void check_global_write(const Operand &o, Now &now, Global &g, uint64_t offset, uint64_t bytes) {
    Core &c = core();
    if (!g.writable) fail("ErrorWrite1", "%s: tensor %s is an input", now.name, g.name);
    c.storing = true;
    if (g.stamps.empty()) g.stamps.assign(size_t(g.bytes / 4 + 1), 0);
    const uint32_t id = uint32_t(events().size());
    const bool scalar = now.pipe == 0;
    if (scalar || g.tracked) {
        const uint64_t line = offset / 64 * 64;
        for (uint64_t i = line / 4; scalar && i * 4 < line + 64 && i < g.stamps.size(); i++) {
            const Event &e = events()[g.stamps[size_t(i)]];
            if (g.stamps[size_t(i)] && e.core != c.number && e.scalar && e.core < c.seen.size() &&
                c.seen[e.core] <= e.time)
                report("ErrorWrite6", "let each block write whole lines of 64 bytes, or use atomic copies", g.name,
                       int64_t(offset * 8 / o.bits),
                       "%s: %s: byte %llu is in a cache line that block %u writes too (line %d)", now.name, g.name,
                       (unsigned long long)offset, e.core, e.where.line);
        }
    }
    events().push_back({c.number, c.time, c.issued[now.pipe], uint8_t(now.pipe), scalar, place().where});
    for (uint64_t i = offset / 4; i * 4 < offset + bytes; i++) g.stamps[size_t(i)] = id;
}

inline void check_global(const Operand &o, Now &now) {
    if (globals().empty()) return;
    o.each_run([&](const Run &run) {
        if (!run.bytes) return;
        for (uint32_t i = 0; i < run.repeats; i++) {
            uint8_t *at = o.base + run.begin + run.stride * int64_t(i);
            Global *g = global_at(at);
            if (!g)
                fail(o.write ? "ErrorWrite1" : "ErrorRead1", "%s: an address outside of every global tensor", now.name);
            const uint64_t offset = uint64_t(at - g->begin);
            uint64_t bytes = run.bytes;
            if (bytes > g->bytes - offset) {
                if (settings().strict || offset + bytes > (g->bytes + BLOCK - 1) / BLOCK * BLOCK)
                    fail_with(o.write ? "ErrorWrite2" : "ErrorRead3", "check the tail, and the offset of the block",
                              "%s: tensor %s: %llu bytes at offset %llu, it has %llu", now.name, g->name,
                              (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)g->bytes);
                /* Device memory ends with a whole block: what is behind the tensor is there, and undefined. */
                advise("AdviceTail", "copy the tail with DataCopyPad",
                       "%s: tensor %s: %llu bytes at offset %llu, it has %llu: its last 32 bytes are copied whole",
                       now.name, g->name, (unsigned long long)bytes, (unsigned long long)offset,
                       (unsigned long long)g->bytes);
                bytes = g->bytes - offset;
            }
            o.write ? check_global_write(o, now, *g, offset, bytes) : check_global_read(o, now, *g, offset, bytes);
        }
    });
}

inline void check_local(const Operand &o, Now &now) {
    Memory &m = core().in(o.space);
    const uint64_t base = uint64_t(o.base - m.data());
    o.each_run([&](const Run &run) {
        if (!run.bytes) return;
        if (run.repeats > 1 && run.stride == int64_t(run.bytes)) {
            const uint64_t begin = base + uint64_t(run.begin), bytes = run.bytes * run.repeats;
            o.write ? check_write(o, now, begin, bytes) : check_read(o, now, begin, bytes);
            return;
        }
        for (uint32_t i = 0; i < run.repeats; i++) {
            const uint64_t begin = base + uint64_t(run.begin + run.stride * int64_t(i));
            o.write ? check_write(o, now, begin, run.bytes) : check_read(o, now, begin, run.bytes);
        }
    });
}

/* Elements of the result that come from elements which nothing wrote count as unwritten themselves. */
inline void spread_holes(const Operand *operands, size_t n) {
    for (size_t d = 0; d < n; d++)
        for (size_t s = 0; operands[d].write && s < n; s++) {
            const Operand &to = operands[d], &from = operands[s];
            if (from.write || from.loose || from.n_more || to.n_more || from.run.repeats > 1 || to.run.repeats > 1)
                continue;
            Memory &m = core().in(from.space), &target = core().in(to.space);
            const uint64_t x = uint64_t(from.base - m.data() + from.run.begin),
                           y = uint64_t(to.base - target.data() + to.run.begin);
            if (x == y && &m == &target) continue;
            for (uint64_t i = 0; i * from.bits < from.run.bytes * 8; i++)
                if (!m.written.at(x + i * from.bits / 8)) target.written.clear(y + i * to.bits / 8, (to.bits + 7) / 8);
        }
}

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
        if (Global *g = global_at(o.base)) g->read += o.run.bytes * o.run.repeats;
    }
}

/* Checks an instruction and returns what is finished before it. */
[[gnu::noinline]] inline Clock check(pipe_t which, const char *name, Where where, const Operand *operands, size_t n,
                                     bool lanes) {
    Core &c = core();
    if (where.line) place().where = where;
    const uint32_t pipe = index_of(which);
    if (pipe) count(operands, n);
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
    /* In place, holes stay where they are. */
    std::vector<std::pair<uint64_t, uint64_t>> kept;
    for (const bool write : {false, true})
        for (size_t i = 0; i < n; i++) {
            const Operand &o = operands[i];
            if (o.write != write) continue;
            if (write && now.holes && o.space != Space::GM && !o.n_more && o.run.repeats == 1) {
                Memory &m = c.in(o.space);
                const uint64_t begin = uint64_t(o.base - m.data() + o.run.begin);
                for (uint64_t at = begin; at < begin + o.run.bytes; at++)
                    if (!m.written.at(at)) kept.emplace_back(i, at);
            }
            o.space == Space::GM ? check_global(o, now) : check_local(o, now);
        }
    if (now.holes) {
        for (const auto &[i, at] : kept)
            for (size_t s = 0; s < n; s++)
                if (!operands[s].write && operands[s].base == operands[size_t(i)].base)
                    c.in(operands[size_t(i)].space).written.clear(at, 1);
        spread_holes(operands, n);
    }
    return now.known;
}

constexpr size_t MOST_PENDING = 4096;

template <typename F>
inline void later(pipe_t which, const Clock &needs, F &&work) {
    Core &c = core();
    const uint32_t pipe = index_of(which);
    if (pipe == 0) {
        c.done[0] = c.issued[0];
        work();
        return;
    }
    c.waiting[pipe].push_back({needs, c.issued[pipe], std::forward<F>(work)});
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

/* An instruction whose result takes every element that it reads. */
template <typename F>
inline void issue(pipe_t pipe, const char *name, Where where, std::initializer_list<Operand> operands, F &&work) {
    if (is_foreign(operands)) return;
    if constexpr (CHECKED)
        later(pipe, check(pipe, name, where, operands.begin(), operands.size(), false), std::forward<F>(work));
    else
        work();
}
/* An elementwise instruction. */
template <typename F>
inline void issue_lanes(pipe_t pipe, const char *name, Where where, std::initializer_list<Operand> operands, F &&work) {
    if (is_foreign(operands)) return;
    if constexpr (CHECKED)
        later(pipe, check(pipe, name, where, operands.begin(), operands.size(), true), std::forward<F>(work));
    else
        work();
}

/* The access of one element by the scalar unit. */
[[gnu::noinline]] inline void scalar_issue(const char *name, Where w, const Operand &o) {
    issue(PIPE_S, name, w, {o}, [] {});
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
    c.scalar_reads++;
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
    place().where = w;
    return true;
}

}  // namespace asc_cpu
