/* Casts between element types. */
#pragma once

#include "vector_unary.h"

namespace asc_cpu {

/* The casts of the vector unit. */
template <typename U, typename T>
constexpr bool castable() {
    using std::is_same_v;
    constexpr bool to_integer = std::is_integral_v<U> || is_same_v<U, int4b_t>;
    if (is_same_v<T, float>)
        return is_same_v<U, float> || is_half_type<U> || is_same_v<U, int16_t> || is_same_v<U, int32_t> ||
               is_same_v<U, int64_t>;
    if (is_same_v<T, half>)
        return is_same_v<U, float> || is_same_v<U, half> || (to_integer && !is_same_v<U, int64_t>) ||
               is_same_v<U, bfloat16_t>;
    if (is_same_v<T, bfloat16_t>) return is_same_v<U, float> || is_same_v<U, int32_t> || is_same_v<U, half>;
    if (is_same_v<T, int8_t> || is_same_v<T, uint8_t>)
        return is_same_v<U, half> || is_same_v<U, float> || std::is_integral_v<U>;
    if (is_same_v<T, int4b_t>) return is_same_v<U, half>;
    if (is_same_v<T, int16_t> || is_same_v<T, uint16_t>)
        return is_same_v<U, float> || is_same_v<U, half> || std::is_integral_v<U>;
    if (is_same_v<T, int32_t> || is_same_v<T, uint32_t>)
        return is_same_v<U, float> || is_same_v<U, half> || std::is_integral_v<U>;
    return is_same_v<T, int64_t> && (is_same_v<U, float> || is_same_v<U, int32_t>);
}

template <typename U, typename T>
inline void cast(Where w, const LocalTensor<U> &to, const LocalTensor<T> &from, RoundMode mode, const Lanes &lanes,
                 Stride into, Stride out_of) {
    static_assert(castable<U, T>(), "the vector unit has no cast between these types");
    U *y = to.data();
    const T *x = from.data();
    const float scale = std::is_same_v<T, int32_t> && std::is_same_v<U, half> ? core().deq_scale : 1.0f;
    const auto one = [=](T value) {
        if constexpr (std::is_same_v<T, int32_t> && std::is_same_v<U, half>)
            return U(float(value) * scale);
        else
            return to_type<U, T>(value, mode);
    };
    if (lanes.simple()) {
        const int64_t n = lanes.count();
        /* In place a wider type would overwrite what is still to be read. */
        const bool down = sizeof(U) > sizeof(T) &&
                          reinterpret_cast<uint8_t *>(y) <= reinterpret_cast<const uint8_t *>(x + n) &&
                          reinterpret_cast<const uint8_t *>(x) <= reinterpret_cast<uint8_t *>(y + n);
        issue_lanes(PIPE_V, "Cast", w, {to.writes(uint64_t(n)), from.reads(uint64_t(n))}, [=] {
            if (down && reinterpret_cast<const uint8_t *>(x) == reinterpret_cast<uint8_t *>(y)) {
                for (int64_t i = n; i--;) store(y, i, one(load(x, i)));
            } else {
                for (int64_t i = 0; i < n; i++) store(y, i, one(load(x, i)));
            }
        });
        return;
    }
    const std::vector<Run> written = lanes.runs(into, bits_of<U>), read = lanes.runs(out_of, bits_of<T>);
    issue_lanes(PIPE_V, "Cast", w, {to.writes_runs(written), from.reads_runs(read)}, [=] {
        lanes.each([&](int32_t r, uint32_t k) {
            store(y, Lanes::at(r, k, into, bits_of<U>), one(load(x, Lanes::at(r, k, out_of, bits_of<T>))));
        });
    });
}

}  // namespace asc_cpu

namespace AscendC {

/* float to float rounds to whole numbers; to an integer type saturates, NaN giving 0; int32_t to half multiplies by the
 * scale of SetDeqScale. */
template <typename U, typename T>
inline void Cast(const LocalTensor<U> &dst, const LocalTensor<T> &src, const RoundMode &mode, const uint32_t count,
                 asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::cast(w, dst, src, mode, asc_cpu::Lanes(int64_t(count), "Cast"), {}, {});
}
template <typename U, typename T, bool isSetMask = true>
inline void Cast(const LocalTensor<U> &dst, const LocalTensor<T> &src, const RoundMode &mode, const uint64_t mask,
                 const uint8_t repeatTimes, const UnaryRepeatParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::at(w);
    const asc_cpu::Lanes lanes(mask, isSetMask && mask != MASK_PLACEHOLDER, repeatTimes, asc_cpu::wider_bits<U, T>,
                               "Cast");
    asc_cpu::cast(w, dst, src, mode, lanes, asc_cpu::to_of(p), asc_cpu::from_of(p));
}
template <typename U, typename T, bool isSetMask = true>
inline void Cast(const LocalTensor<U> &dst, const LocalTensor<T> &src, const RoundMode &mode, const uint64_t mask[],
                 const uint8_t repeatTimes, const UnaryRepeatParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::at(w);
    const asc_cpu::Lanes lanes(mask, isSetMask, repeatTimes, asc_cpu::wider_bits<U, T>, "Cast");
    asc_cpu::cast(w, dst, src, mode, lanes, asc_cpu::to_of(p), asc_cpu::from_of(p));
}
template <typename T>
inline void SetDeqScale(T scale) {
    asc_cpu::core().deq_scale = float(scale);
}

/* One number from one type to another. */
template <typename T, typename U, RoundMode mode = RoundMode::CAST_NONE>
inline U ScalarCast(T value) {
    return asc_cpu::to_type<U, T>(value, mode);
}
inline bfloat16_t ToBfloat16(float value) {
    return bfloat16_t(value);
}
inline float ToFloat(bfloat16_t value) {
    return float(value);
}

}  // namespace AscendC
