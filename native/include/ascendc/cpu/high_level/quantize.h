/* Quantisation of the library: to int8 and back. Rounds to nearest even; int8 saturates. */
#pragma once

#include "../quant_values.h"
#include "rows.h"

namespace AscendC {

/* m rows of n elements, of which calCount count. */
struct DequantParams {
    uint32_t m = 0, n = 0, calCount = 0;
};
struct AntiQuantShapeInfo {
    uint32_t offsetHeight = 0, offsetWidth = 0, scaleHeight = 0, scaleWidth = 0;
};
struct AscendQuantConfig {
    uint32_t calcCount = 0, offsetCount = 0, scaleCount = 0, workLocalSize = 0;
};

/* int8 of src * scale + offset. */
template <typename T, bool isReuseSource = false>
inline void AscendQuant(const LocalTensor<int8_t> &dst, const LocalTensor<T> &src, const float scale,
                        const float offset, const uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::unary("AscendQuant", w, dst, src, asc_cpu::Lanes::whole(int64_t(n), "AscendQuant"), {}, {},
                   [=](auto a) { return asc_cpu::saturated<int8_t>(std::nearbyint(float(a) * scale + offset)); });
}
template <typename T, bool isReuseSource = false>
inline void AscendQuant(const LocalTensor<int8_t> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &scratch,
                        const float scale, const float offset, const uint32_t n,
                        asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    AscendQuant<T, isReuseSource>(dst, src, scale, offset, n, w);
}
template <typename T, bool isReuseSource = false>
inline void AscendQuant(const LocalTensor<int8_t> &dst, const LocalTensor<T> &src, const float scale,
                        const float offset, asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendQuant<T, isReuseSource>(dst, src, scale, offset, src.GetSize(), w);
}
template <typename T, bool isReuseSource = false>
inline void AscendQuant(const LocalTensor<int8_t> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &scratch,
                        const float scale, const float offset, asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendQuant<T, isReuseSource>(dst, src, scratch, scale, offset, src.GetSize(), w);
}
/* With a scale for each of scaleCount columns, and one offset or as many. */
template <typename T, bool isReuseSource = false>
inline void AscendQuant(const LocalTensor<int8_t> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &scratch,
                        const LocalTensor<T> &scales, const asc_cpu::Same<T> offset, const uint32_t scaleCount,
                        const uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    int8_t *const y = dst.data();
    const T *const x = src.data(), *const s = scales.data();
    const float add = float(offset);
    asc_cpu::issue(PIPE_V, "AscendQuant", w, {dst.writes(n), src.reads(n), scales.reads(scaleCount)}, [=] {
        for (uint32_t i = 0; i < n; i++)
            y[i] = asc_cpu::saturated<int8_t>(std::nearbyint(float(x[i]) * float(s[i % scaleCount]) + add));
    });
}
template <typename T, bool isReuseSource = false>
inline void AscendQuant(const LocalTensor<int8_t> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &scratch,
                        const LocalTensor<T> &scales, const LocalTensor<T> &offsets, const uint32_t scaleCount,
                        const uint32_t offsetCount, const uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    int8_t *const y = dst.data();
    const T *const x = src.data(), *const s = scales.data(), *const o = offsets.data();
    asc_cpu::issue(PIPE_V, "AscendQuant", w,
                   {dst.writes(n), src.reads(n), scales.reads(scaleCount), offsets.reads(offsetCount)}, [=] {
                       for (uint32_t i = 0; i < n; i++)
                           y[i] = asc_cpu::saturated<int8_t>(
                               std::nearbyint(float(x[i]) * float(s[i % scaleCount]) + float(o[i % offsetCount])));
                   });
}

}  // namespace AscendC

namespace asc_cpu {

/* A factor of a dequantisation: a number, or 64 bits that hold a float in the lower ones. */
template <typename S>
inline float dequant_factor(const S &value) {
    if constexpr (std::is_same_v<S, uint64_t>)
        return bits_as<float>(uint32_t(value));
    else
        return float(value);
}
/* Rows of the result begin at blocks of 32 bytes. */
template <typename D>
inline uint64_t dequant_row(uint32_t n) {
    return align_up(n, lanes_of_block<D>);
}

}  // namespace asc_cpu

