/* Random parameters of instructions, which lanes they name, and the memory that an instruction and its plain loop are
 * compared in. */
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernel_operator.h"

constexpr uint64_t BYTES = 4096; /* of each operand */
enum Form { COUNT, NUMBER, BITS, COUNTER };

struct Case;

/* A lane of a repeat, and which element of an operand of `bytes` bytes to an element it is. */
struct Place {
    int64_t repeat, lane;
    const Case *of;
    size_t d(size_t bytes) const;
    size_t a(size_t bytes) const;
    size_t b(size_t bytes) const;
};

/* Strides in blocks of 32 bytes. */
struct Case {
    int form = COUNT;
    uint64_t low = 1, high = 0;
    int64_t repeats = 1, d_block = 1, a_block = 1, b_block = 1, d_repeat = 8, a_repeat = 8, b_repeat = 8;

    AscendC::BinaryRepeatParams binary() const {
        return {uint8_t(d_block),  uint8_t(a_block),  uint8_t(b_block),
                uint8_t(d_repeat), uint8_t(a_repeat), uint8_t(b_repeat)};
    }
    AscendC::UnaryRepeatParams unary() const {
        return {uint16_t(d_block), uint16_t(a_block), uint8_t(d_repeat), uint8_t(a_repeat)};
    }
    bool has(int64_t, int64_t lane, int64_t) const {
        return form == BITS ? (lane < 64 ? low : high) >> lane % 64 & 1 : uint64_t(lane) < low;
    }
    /* f of every lane that takes part; `bytes` of the widest element. */
    template <typename F>
    void walk(size_t bytes, F f) const {
        const int64_t lanes = int64_t(256 / bytes);
        if (form == COUNT || form == COUNTER) {
            for (int64_t i = 0; i < int64_t(low); i++)
                f(Place{form == COUNT ? -1 : i / lanes, form == COUNT ? i : i % lanes, this});
            return;
        }
        for (int64_t r = 0; r < repeats; r++)
            for (int64_t k = 0; k < lanes; k++)
                if (has(r, k, lanes)) f(Place{r, k, this});
    }
    /* How many bytes of an operand are in use. */
    int64_t extent(int64_t block, int64_t repeat, size_t bytes, size_t widest) const {
        if (form == COUNT) return int64_t(low * bytes);
        const int64_t lanes = int64_t(256 / widest), blocks = (lanes * int64_t(bytes) + 31) / 32;
        const int64_t used = form == COUNTER ? (int64_t(low) + lanes - 1) / lanes : repeats;
        return ((used - 1) * repeat + (blocks - 1) * block + 1) * 32;
    }
    bool fits(int64_t block, int64_t repeat, size_t bytes, size_t widest) const {
        return extent(block, repeat, bytes, widest) <= int64_t(BYTES);
    }
};

inline size_t place(int64_t repeat, int64_t lane, int64_t block, int64_t step, size_t bytes) {
    if (repeat < 0) return size_t(lane);
    const int64_t each = int64_t(32 / bytes);
    return size_t((repeat * step + lane / each * block) * each + lane % each);
}
inline size_t Place::d(size_t bytes) const {
    return place(repeat, lane, of->d_block, of->d_repeat, bytes);
}
inline size_t Place::a(size_t bytes) const {
    return place(repeat, lane, of->a_block, of->a_repeat, bytes);
}
inline size_t Place::b(size_t bytes) const {
    return place(repeat, lane, of->b_block, of->b_repeat, bytes);
}

class Draw {
   public:
    explicit Draw(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
    uint64_t word() {
        uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ z >> 27) * 0x94D049BB133111EBull;
        return z ^ z >> 31;
    }
    uint64_t below(uint64_t n) { return word() % n; }
    int64_t between(int64_t low, int64_t high) { return low + int64_t(below(uint64_t(high - low + 1))); }
    /* Parameters whose operands fit; d, a, b: bytes of their elements. any_form: a count and counter mode too. */
    Case fitting(size_t d, size_t a, size_t b, bool any_form) {
        const size_t widest = d > a ? (d > b ? d : b) : a > b ? a : b;
        const int64_t lanes = int64_t(256 / widest);
        static const int64_t blocks[] = {1, 1, 1, 2, 3, 0}, steps[] = {8, 8, 8, 4, 0, 1, 9, 16, 24};
        for (;;) {
            Case c;
            c.form = any_form ? int(below(4)) : int(1 + below(2));
            c.repeats = between(1, 9);
            c.low = c.form == BITS ? word() | 1 : uint64_t(between(1, c.form == NUMBER ? lanes : 1000));
            c.high = c.form == BITS && lanes > 64 ? word() : 0;
            if (c.form == BITS && lanes < 64) c.low = (c.low & ((uint64_t(1) << lanes) - 1)) | 1;
            for (int64_t *s : {&c.d_block, &c.a_block, &c.b_block}) *s = blocks[below(6)];
            for (int64_t *s : {&c.d_repeat, &c.a_repeat, &c.b_repeat}) *s = steps[below(9)];
            if (c.d_block == 0) c.d_block = 1;
            if (c.fits(c.d_block, c.d_repeat, d, widest) && c.fits(c.a_block, c.a_repeat, a, widest) &&
                c.fits(c.b_block, c.b_repeat, b, widest))
                return c;
        }
    }

