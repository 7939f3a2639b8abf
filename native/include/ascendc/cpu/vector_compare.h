/* Compare and Select: masks of a bit per element, the lowest first. */
#pragma once

#include "vector_cast.h"

namespace asc_cpu {

using AscendC::CMPMODE;
using AscendC::SELMODE;

template <typename C>
inline bool compares(C a, C b, CMPMODE mode) {
    switch (mode) {
        case CMPMODE::LT: return a < b;
        case CMPMODE::GT: return a > b;
        case CMPMODE::EQ: return a == b;
        case CMPMODE::LE: return a <= b;
        case CMPMODE::GE: return a >= b;
        default: return a != b;
    }
}
inline void set_bit(uint8_t *bits, int64_t i, bool value) {
    bits[i / 8] = uint8_t((bits[i / 8] & ~(1u << i % 8)) | unsigned(value) << i % 8);
}
inline bool bit_at(const uint8_t *bits, int64_t i) {
    return bits[i / 8] >> i % 8 & 1;
}
inline void whole_repeats(uint64_t bytes) {
    if (bytes % 256 && settings().strict)
        fail("ErrorRead4", "Compare of %llu bytes, which are no whole repeats of 256", (unsigned long long)bytes);
}

/* other(i): the right operand of element i. */
template <typename U, typename T, typename F>
inline void compare(const char *name, Where w, const LocalTensor<U> &to, const LocalTensor<T> &left,
                    const Operand &right, int64_t n, CMPMODE mode, F other) {
    if constexpr (CHECKED) whole_repeats(uint64_t(n) * sizeof(T));
    uint8_t *bits = to.bytes();
    const T *a = left.data();
    const uint64_t bytes = (uint64_t(n) + 7) / 8;
    issue_lanes(PIPE_V, name, w, {to.writes((bytes + sizeof(U) - 1) / sizeof(U)), left.reads(uint64_t(n)), right}, [=] {
        for (int64_t i = 0; i < n; i++) set_bit(bits, i, compares(Compute<T>(a[i]), other(i), mode));
    });
}
/* With repeats: each writes the bits of its elements behind those of the one before; there are strides of the sources.
 */
template <typename U, typename T, typename F>
inline void compare_repeats(const char *name, Where w, const LocalTensor<U> &to, const LocalTensor<T> &left,
                            const Operand &right, const Lanes &lanes, Stride from, CMPMODE mode, F other) {
    uint8_t *bits = to.bytes();
    const T *a = left.data();
    const std::vector<Run> read = lanes.runs(from, bits_of<T>);
    const uint32_t n = lanes.per_repeat();
    const uint64_t bytes = uint64_t(lanes.repeats()) * n / 8;
    issue(PIPE_V, name, w, {to.writes(bytes / sizeof(U)), left.reads_runs(read), right}, [=] {
        lanes.each([&](int32_t r, uint32_t k) {
            set_bit(bits, int64_t(r) * n + k,
                    compares(Compute<T>(a[Lanes::at(r, k, from, bits_of<T>)]), other(r, k), mode));
        });
    });
}

/* Bit i % taken chooses for element i between two values. */
template <typename T, typename A, typename B>
inline void select(Where w, const LocalTensor<T> &to, const Operand &mask, const uint8_t *bits, int64_t taken,
                   const Operand &left, const Operand &right, int64_t n, A a, B b) {
    T *y = to.data();
    issue(PIPE_V, "Select", w, {to.writes(uint64_t(n)), mask, left, right}, [=] {
        for (int64_t i = 0; i < n; i++) y[i] = bit_at(bits, i < taken ? i : i % taken) ? a(i) : b(i);
    });
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T, typename U>
inline void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE mode,
                    uint32_t count, asc_cpu::Where w = asc_cpu::Where::here()) {
    const T *b = src1.data();
    asc_cpu::compare("Compare", w, dst, src0, src1.reads(count), int64_t(count), mode,
                     [b](int64_t i) { return asc_cpu::Compute<T>(b[i]); });
}
#define ASC_COMPARE(Mask, is_set)                                                                                   \
    template <typename T, typename U, bool isSetMask = true>                                                        \
    inline void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1,          \
                        CMPMODE mode, Mask, uint8_t repeatTimes, const BinaryRepeatParams &p,                       \
                        asc_cpu::Where w = asc_cpu::Where::here()) {                                                \
        asc_cpu::at(w);                                                                                             \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "Compare");                      \
        const asc_cpu::Stride left{p.src0BlkStride, p.src0RepStride}, right{p.src1BlkStride, p.src1RepStride};      \
        const std::vector<asc_cpu::Run> read = lanes.runs(right, asc_cpu::bits_of<T>);                              \
        const T *b = src1.data();                                                                                   \
        asc_cpu::compare_repeats(                                                                                   \
            "Compare", w, dst, src0, src1.reads_runs(read), lanes, left, mode, [=](int32_t r, uint32_t k) {         \
                return asc_cpu::Compute<T>(b[asc_cpu::Lanes::at(r, k, right, asc_cpu::bits_of<T>)]);                \
            });                                                                                                     \
    }                                                                                                               \
    template <typename T, typename U, bool isSetMask = true>                                                        \
    inline void CompareScalar(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const asc_cpu::Same<T> scalar, \
                              CMPMODE mode, Mask, uint8_t repeatTimes, const UnaryRepeatParams &p,                  \
                              asc_cpu::Where w = asc_cpu::Where::here()) {                                          \
        asc_cpu::at(w);                                                                                             \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "CompareScalar");                \
        const asc_cpu::Compute<T> b = asc_cpu::Compute<T>(scalar);                                                  \
        asc_cpu::compare_repeats("CompareScalar", w, dst, src0, src0.reads(0), lanes, asc_cpu::from_of(p), mode,    \
                                 [b](int32_t, uint32_t) { return b; });                                             \
    }
