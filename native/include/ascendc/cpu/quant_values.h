/* Conversions on the way out of L0C: what Fixpipe's quantisation modes make of a sum. */
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

/* Public names of the conversions; F32 is a float sum, S32 an int32 one, B8 int8 or uint8, V a factor per column. */
enum QuantMode_t : uint8_t {
    NoQuant = 0,
    F322F16,
    F322BF16,
    DEQF16,
    VDEQF16,
    QF322B8_PRE,
    VQF322B8_PRE,
    REQ8,
    VREQ8,
    QF322F16_PRE,
    VQF322F16_PRE,
    QF322BF16_PRE,
    VQF322BF16_PRE,
    QF322F32_PRE,
    VQF322F32_PRE,
    QS322BF16_PRE,
    VQS322BF16_PRE,
};

namespace asc_cpu {

inline bool quant_by_column(QuantMode_t mode) {
    return mode == VDEQF16 || mode == VQF322B8_PRE || mode == VREQ8 || mode == VQF322F16_PRE ||
           mode == VQF322BF16_PRE || mode == VQF322F32_PRE || mode == VQS322BF16_PRE;
}
inline bool quant_scales(QuantMode_t mode) {
    return mode != NoQuant && mode != F322F16 && mode != F322BF16;
}
template <typename T>
constexpr bool quant_to_b8 = std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>;

/* A factor as the unit holds it: bits 13 to 31 a float of 10 bits of fraction, bits 37 to 45 a signed offset. */
struct QuantFactor {
    float scale = 1;
    int32_t offset = 0;
    explicit QuantFactor(uint64_t word) {
        const uint32_t bits = uint32_t(word) & 0xFFFFE000u;
        std::memcpy(&scale, &bits, sizeof scale);
        offset = int32_t(word >> 37 & 0x1FF);
        if (offset & 0x100) offset -= 0x200;
    }
    QuantFactor() = default;
};

template <typename T>
inline T saturated(float value) {
    if (value != value) return T(0);
    const float low = float(std::numeric_limits<T>::min()), high = float(std::numeric_limits<T>::max());
    return value <= low ? std::numeric_limits<T>::min() : value >= high ? std::numeric_limits<T>::max() : T(value);
}

/* A sum as T: scaled, then relu, then rounded to nearest even; integers saturate. */
template <typename T, typename Sum>
inline T quantised(Sum sum, QuantMode_t mode, const QuantFactor &factor, bool relu) {
    if constexpr (std::is_same_v<T, Sum>) {
        if (!quant_scales(mode)) return relu && sum < Sum(0) ? Sum(0) : sum;
    }
    float value = quant_scales(mode) ? float(sum) * factor.scale : float(sum);
    if (relu && value < 0) value = 0;
    if constexpr (std::is_integral_v<T>) {
        return saturated<T>(std::nearbyint(value) + float(factor.offset));
    } else {
        return T(value);
    }
}

}  // namespace asc_cpu
