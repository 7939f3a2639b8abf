/* Which elements a vector instruction takes: `count` of them, one behind the other, or in each of `repeats` steps those
 * of eight blocks that a mask names, with strides between blocks and steps.
 *
 * A mask is a number n (the first n elements of a step) or two words of bits; in counter mode it is the number of
 * elements of the whole instruction. */
#pragma once

#include "params.h"
#include "pipe.h"

namespace AscendC {

/* As a mask: the one that SetVectorMask has set is taken. */
constexpr uint64_t MASK_PLACEHOLDER = 0;
constexpr uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};

}  // namespace AscendC

namespace asc_cpu {

/* Strides of one operand, in blocks. */
struct Stride {
    uint32_t block = 1, repeat = 8;
};

class Lanes {
   public:
    /* count elements */
    explicit Lanes(int64_t count, const char *name, Where w = Where::nowhere()) : count_(count), name_(name) {
        if (count >= 0) return;
        asc_cpu::at(w);
        fail("ErrorParam", "%s of %lld elements", name, (long long)count);
    }
    /* count elements of a function of the library, which reads all of its sources before it writes */
    static Lanes whole(int64_t count, const char *name, Where w = Where::nowhere()) {
        Lanes made(count, name, w);
        made.whole_ = true;
        return made;
    }
    /* `bits`: of the widest operand, which says how many elements eight blocks have. */
    Lanes(uint64_t mask, bool is_set, int32_t repeats, uint32_t bits, const char *name)
        : repeats_(repeats), bits_(bits), name_(name) {
        const VectorMask &global = core().mask;
        if (global.counter) {
            count_ = int64_t(is_set ? mask : global.bits[0]);
            counter_ = true;
        } else if (is_set) {
            const uint64_t most = per_repeat();
            if (mask == 0 || mask > most)
                fail_with("ErrorParam", "give 1 to the number of elements in 256 bytes",
                          "%s: a mask of %llu elements; a repeat has %llu", name, (unsigned long long)mask,
                          (unsigned long long)most);
            first(mask);
        } else {
            words_[0] = global.bits[0], words_[1] = global.bits[1];
        }
        limit();
    }
    Lanes(const uint64_t *mask, bool is_set, int32_t repeats, uint32_t bits, const char *name)
        : repeats_(repeats), bits_(bits), name_(name) {
        const VectorMask &global = core().mask;
        if (global.counter) {
            count_ = int64_t(is_set ? mask[0] : global.bits[0]);
            counter_ = true;
        } else {
            words_[0] = is_set ? mask[0] : global.bits[0];
            words_[1] = is_set ? mask[1] : global.bits[1];
        }
        limit();
    }

