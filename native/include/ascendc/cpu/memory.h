/* The memories of one core, and what is known of each: which bytes were written, by which instruction, and who read
 * them last. */
#pragma once

#include <memory>
#include <string_view>

#include "fault.h"
#include "types.h"

namespace asc_cpu {

/* GM is global memory; BT the bias table, FB the buffer of Fixpipe's parameters. */
enum class Space : uint8_t { GM, UB, L1, L0A, L0B, L0C, BT, FB };
constexpr uint32_t SPACES = 8;
constexpr uint32_t BLOCK = 32;

inline const char *name_of(Space space) {
    static const char *const names[SPACES] = {"global memory", "unified buffer", "L1", "L0A", "L0B", "L0C",
                                              "bias table",    "fixpipe buffer"};
    return names[size_t(space)];
}

/* Bytes of the memories of a chip's core. */
struct Chip {
    uint32_t ub = 196608, l1 = 524288, l0a = 65536, l0b = 65536, l0c = 131072, bt = 1024, fb = 7168;
    uint32_t of(Space space) const {
        const uint32_t sizes[SPACES] = {0, ub, l1, l0a, l0b, l0c, bt, fb};
        return sizes[size_t(space)];
    }
};
/* The chip of a --soc_version, by its family, as ascend_ep/cann/soc.py has it (a test compares them); an unknown name
 * is one of Ascend910B. */
constexpr Chip chip_of(std::string_view soc) {
    const auto begins = [soc](std::string_view with) { return soc.substr(0, with.size()) == with; };
    if (begins("Ascend310P") || begins("Ascend710")) return {262144, 1 << 20, 65536, 65536, 262144, 1024, 7168};
    if (begins("Ascend310B")) return {253952, 1 << 20, 65536, 65536, 131072, 1024, 7168};
    if (begins("Ascend310")) return {253952, 1 << 20, 65536, 65536, 262144, 1024, 7168};
    if (begins("Ascend910_95") || begins("Ascend950")) return {253952, 524288, 65536, 65536, 262144, 4096, 7168};
    if (begins("Ascend910A") || begins("Ascend910Pro") || begins("Ascend910Pre") || soc == "Ascend910B" ||
        soc == "Ascend910")
        return {262144, 1 << 20, 65536, 65536, 262144, 1024, 7168};
    return {};
}

/* What a build file says that a program runs for. */
#ifndef ASC_CHIP_OF_PROGRAM
#define ASC_CHIP_OF_PROGRAM "Ascend910B1"
#endif
/* The chip that a source is compiled for: its sizes are constants of the language. */
constexpr Chip COMPILED_FOR = chip_of(ASC_CHIP_OF_PROGRAM);

/* A bit per byte, changed and asked about in whole words. */
class Bits {
   public:
    void resize(uint64_t n) { words_.assign(size_t(n / 64 + 1), 0); }
    void set(uint64_t begin, uint64_t n) {
        each(begin, n, [](uint64_t &word, uint64_t mask) { return word |= mask, true; });
    }
    void clear(uint64_t begin, uint64_t n) {
        each(begin, n, [](uint64_t &word, uint64_t mask) { return word &= ~mask, true; });
    }
    bool all(uint64_t begin, uint64_t n) {
        return each(begin, n, [](uint64_t &word, uint64_t mask) { return (word & mask) == mask; });
    }
    bool none(uint64_t begin, uint64_t n) {
        return each(begin, n, [](uint64_t &word, uint64_t mask) { return (word & mask) == 0; });
    }
    /* n bytes within one word, as an element has them */
    bool element(uint64_t begin, uint64_t n) const {
        const uint64_t mask = ((n == 64 ? 0 : uint64_t(1) << n) - 1) << begin % 64;
        return (words_[size_t(begin / 64)] & mask) == mask;
    }
    bool at(uint64_t i) const { return words_[size_t(i / 64)] >> i % 64 & 1; }

   private:
    template <typename F>
    bool each(uint64_t begin, uint64_t n, F f) {
        for (uint64_t at = begin, end = begin + n; at < end;) {
            const uint64_t low = at % 64, count = end - at < 64 - low ? end - at : 64 - low;
            const uint64_t mask = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << low;
            if (!f(words_[size_t(at / 64)], mask)) return false;
            at += count;
        }
        return true;
    }
    std::vector<uint64_t> words_;
};

constexpr uint32_t PIPES = 7; /* S, V, M, MTE1, MTE2, MTE3, FIX */

/* One memory of a core. For every 32 bytes: the number of the instruction that wrote them last, and per pipe that of
 * its last one that read them. */
class Memory {
   public:
    void start(Space space, uint32_t bytes) {
        space_ = space, size_ = bytes, data_ = nullptr;
        room_.reset();
    }
    Space space() const { return space_; }
    uint32_t size() const { return size_; }
    /* Bytes are there from the first use on. The address is aligned to 512 bytes. */
    uint8_t *data() {
        if (!room_) begin();
        return data_;
    }
    /* The bytes, where something has used them. */
    uint8_t *begun() const { return data_; }
    bool holds(const void *at) const {
        const uint8_t *p = static_cast<const uint8_t *>(at);
        return room_ && p >= data_ && p < data_ + size_;
    }
    /* Nothing is written any more, for a new TPipe. */
    void forget() {
        if (room_ && CHECKED) {
            written.resize(size_);
            loaded.resize(size_);
        }
        used = 0;
    }

    /* Bytes that are unwritten again. */
    void clear(uint64_t begin, uint64_t n) {
        if (!room_) return;
        written.clear(begin, n);
        loaded.clear(begin, n);
    }

    Bits written;
    Bits loaded; /* from global memory, and not read since */
    std::vector<uint32_t> writer;
    std::vector<uint32_t> reader[PIPES];
    uint32_t used = 0; /* by InitBuffer */

   private:
    void begin() {
        room_.reset(new uint8_t[size_t(size_) + 1024]());
        data_ = room_.get() + (512 - reinterpret_cast<uintptr_t>(room_.get()) % 512);
        if (!CHECKED) return;
        written.resize(size_);
        loaded.resize(size_);
        writer.assign(size_ / BLOCK + 1, 0);
        for (auto &last : reader) last.assign(size_ / BLOCK + 1, 0);
    }
    Space space_ = Space::UB;
    uint32_t size_ = 0;
    std::unique_ptr<uint8_t[]> room_;
    uint8_t *data_ = nullptr;
};

}  // namespace asc_cpu