namespace AscendC {

enum class DeQuantMode : uint8_t { DEQUANT_WITH_SINGLE_ROW, DEQUANT_WITH_MULTI_ROW };

/* int32 times a factor for each column. */
template <typename D, typename S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_MULTI_ROW>
inline void AscendDequant(const LocalTensor<D> &dst, const LocalTensor<int32_t> &src, const LocalTensor<S> &factors,
                          const DequantParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint32_t columns = p.calCount ? p.calCount : p.n;
    const uint64_t row = asc_cpu::dequant_row<D>(p.n);
    D *const y = dst.data();
    const int32_t *const x = src.data();
    const S *const f = factors.data();
    asc_cpu::issue(PIPE_V, "AscendDequant", w,
                   {dst.writes(p.m * row), src.reads(uint64_t(p.m) * p.n), factors.reads(columns)}, [=] {
                       for (uint32_t i = 0; i < p.m; i++)
                           for (uint32_t k = 0; k < columns; k++)
                               y[i * row + k] = D(float(x[uint64_t(i) * p.n + k]) * asc_cpu::dequant_factor(f[k]));
                   });
}
template <typename D, typename S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_MULTI_ROW>
inline void AscendDequant(const LocalTensor<D> &dst, const LocalTensor<int32_t> &src, const LocalTensor<S> &factors,
                          const LocalTensor<uint8_t> &scratch, const DequantParams &p,
                          asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    AscendDequant<D, S, mode>(dst, src, factors, p, w);
}
/* All of it with the factors again and again, or with one factor. */
template <typename D, typename S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_MULTI_ROW>
inline void AscendDequant(const LocalTensor<D> &dst, const LocalTensor<int32_t> &src, const LocalTensor<S> &factors,
                          const LocalTensor<uint8_t> &scratch, asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint32_t n = factors.GetSize();
    AscendDequant<D, S, mode>(dst, src, factors, scratch, {src.GetSize() / n, n, n}, w);
}
template <typename D, typename S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_MULTI_ROW,
          typename = std::enable_if_t<std::is_arithmetic_v<S> || std::is_same_v<S, bfloat16_t>>>
inline void AscendDequant(const LocalTensor<D> &dst, const LocalTensor<int32_t> &src, const S factor,
                          const LocalTensor<uint8_t> &scratch, const DequantParams &p,
                          asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    const uint32_t columns = p.calCount ? p.calCount : p.n;
    const uint64_t row = asc_cpu::dequant_row<D>(p.n);
    D *const y = dst.data();
    const int32_t *const x = src.data();
    const float f = asc_cpu::dequant_factor(factor);
    asc_cpu::issue(PIPE_V, "AscendDequant", w, {dst.writes(p.m * row), src.reads(uint64_t(p.m) * p.n)}, [=] {
        for (uint32_t i = 0; i < p.m; i++)
            for (uint32_t k = 0; k < columns; k++) y[i * row + k] = D(float(x[uint64_t(i) * p.n + k]) * f);
    });
}

/* (src + offset) * scale with numbers. */
template <typename I, typename O, bool isTranspose>
inline void AscendAntiQuant(const LocalTensor<O> &dst, const LocalTensor<I> &src, const asc_cpu::Same<O> offset,
                            const asc_cpu::Same<O> scale, const LocalTensor<uint8_t> &scratch, const uint32_t,
                            const AntiQuantShapeInfo & = {}, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    const float add = float(offset), factor = float(scale);
    asc_cpu::unary("AscendAntiQuant", w, dst, src, asc_cpu::Lanes::whole(int64_t(src.GetSize()), "AscendAntiQuant"), {},
                   {}, [=](auto a) { return O((float(a) + add) * factor); });
}
/* With an offset and a scale for each column of [K, N], or (isTranspose) for each row of [N, K]. */
template <typename I, typename O, bool isTranspose>
inline void AscendAntiQuant(const LocalTensor<O> &dst, const LocalTensor<I> &src, const LocalTensor<O> &offset,
                            const LocalTensor<O> &scale, const LocalTensor<uint8_t> &scratch, const uint32_t K,
                            const AntiQuantShapeInfo &shape = {}, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    asc_cpu::need_parameter(w, K > 0, "AscendAntiQuant", "K is not 0");
    const uint32_t n = shape.scaleWidth && !isTranspose ? shape.scaleWidth : src.GetSize() / K, k = K;
    O *const y = dst.data();
    const I *const x = src.data();
    const O *const o = offset.data(), *const s = scale.data();
    const uint64_t size = uint64_t(n) * K;
    asc_cpu::issue(PIPE_V, "AscendAntiQuant", w, {dst.writes(size), src.reads(size), offset.reads(n), scale.reads(n)},
                   [=] {
                       for (uint64_t i = 0; i < size; i++) {
                           const uint64_t at = isTranspose ? i / k : i % n;
                           y[i] = O((float(x[i]) + float(o[at])) * float(s[at]));
                       }
                   });
}

}  // namespace AscendC
