/* Global memory: the tensors of a launch, and of every four bytes of them who wrote them and when. */
#pragma once

#include <map>

#include "apart.h"
#include "memory.h"

namespace asc_cpu {

/* One instruction's writing to global memory: the core, its time (which grows with each release to other cores), and
 * its number in its pipe. */
struct Event {
    uint32_t core, time, number;
    uint8_t pipe;
    bool scalar;
    Where where = Where::nowhere();
};
/* All events of a run; 0 stands for bytes that nothing wrote. */
inline std::vector<Event> &events() {
    static std::vector<Event> the_events(1);
    return the_events;
}

/* A tensor in global memory. tracked: reading what no instruction has written is an error (outputs, workspace). */
struct Global {
    uint8_t *begin;
    uint64_t bytes;
    const char *name;
    bool writable;
    bool tracked;
    std::vector<uint32_t> stamps = {}; /* events, from the first write on */
    uint64_t read = 0;                 /* bytes that instructions have read of it */
    Where reader = Where::nowhere();   /* the last one */
    Where writer = Where::nowhere();

    /* Its bytes before the first SIMT threads that may write it. One that writes what is there can't be seen: of bytes
     * that are the same it is not known whether something wrote them. */
    std::vector<uint8_t> before = {};

    /* Of four bytes of which only some were written: which ones. */
    std::map<uint64_t, uint8_t> partly = {};

    /* The first of the four bytes around this one that nothing wrote; 4: there is none. */
    uint32_t gap(uint64_t offset) const {
        if (changed(offset)) return 4;
        if (stamps.empty() || !stamps[size_t(offset / 4)]) return 0;
        const auto found = partly.find(offset / 4);
        if (found == partly.end()) return 4;
        uint32_t i = 0;
        while (found->second >> i & 1) i++;
        return i;
    }
    bool wrote(uint64_t offset) const { return gap(offset) == 4; }
    void stamp(uint64_t offset, uint64_t n, uint32_t event);
    void stamp_part(uint64_t word, uint64_t written, uint64_t end);
    bool has_threads() const { return !before.empty(); }
    bool changed(uint64_t offset) const {
        const uint64_t at = offset / 4 * 4, n = bytes - at < 4 ? bytes - at : 4;
        return has_threads() && std::memcmp(begin + at, &before[size_t(at)], size_t(n)) != 0;
    }
    void expect_threads() {
        if (!has_threads() && tracked && writable) before.assign(begin, begin + bytes);
    }
};
/* The global tensors, which all blocks share. An access outside of them is an error, unless there are none. */
inline std::vector<Global> &globals() {
    static std::vector<Global> the_globals;
    return the_globals;
}
void add_global(void *begin, uint64_t bytes, const char *name, bool writable, bool tracked);
void remove_global(const void *begin);
#ifndef ASC_CPU_APART
ASC_RUNTIME void Global::stamp(uint64_t offset, uint64_t n, uint32_t event) {
    if (!n) return;
    const uint64_t first = offset / 4, last = (offset + n - 1) / 4;
    stamp_part(first, offset, offset + n);
    if (last > first) {
        stamp_part(last, offset, offset + n);
        if (!partly.empty()) partly.erase(partly.upper_bound(first), partly.lower_bound(last));
    }
    for (uint64_t word = first; word <= last; word++) stamps[size_t(word)] = event;
}
ASC_RUNTIME void Global::stamp_part(uint64_t word, uint64_t written, uint64_t end) {
    const auto mask = [word](uint64_t from, uint64_t to) {
        uint8_t bits = 0;
        for (uint32_t i = 0; i < 4; i++)
            if (word * 4 + i >= from && word * 4 + i < to) bits = uint8_t(bits | 1 << i);
        return bits;
    };
    const uint8_t all = mask(0, bytes), now = mask(written, end);
    const auto found = partly.find(word);
    if (found == partly.end() && stamps[size_t(word)]) return;
    const uint8_t then = uint8_t(now | (found == partly.end() ? 0 : found->second));
    if ((then & all) != all)
        partly[word] = then;
    else if (found != partly.end())
        partly.erase(found);
}
ASC_RUNTIME void add_global(void *begin, uint64_t bytes, const char *name, bool writable, bool tracked) {
    globals().push_back({static_cast<uint8_t *>(begin), bytes, name, writable, tracked, {}, 0});
}
ASC_RUNTIME void remove_global(const void *begin) {
    auto &all = globals();
    for (size_t i = all.size(); i--;)
        if (all[i].begin == begin) all.erase(all.begin() + int64_t(i));
}
#endif
/* The tensor that an address lies in or ends. */
inline Global *global_at(const void *at) {
    const uint8_t *p = static_cast<const uint8_t *>(at);
    Global *ending = nullptr;
    for (Global &g : globals()) {
        if (p >= g.begin && p < g.begin + g.bytes) return &g;
        if (p == g.begin + g.bytes) ending = &g;
    }
    return ending;
}
/* Of `bytes` from an address on, those before its tensor's end: copies of whole blocks may go beyond. */
inline uint64_t inside(const void *at, uint64_t bytes) {
    const uint8_t *p = static_cast<const uint8_t *>(at);
    const Global *g = global_at(at);
    return g && p + bytes > g->begin + g->bytes ? uint64_t(g->begin + g->bytes - p) : bytes;
}
/* The first byte that nothing wrote, or g.bytes. */
inline uint64_t first_unwritten(const Global &g) {
    for (uint64_t at = 0; at < g.bytes; at += 4)
        if (const uint32_t i = g.gap(at); i < 4) return at + i;
    return g.bytes;
}
/* Tells of it at the line that writes the tensor's others, if there is one. */
inline void report_unwritten(const Global &g, uint64_t at) {
    place() = {g.writer, -1};
    report("ErrorWrite5", "write every element, those of the last tile too", g.name, -1,
           "tensor %s%s: byte %llu was never written", g.name, g.writer.line ? ", which this line writes" : "",
           (unsigned long long)at);
    place() = {};
}

/* Of the workspace, in front of what is the operator's. */
constexpr uint32_t LIBRARY_WORKSPACE = 4096;

}  // namespace asc_cpu