    bool simple() const { return count_ >= 0 && !counter_; }
    int64_t count() const { return count_; }
    /* Elements that are read before the first of them is written, where each has `bytes` bytes. */
    int64_t at_once(size_t bytes) const { return whole_ ? count_ : int64_t(256 / bytes); }
    uint32_t per_repeat() const { return 2048 / bits_; }
    int32_t repeats() const { return counter_ ? int32_t((count_ + per_repeat() - 1) / per_repeat()) : repeats_; }
    bool has(int32_t repeat, uint32_t lane) const {
        if (counter_) return int64_t(repeat) * per_repeat() + lane < count_;
        return words_[lane / 64 % 2] >> lane % 64 & 1;
    }
    /* Bytes of an operand whose elements have `bits` bits, from its first element. */
    std::vector<Run> runs(Stride stride, uint32_t bits) const {
        std::vector<Run> found;
        const uint32_t lanes = per_repeat();
        if (counter_) {
            const int32_t whole = int32_t(count_ / lanes);
            if (whole) steps(found, 0, whole, stride, bits, ~uint64_t(0), ~uint64_t(0));
            if (count_ % lanes) {
                Lanes rest = *this;
                rest.first(uint64_t(count_ % lanes));
                steps(found, whole, 1, stride, bits, rest.words_[0], rest.words_[1]);
            }
        } else {
            steps(found, 0, repeats_, stride, bits, words_[0], words_[1]);
        }
        return found;
    }
    /* The place of a lane in an operand whose elements have `bits` bits, in elements. */
    static int64_t at(int32_t repeat, uint32_t lane, Stride stride, uint32_t bits) {
        const uint32_t block = 256 / bits;
        return (int64_t(repeat) * stride.repeat + int64_t(lane / block) * stride.block) * block + lane % block;
    }
    /* y of each lane becomes value(repeat, lane): of a repeat all are read before one is written, where `meets`. */
    template <typename D, typename F>
    void put(D *y, Stride to, bool meets, F value) const {
        const uint32_t lanes = per_repeat();
        D made[256];
        for (int32_t r = 0; r < repeats(); r++) {
            if (!meets) {
                for (uint32_t k = 0; k < lanes; k++)
                    if (has(r, k)) y[at(r, k, to, bits_of<D>)] = value(r, k);
                continue;
            }
            for (uint32_t k = 0; k < lanes; k++)
                if (has(r, k)) made[k] = value(r, k);
            for (uint32_t k = 0; k < lanes; k++)
                if (has(r, k)) y[at(r, k, to, bits_of<D>)] = made[k];
        }
    }
    /* How many lanes of every repeat lie side by side in operands of these strides; 0: there are gaps. */
    uint32_t dense(std::initializer_list<Stride> strides) const {
        if (counter_ || bits_ < 16) return 0;
        for (const Stride &stride : strides)
            if (stride.block != 1) return 0;
        const uint64_t low = words_[0], high = words_[1];
        const bool leads = ~low ? !high && !(low & (low + 1)) : !(high & (high + 1));
        const uint32_t n = uint32_t(__builtin_popcountll(low) + __builtin_popcountll(high));
        return !leads ? 0 : n < per_repeat() ? n : per_repeat();
    }
    /* Of dense operands, the first lane of a repeat. */
    static int64_t row(int32_t repeat, Stride stride, uint32_t bits) { return at(repeat, 0, stride, bits); }
    /* f(repeat, lane) for each. */
    template <typename F>
    void each(F f) const {
        const uint32_t lanes = per_repeat();
        for (int32_t r = 0; r < repeats(); r++)
            for (uint32_t k = 0; k < lanes; k++)
                if (has(r, k)) f(r, k);
    }
    const char *name() const { return name_; }

   private:
    void first(uint64_t n) {
        words_[0] = n >= 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1;
        words_[1] = n <= 64 ? 0 : n >= 128 ? ~uint64_t(0) : (uint64_t(1) << (n - 64)) - 1;
    }
    void limit() {
        if (repeats_ < 0 || repeats_ > 255)
            fail_with("ErrorParam", "split it into several calls", "%s: %d repeats; an instruction has at most 255",
                      name_, int(repeats_));
        if (bits_ >= 32) words_[1] = 0;
        if (bits_ >= 64) words_[0] &= 0xFFFFFFFF;
    }
    void steps(std::vector<Run> &to, int32_t from, int32_t n, Stride stride, uint32_t bits, uint64_t low,
               uint64_t high) const {
        const uint32_t lanes = per_repeat(), block = 256 / bits, bytes = 32;
        const size_t start = to.size();
        const auto bit = [&](uint32_t i) { return (i / 64 % 2 ? high : low) >> i % 64 & 1; };
        for (uint32_t i = 0; i < lanes;) {
            if (!bit(i)) {
                i++;
                continue;
            }
            uint32_t end = i;
            while (end < lanes && end / block == i / block && bit(end)) end++;
            const int64_t begin = int64_t(from) * stride.repeat * bytes + int64_t(i / block) * stride.block * bytes +
                                  (i % block) * bits / 8;
            const uint64_t length = ((end - i) * bits + 7) / 8;
            if (to.size() > start && to.back().begin + int64_t(to.back().bytes) == begin)
                to.back().bytes += length;
            else
                to.push_back({begin, length, uint32_t(n), int64_t(stride.repeat) * bytes});
            i = end;
        }
    }

    int64_t count_ = -1;
    int32_t repeats_ = 1;
    uint32_t bits_ = 8;
    uint64_t words_[2] = {~uint64_t(0), ~uint64_t(0)};
    bool counter_ = false, whole_ = false;
    const char *name_;
};

}  // namespace asc_cpu
