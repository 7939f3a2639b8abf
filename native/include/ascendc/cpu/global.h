/* Global memory: the tensors of a launch, and of every four bytes of them who wrote them and when. */
#pragma once

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

    bool wrote(uint64_t offset) const {
        return (!stamps.empty() && stamps[size_t(offset / 4)] != 0) || changed(offset);
    }
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
inline void add_global(void *begin, uint64_t bytes, const char *name, bool writable, bool tracked) {
    globals().push_back({static_cast<uint8_t *>(begin), bytes, name, writable, tracked, {}, 0});
}
inline void remove_global(const void *begin) {
    auto &all = globals();
    for (size_t i = all.size(); i--;)
        if (all[i].begin == begin) all.erase(all.begin() + int64_t(i));
}
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
        if (!g.wrote(at)) return at;
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
