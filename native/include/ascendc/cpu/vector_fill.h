/* Instructions that fill or rearrange: Duplicate, Copy, Brcb, CreateVecIndex. */
#pragma once

#include "vector_select.h"

namespace AscendC {

template <typename T, bool isSetMask = true>
inline void Duplicate(const LocalTensor<T> &dst, const asc_cpu::Same<T> &scalar, const int32_t &count,
                      asc_cpu::Where w = asc_cpu::Where::here()) {
    static_assert(sizeof(T) <= 8, "Duplicate has types of up to eight bytes");
    T *y = dst.data();
    const T value = scalar;
    const asc_cpu::Lanes lanes(count, "Duplicate");
    asc_cpu::issue_lanes(PIPE_V, "Duplicate", w, {dst.writes(uint64_t(count))}, [=] {
        for (int32_t i = 0; i < count; i++) y[i] = value;
    });
}
#define ASC_DUPLICATE(Mask, is_set)                                                                                   \
    template <typename T, bool isSetMask = true>                                                                      \
    inline void Duplicate(const LocalTensor<T> &dst, const asc_cpu::Same<T> &scalar, Mask, const uint8_t repeatTimes, \
                          const uint16_t dstBlockStride, const uint8_t dstRepeatStride,                               \
                          asc_cpu::Where w = asc_cpu::Where::here()) {                                                \
        T *y = dst.data();                                                                                            \
        const T value = scalar;                                                                                       \
        const asc_cpu::Stride to{dstBlockStride, dstRepeatStride};                                                    \
        asc_cpu::at(w);                                                                                               \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "Duplicate");                      \
        const std::vector<asc_cpu::Run> written = lanes.runs(to, asc_cpu::bits_of<T>);                                \
        asc_cpu::issue_lanes(PIPE_V, "Duplicate", w, {dst.writes_runs(written)}, [=] {                                \
            lanes.each([&](int32_t r, uint32_t k) { y[asc_cpu::Lanes::at(r, k, to, asc_cpu::bits_of<T>)] = value; }); \
        });                                                                                                           \
    }
ASC_DUPLICATE(uint64_t mask, isSetMask &&mask != MASK_PLACEHOLDER)
ASC_DUPLICATE(const uint64_t mask[], isSetMask)
#undef ASC_DUPLICATE

#define ASC_COPY(Mask, is_set)                                                                                       \
    template <typename T, bool isSetMask = true>                                                                     \
    inline void Copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask, const uint8_t repeatTimes,          \
                     const CopyRepeatParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {                         \
        using Word = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, T>>;  \
        asc_cpu::at(w);                                                                                              \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "Copy");                          \
        asc_cpu::unary("Copy", w, dst.template ReinterpretCast<Word>(), src.template ReinterpretCast<Word>(), lanes, \
                       asc_cpu::Stride{p.dstStride, p.dstRepeatSize}, asc_cpu::Stride{p.srcStride, p.srcRepeatSize}, \
                       [](auto a) { return a; });                                                                    \
    }
ASC_COPY(const uint64_t mask, isSetMask &&mask != MASK_PLACEHOLDER)
ASC_COPY(const uint64_t mask[], isSetMask)
#undef ASC_COPY

/* Each of the eight elements of a repeat fills a block. */
template <typename T>
inline void Brcb(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint8_t repeatTimes,
                 const BrcbRepeatParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    constexpr uint32_t n = 32 / sizeof(T);
    T *y = dst.data();
    const T *x = src.data();
    std::vector<asc_cpu::Run> written;
    for (uint32_t b = 0; b < 8; b++)
        written.push_back({int64_t(b) * p.dstBlkStride * 32, 32, repeatTimes, int64_t(p.dstRepStride) * 32});
    asc_cpu::issue_lanes(PIPE_V, "Brcb", w, {dst.writes_runs(written), src.reads(uint64_t(repeatTimes) * 8)}, [=] {
        for (uint32_t r = 0; r < repeatTimes; r++)
            for (uint32_t b = 0; b < 8; b++)
                for (uint32_t k = 0; k < n; k++) y[(r * p.dstRepStride + b * p.dstBlkStride) * n + k] = x[r * 8 + b];
    });
}

/* first, first + step, first + 2 step, ... */
template <typename T>
inline void ArithProgression(const LocalTensor<T> &dst, const asc_cpu::Same<T> first, const asc_cpu::Same<T> step,
                             const int32_t count, asc_cpu::Where w = asc_cpu::Where::here()) {
    T *y = dst.data();
    const asc_cpu::Lanes lanes(count, "ArithProgression");
    asc_cpu::issue_lanes(PIPE_V, "ArithProgression", w, {dst.writes(uint64_t(count))}, [=] {
        for (int32_t i = 0; i < count; i++) {
            if constexpr (std::is_integral_v<T>)
                y[i] = asc_cpu::plus(first, asc_cpu::times(step, T(i)));
            else
                y[i] = T(float(first) + float(step) * float(i));
        }
    });
}
template <typename T>
inline void Arange(const LocalTensor<T> &dst, const asc_cpu::Same<T> first, const asc_cpu::Same<T> step,
                   const int32_t count, asc_cpu::Where w = asc_cpu::Where::here()) {
    ArithProgression(dst, first, step, count, w);
}
template <typename T>
inline void CreateVecIndex(const LocalTensor<T> &dst, const asc_cpu::Same<T> &first, uint32_t count,
                           asc_cpu::Where w = asc_cpu::Where::here()) {
    ArithProgression(dst, first, T(1), int32_t(count), w);
}
#define ASC_INDEX(Mask, is_set)                                                                                     \
    template <typename T>                                                                                           \
    inline void CreateVecIndex(const LocalTensor<T> &dst, const asc_cpu::Same<T> &first, Mask, uint8_t repeatTimes, \
                               uint16_t dstBlkStride, uint8_t dstRepStride,                                         \
                               asc_cpu::Where w = asc_cpu::Where::here()) {                                         \
        T *y = dst.data();                                                                                          \
        const T start = first;                                                                                      \
        const asc_cpu::Stride to{dstBlkStride, dstRepStride};                                                       \
        asc_cpu::at(w);                                                                                             \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "CreateVecIndex");               \
        const std::vector<asc_cpu::Run> written = lanes.runs(to, asc_cpu::bits_of<T>);                              \
        asc_cpu::issue_lanes(PIPE_V, "CreateVecIndex", w, {dst.writes_runs(written)}, [=] {                         \
            lanes.each([&](int32_t r, uint32_t k) {                                                                 \
                y[asc_cpu::Lanes::at(r, k, to, asc_cpu::bits_of<T>)] =                                              \
                    T(asc_cpu::Compute<T>(start) + asc_cpu::Compute<T>(r * int(lanes.per_repeat()) + int(k)));      \
            });                                                                                                     \
        });                                                                                                         \
    }
ASC_INDEX(uint64_t mask, mask != MASK_PLACEHOLDER)
ASC_INDEX(const uint64_t mask[], true)
#undef ASC_INDEX

}  // namespace AscendC
