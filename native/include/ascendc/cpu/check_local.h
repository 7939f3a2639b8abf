/* The checks of an operand in a core's memories: alignment, bounds, what was written, and the order of the pipes. */
#pragma once

#include <algorithm>

#include "instruction.h"

namespace asc_cpu {

/* Memories that vector instructions don't reach: those of the cube, but for its results on older chips. */
inline bool is_of_cube(Space space) {
    return space != Space::GM && space != Space::UB && space != Space::L0C;
}

inline void use(const Operand &o, const Now &now) {
    const char *const kind = o.write ? "ErrorWrite1" : "ErrorRead1";
    if (!o.base)
        fail_with(
            kind, o.space == Space::GM ? "call SetGlobalBuffer first" : "take it from AllocTensor, DeQue or Get",
            "%s: %s", now.name,
            o.space == Space::GM ? "a GlobalTensor without SetGlobalBuffer" : "a tensor that was never allocated");
    if (now.pipe == index_of(PIPE_V) && is_of_cube(o.space))
        fail_with("ErrorBuffer2", "take it from a queue or buffer of VECIN, VECOUT or VECCALC",
                  "%s: a vector instruction on a tensor in %s", now.name, name_of(o.space));
    if (!o.buffer) return;
    if (o.buffer->stage == Stage::Free)
        fail_with(kind, "call FreeTensor after the last use", "%s: %s was freed", now.name, Name(o).text);
    if (o.buffer->stage == Stage::Queued)
        fail_with("ErrorBuffer1", "use what DeQue returns", "%s: %s is used between EnQue and DeQue", now.name,
                  Name(o).text);
    if (now.pipe == index_of(PIPE_V) && !o.write && o.buffer->stage == Stage::Allocated && o.buffer->input &&
        settings().strict)
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

/* What nothing wrote may be computed with, lane by lane, as long as nothing takes the result: the rest of a tile, of a
 * count of elements, or any rows and columns of one that is computed by repeats. What does take it is told where the
 * first instruction stands that found nothing in a repeat. */
inline void unwritten(const Operand &o, Now &now, Memory &m, uint64_t begin, uint64_t bytes) {
    Core &c = core();
    uint64_t at = begin;
    while (m.written.at(at)) at++;
    const uint32_t root = c.log[m.writer[at / BLOCK]].root, partly = c.log[m.writer[at / BLOCK]].partly;
    const bool nothing = m.written.none(begin, bytes), by_repeats = o.n_more || o.run.repeats > 1;
    if (now.lanes && !settings().strict && (!nothing || by_repeats || root)) {
        now.holes = true;
        if (root || nothing) c.log[now.id].root = root ? root : now.id;
        if (!c.log[now.id].partly) c.log[now.id].partly = partly ? partly : now.id;
        return;
    }
    const int64_t element = int64_t(at - uint64_t(o.base - m.data())) * 8 / int64_t(o.bits);
    const Issued first = c.log[root];
    const int line = place().where.line;
    if (root) place().where = first.where;
    if (root)
        report("ErrorRead2", "copy or Duplicate into it first", Name(o).text, element,
               "%s: what it reads was never written, and %s (line %d) takes the result: %s: element %lld", first.name,
               now.name, line, Name(o).text, (long long)element);
    else if (partly && c.log[partly].where.line)
        report("ErrorRead2", "copy or Duplicate into it first", Name(o).text, element,
               "%s: %s: element %lld was never written, and what %s (line %d) read neither", now.name, Name(o).text,
               (long long)element, c.log[partly].name, c.log[partly].where.line);
    else
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

ASC_RUNTIME void check_write(const Operand &o, Now &now, uint64_t begin, uint64_t bytes) {
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
    now.pipe == index_of(PIPE_MTE2) ? m.loaded.set(begin, bytes) : m.loaded.clear(begin, bytes);
}

/* A load whose bytes are those of an earlier one, of which nothing was read: that one is lost. One that lies over a
 * part of it, as where rows are copied over padding, is none. */
inline void load_over_load(const Operand &o, const Now &now, Memory &m, uint64_t base) {
    Core &c = core();
    uint64_t bytes = 0;
    bool lost = true;
    o.each_run([&](const Run &run) {
        bytes += run.bytes * run.repeats;
        for (uint32_t i = 0; lost && i < run.repeats; i++)
            lost = !run.bytes || m.loaded.all(base + uint64_t(run.begin + run.stride * int64_t(i)), run.bytes);
    });
    if (!bytes) return;
    const uint64_t begin = base + uint64_t(o.run.begin);
    const Issued &before = c.log[m.writer[begin / BLOCK]];
    if (lost && before.bytes == bytes && before.begin == begin)
        report("ErrorWrite3", "use what was loaded, or load it once", Name(o).text, -1,
               "%s: %s: what line %d loaded is overwritten before anything has read it", now.name, Name(o).text,
               before.where.line);
    c.log[now.id].begin = begin, c.log[now.id].bytes = bytes;
}

inline void check_local(const Operand &o, Now &now) {
    Memory &m = core().in(o.space);
    const uint64_t base = uint64_t(o.base - m.data());
    if (o.write && now.pipe == index_of(PIPE_MTE2)) load_over_load(o, now, m, base);
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

/* f(byte in the memory) for each element of an operand, repeat by repeat, so that elements of one lane have one number
 * in all operands of an instruction. */
template <typename F>
inline void each_element(const Operand &o, F f) {
    const uint64_t base = uint64_t(o.base - core().in(o.space).data());
    uint32_t repeats = 0;
    o.each_run([&](const Run &run) { repeats = run.repeats > repeats ? run.repeats : repeats; });
    for (uint32_t r = 0; r < repeats; r++)
        o.each_run([&](const Run &run) {
            if (r >= run.repeats) return;
            const uint64_t begin = base + uint64_t(run.begin + run.stride * int64_t(r));
            for (uint64_t i = 0; (i + 1) * o.bits <= run.bytes * 8; i++) f(begin + i * o.bits / 8);
        });
}

/* Which elements of each of an instruction's sources nothing wrote. */
using Holes = std::vector<std::vector<bool>>;
inline Holes holes_of(const Operand *operands, size_t n) {
    Holes found;
    for (size_t s = 0; s < n; s++) {
        const Operand &o = operands[s];
        if (o.write || o.loose || o.space == Space::GM) continue;
        const Memory &m = core().in(o.space);
        found.emplace_back();
        each_element(o, [&](uint64_t at) { found.back().push_back(!m.written.at(at)); });
    }
    return found;
}

/* Elements of the result that come from elements which nothing wrote count as unwritten themselves: those of the same
 * number, or of as many times more (Brcb), or fewer (the bits of a comparison). */
inline void spread_holes(const Operand *operands, size_t n, const Holes &holes) {
    for (size_t d = 0; d < n; d++) {
        const Operand &o = operands[d];
        if (!o.write || o.space == Space::GM) continue;
        Memory &m = core().in(o.space);
        uint64_t count = 0;
        each_element(o, [&](uint64_t) { count++; });
        for (const std::vector<bool> &from : holes) {
            const uint64_t sources = from.size(), more = sources && count % sources == 0 ? count / sources : 1,
                           fewer = count && sources % count == 0 ? sources / count : 1;
            uint64_t i = 0;
            each_element(o, [&](uint64_t at) {
                const auto first = from.begin() + int64_t(std::min(i / more * fewer, sources));
                const auto last = from.begin() + int64_t(std::min((i / more + 1) * fewer, sources));
                if (std::find(first, last, true) != last) m.written.clear(at, (o.bits + 7) / 8);
                i++;
            });
        }
    }
}

}  // namespace asc_cpu
