/* The checks of an operand in global memory: which tensor it lies in, and whose writes the core knows. */
#pragma once

#include "check_local.h"

namespace asc_cpu {

inline void check_global_read(const Operand &o, Now &now, Global &g, uint64_t offset, uint64_t bytes) {
    Core &c = core();
    if (g.stamps.empty()) {
        if (g.tracked && !g.has_threads())
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
            if (g.tracked && !g.has_threads())
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
        /* A flag that several blocks raise: whoever comes last, it has this value. */
        const bool same = o.value && std::memcmp(g.begin + offset, o.value, size_t(bytes)) == 0;
        for (uint64_t i = line / 4; scalar && i * 4 < line + 64 && i < g.stamps.size(); i++) {
            const Event &e = events()[g.stamps[size_t(i)]];
            if (same && i >= offset / 4 && i * 4 < offset + bytes) continue;
            if (g.stamps[size_t(i)] && e.core != c.number && e.scalar && e.core < c.seen.size() &&
                c.seen[e.core] <= e.time)
                report("ErrorWrite6", "let each block write whole lines of 64 bytes, or use atomic copies", g.name,
                       int64_t(offset * 8 / o.bits),
                       "%s: %s: byte %llu is in a cache line that block %u writes too (line %d)", now.name, g.name,
                       (unsigned long long)offset, e.core, e.where.line);
        }
    }
    events().push_back({c.number, c.time, c.issued[now.pipe], uint8_t(now.pipe), scalar, place().where});
    g.stamp(offset, bytes, id);
    g.writer = place().where;
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

}  // namespace asc_cpu
