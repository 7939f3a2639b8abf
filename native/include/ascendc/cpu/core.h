/* One AI core on a CPU: its unified buffer, what is known of each byte of it, and the global tensors. */
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#define __global__
#define __aicore__
#define __gm__
#define __ubuf__
#define GM_ADDR uint8_t *

using half = _Float16;

struct bfloat16_t {
    uint16_t bits = 0;
    bfloat16_t() = default;
    explicit bfloat16_t(float value) {
        uint32_t word;
        std::memcpy(&word, &value, 4);
        bits = value != value ? uint16_t(word >> 16 | 0x40) : uint16_t((word + 0x7FFF + (word >> 16 & 1)) >> 16);
    }
    explicit bfloat16_t(int value) : bfloat16_t(float(value)) {}
    operator float() const {
        uint32_t word = uint32_t(bits) << 16;
        float value;
        std::memcpy(&value, &word, 4);
        return value;
    }
};

namespace asc_cpu {

/* A broken rule. `kind` is npuchk's name of it. */
struct Fault {
    char text[512];
};

[[noreturn]] inline void fail(const char *kind, const char *format, ...) {
    Fault fault;
    int n = std::snprintf(fault.text, sizeof fault.text, "[%s] ", kind);
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(fault.text + n, sizeof fault.text - size_t(n), format, arguments);
    va_end(arguments);
    throw fault;
}

constexpr uint32_t BLOCK = 32;

/* A region of the unified buffer made by InitBuffer; `owner` is the queue or buffer, numbered from 0. */
struct Region {
    uint32_t begin, bytes, owner, part;
};

/* When four bytes of global memory were written: by which block, after how many SyncAll and PipeBarrier<PIPE_ALL>. */
struct Stamp {
    uint32_t block = ~0u, syncs = 0, drains = 0;
};

struct Global {
    uint8_t *begin;
    uint64_t bytes;
    const char *name;
    bool writable;
    std::vector<Stamp> *stamps = nullptr; /* empty for inputs */
};
/* The global tensors, which all blocks share. */
inline std::vector<Global> &globals() {
    static std::vector<Global> the_globals;
    return the_globals;
}

/* Of the workspace, in front of what is the operator's. */
constexpr uint32_t LIBRARY_WORKSPACE = 4096;

struct Core {
    int64_t block_idx = 0, block_num = 1;
    uint32_t ub_total = 0, ub_used = 0;
    uint32_t owners = 0;
    uint32_t epoch = 1;             /* advanced by barriers of the vector pipe */
    bool strict = true;             /* whether vector instructions need barriers between them */
    int64_t flags = 0;              /* set and not yet waited for */
    uint32_t syncs = 0, drains = 0; /* SyncAll and PipeBarrier<PIPE_ALL> so far */
    bool storing = false;           /* whether a copy to global memory may be under way */
    void *pipe = nullptr;
    std::vector<uint8_t> ub, written;
    std::vector<uint32_t> writer; /* per block: the epoch of the last vector instruction that wrote it */
    std::vector<Region> regions;

    void start(uint32_t ub_bytes) {
        ub_total = ub_bytes;
        ub.assign(ub_bytes, 0);
        written.assign(ub_bytes, 0);
        writer.assign(ub_bytes / BLOCK, 0);
    }
    /* An empty unified buffer, for a new TPipe. */
    void empty() {
        ub_used = owners = 0;
        std::memset(written.data(), 0, written.size());
        regions.clear();
    }
};

/* The core whose turn it is. */
inline Core *&current() {
    static Core *the_core = nullptr;
    return the_core;
}
inline Core &core() {
    return *current();
}

/* Takes `bytes` of the unified buffer, rounded up to blocks. */
inline uint32_t reserve(uint64_t bytes, uint32_t owner, uint32_t part) {
    Core &c = core();
    uint64_t rounded = (bytes + BLOCK - 1) / BLOCK * BLOCK;
    if (rounded > c.ub_total - c.ub_used)
        fail("ErrorBuffer0", "buffer %u (part %u) of %llu bytes: the unified buffer holds %u bytes, %u are taken",
             owner, part, (unsigned long long)rounded, c.ub_total, c.ub_used);
    uint32_t begin = c.ub_used;
    c.ub_used += uint32_t(rounded);
    c.regions.push_back({begin, uint32_t(rounded), owner, part});
    return begin;
}

/* Whether what this block reads of the workspace was written, and is there. */
inline void check_stamps(const Global &g, uint64_t offset, uint64_t bytes) {
    const Core &c = core();
    for (uint64_t i = offset / 4; i * 4 < offset + bytes; i++) {
        const Stamp &s = (*g.stamps)[i];
        if (s.block == ~0u) fail("ErrorRead2", "%s: byte %llu was never written", g.name, (unsigned long long)i * 4);
        if (s.block == uint32_t(c.block_idx) ? s.drains == c.drains : s.syncs == c.syncs)
            fail("ErrorSync4", "%s: byte %llu is read with no %s since block %u wrote it", g.name,
                 (unsigned long long)i * 4, s.block == uint32_t(c.block_idx) ? "PipeBarrier<PIPE_ALL>" : "SyncAll",
                 s.block);
    }
}

/* Checks an access of global memory and names the tensor. */
inline void check_global(const void *at, uint64_t bytes, bool write) {
    const uint8_t *p = static_cast<const uint8_t *>(at);
    for (const Global &g : globals())
        if (p >= g.begin && p <= g.begin + g.bytes) {
            uint64_t offset = uint64_t(p - g.begin);
            if (bytes > g.bytes - offset)
                fail(write ? "ErrorWrite2" : "ErrorRead3", "tensor %s: %llu bytes at offset %llu, it has %llu", g.name,
                     (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)g.bytes);
            if (write && !g.writable) fail("ErrorWrite1", "tensor %s is an input", g.name);
            if (write) core().storing = true;
            if (!g.stamps || g.stamps->empty() || !bytes) return;
            if (!write) return check_stamps(g, offset, bytes);
            const Core &c = core();
            for (uint64_t i = offset / 4; i * 4 < offset + bytes; i++)
                (*g.stamps)[i] = {uint32_t(c.block_idx), c.syncs, c.drains};
            return;
        }
    fail(write ? "ErrorWrite1" : "ErrorRead1", "an address outside of every global tensor");
}

}  // namespace asc_cpu