   private:
    uint64_t state_;
};

/* Calls f(count) or f(mask, repeats, params) as the case says. */
template <typename Params, typename F>
void in_its_form(const Case &c, const Params &params, F f) {
    const uint64_t bits[2] = {c.low, c.high};
    if (c.form == COUNTER) AscendC::SetMaskCount();
    if (c.form == COUNT)
        f(int32_t(c.low));
    else if (c.form == BITS)
        f(bits, uint8_t(c.repeats), params);
    else
        f(c.low, uint8_t(c.repeats), params);
    if (c.form == COUNTER) AscendC::SetMaskNorm();
}

inline std::vector<uint8_t> &global_bytes() {
    static std::vector<uint8_t> bytes(3 * BYTES);
    return bytes;
}

/* Three operands d, a, b in global memory and in the unified buffer, as one element type. */
template <typename T>
class Memory {
   public:
    Memory() : pipe_(std::make_unique<AscendC::TPipe>()) {
        for (auto &buffer : buffers_) pipe_->InitBuffer(buffer, uint32_t(BYTES));
        for (size_t i = 0; i < 3; i++) tensors_[i] = buffers_[i].template Get<T>();
    }
    template <typename U>
    explicit Memory(const Memory<U> &other) {
        for (size_t i = 0; i < 3; i++) tensors_[i] = other.tensor(i).template ReinterpretCast<T>();
    }
    const AscendC::LocalTensor<T> &tensor(size_t i) const { return tensors_[i]; }
    AscendC::GlobalTensor<T> global(size_t i) const {
        AscendC::GlobalTensor<T> made;
        made.SetGlobalBuffer(reinterpret_cast<T *>(global_bytes().data() + i * BYTES), BYTES / sizeof(T));
        return made;
    }
    /* Element i of d may have any value. */
    void free_to_be(size_t i) { free_.push_back(i); }

    /* Whether an instruction and a loop over arrays make the same of one start. */
    template <typename Instruction, typename Loop>
    bool equal(Instruction instruction, Loop loop) {
        std::vector<T> arrays[3];
        for (size_t i = 0; i < 3; i++) {
            arrays[i].resize(BYTES / sizeof(T));
            for (T &x : arrays[i]) x = T(float(int64_t(next() % 17) - 8));
            std::memcpy(global_bytes().data() + i * BYTES, arrays[i].data(), BYTES);
            AscendC::DataCopy(tensors_[i], global(i), uint32_t(BYTES / sizeof(T)));
        }
        AscendC::PipeBarrier<PIPE_ALL>();
        for (auto &t : tensors_) (void)t.GetValue(0); /* loading over what nobody read is a fault */
        instruction(tensors_[0], tensors_[1], tensors_[2]);
        AscendC::PipeBarrier<PIPE_ALL>();
        asc_cpu::core().drain();
        for (auto &t : tensors_) (void)t.GetValue(0); /* loading over what nobody read is a fault */
        free_.clear();
        loop(arrays[0], arrays[1], arrays[2]);
        T *made = tensors_[0].data();
        for (size_t i : free_) made[i] = arrays[0][i];
        return same(made, arrays[0].data());
    }

   private:
    /* Bit by bit, but that one NaN is as good as another. */
    static bool same(const T *made, const T *wanted) {
        if (std::memcmp(made, wanted, BYTES) == 0) return true;
        for (size_t i = 0; i < BYTES / sizeof(T); i++)
            if (std::memcmp(made + i, wanted + i, sizeof(T)) && !(made[i] != made[i] && wanted[i] != wanted[i]))
                return false;
        return true;
    }
    uint64_t next() { return state_ = state_ * 6364136223846793005ull + 1442695040888963407ull, state_ >> 33; }

    std::unique_ptr<AscendC::TPipe> pipe_;
    AscendC::TBuf<> buffers_[3];
    AscendC::LocalTensor<T> tensors_[3];
    std::vector<size_t> free_;
    static inline uint64_t state_ = 7;
};

/* Runs a body on one vector core; ends the program where a check objects. */
template <typename F>
void on_a_core(F body) {
    try {
        asc_cpu::globals().clear();
        asc_cpu::add_global(global_bytes().data(), global_bytes().size(), "memory", true, false);
        asc_cpu::Blocks blocks;
        blocks.run(1, asc_cpu::Chip(), asc_cpu::Kernel(0), 1, body);
    } catch (const asc_cpu::Fault &fault) {
        std::printf("%s (line %d)\n", fault.text, fault.where.line);
        std::exit(1);
    }
}