ASC_COMPARE(const uint64_t mask, isSetMask &&mask != MASK_PLACEHOLDER)
ASC_COMPARE(const uint64_t mask[], isSetMask)
#undef ASC_COMPARE

template <typename T, typename U>
inline void CompareScalar(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const asc_cpu::Same<T> scalar,
                          CMPMODE mode, uint32_t count, asc_cpu::Where w = asc_cpu::Where::here()) {
    const asc_cpu::Compute<T> b = asc_cpu::Compute<T>(scalar);
    asc_cpu::compare("CompareScalar", w, dst, src0, src0.reads(0), int64_t(count), mode, [b](int64_t) { return b; });
}
template <typename T, typename U>
inline void Compares(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const asc_cpu::Same<T> scalar, CMPMODE mode,
                     uint32_t count, asc_cpu::Where w = asc_cpu::Where::here()) {
    CompareScalar(dst, src0, scalar, mode, count, w);
}

template <typename T, typename U>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0,
                   const LocalTensor<T> &src1, SELMODE mode, uint32_t count,
                   asc_cpu::Where w = asc_cpu::Where::here()) {
    if (mode == SELMODE::VSEL_TENSOR_SCALAR_MODE)
        asc_cpu::fail("ErrorRead1", "Select of two tensors in a mode for a scalar");
    const T *a = src0.data(), *b = src1.data();
    const uint8_t *bits = selMask.bytes();
    /* VSEL_CMPMASK_SPR: every 256 bytes take the same bits, the first ones. */
    const int64_t taken =
        mode == SELMODE::VSEL_CMPMASK_SPR ? int64_t(std::min<uint64_t>(count, 256 / sizeof(T))) : int64_t(count);
    const uint64_t bytes = uint64_t(taken + 7) / 8;
    asc_cpu::select(
        w, dst, selMask.reads((bytes + sizeof(U) - 1) / sizeof(U)), bits, taken, src0.reads(count), src1.reads(count),
        int64_t(count), [a](int64_t i) { return a[i]; }, [b](int64_t i) { return b[i]; });
}
template <typename T, typename U>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0,
                   const asc_cpu::Same<T> scalar, SELMODE mode, uint32_t count,
                   asc_cpu::Where w = asc_cpu::Where::here()) {
    if (mode != SELMODE::VSEL_TENSOR_SCALAR_MODE)
        asc_cpu::fail("ErrorRead1", "Select with a scalar in a mode for two tensors");
    const T *a = src0.data();
    const T b = scalar;
    const uint8_t *bits = selMask.bytes();
    const uint64_t bytes = (count + 7) / 8;
    asc_cpu::select(
        w, dst, selMask.reads((bytes + sizeof(U) - 1) / sizeof(U)), bits, int64_t(count), src0.reads(count),
        src0.reads(0), int64_t(count), [a](int64_t i) { return a[i]; }, [b](int64_t) { return b; });
}

#define ASC_OPERATOR(sign, mode)                                                                  \
    template <typename T>                                                                         \
    inline Comparison<T> operator sign(const LocalTensor<T> &left, const LocalTensor<T> &right) { \
        return {CMPMODE::mode, left, right};                                                      \
    }
ASC_OPERATOR(<, LT)
ASC_OPERATOR(>, GT)
ASC_OPERATOR(==, EQ)
ASC_OPERATOR(<=, LE)
ASC_OPERATOR(>=, GE)
ASC_OPERATOR(!=, NE)
#undef ASC_OPERATOR

}  // namespace AscendC
