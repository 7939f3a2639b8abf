/* Conversions between element types with the rounding modes of the vector unit. */
#pragma once

#include "arithmetic.h"

namespace asc_cpu {

using AscendC::RoundMode;

/* To a whole number; half to even unless the mode says otherwise. */
inline double rounded(double x, RoundMode mode) {
    switch (mode) {
        case RoundMode::CAST_FLOOR: return std::floor(x);
        case RoundMode::CAST_CEIL: return std::ceil(x);
        case RoundMode::CAST_ROUND: return std::round(x);
        case RoundMode::CAST_TRUNC:
        case RoundMode::CAST_ZERO: return std::trunc(x);
        case RoundMode::CAST_ODD: {
            const double t = std::trunc(x);
            return t == x || std::fmod(t, 2) != 0 ? t : t + (x < 0 ? -1 : 1);
        }
        default: return std::nearbyint(x);
    }
}

template <typename U>
constexpr double lowest_of = std::is_same_v<U, int4b_t> ? -8.0 : double(std::numeric_limits<U>::min());
template <typename U>
constexpr double highest_of = std::is_same_v<U, int4b_t> ? 7.0 : double(std::numeric_limits<U>::max());

/* A floating number to an integer type: saturated, NaN giving 0. */
template <typename U>
inline U to_integer(double x, RoundMode mode) {
    if (x != x) return U(0);
    x = rounded(x, mode);
    if constexpr (std::is_same_v<U, int4b_t>)
        return U(int(x < -8 ? -8 : x > 7 ? 7 : x));
    else
        return x <= lowest_of<U>    ? std::numeric_limits<U>::min()
               : x >= highest_of<U> ? std::numeric_limits<U>::max()
                                    : U(x);
}

/* A float to a narrower floating type with a mode other than to nearest. */
template <typename U>
inline U narrowed(float x, RoundMode mode) {
    const U near = U(x);
    const float back = float(near);
    if (back == x || x != x || mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT) return near;
    uint16_t bits = bits_as<uint16_t>(near);
    const bool beyond = std::fabs(back) > std::fabs(x);
    const bool away = (mode == RoundMode::CAST_FLOOR && x < 0) || (mode == RoundMode::CAST_CEIL && x > 0);
    const bool toward = mode == RoundMode::CAST_TRUNC || mode == RoundMode::CAST_ZERO ||
                        (mode == RoundMode::CAST_FLOOR && x > 0) || (mode == RoundMode::CAST_CEIL && x < 0);
    if (toward && beyond) bits--;
    if (away && !beyond) bits++;
    if (mode == RoundMode::CAST_ODD) {
        if (beyond) bits--;
        bits |= 1;
    }
    if (mode == RoundMode::CAST_ROUND) {
        /* Halfway cases go away from zero. */
        const uint16_t other = uint16_t(beyond ? bits - 1 : bits + 1);
        const float there = float(bits_as<U>(other));
        if (!beyond && std::fabs(double(there) - double(x)) == std::fabs(double(back) - double(x))) bits = other;
    }
    return bits_as<U>(bits);
}

template <typename U, typename T>
inline U to_type(T x, RoundMode mode = RoundMode::CAST_NONE) {
    constexpr bool from_floating = is_floating<T>, to_floating = is_floating<U>;
    if constexpr (std::is_same_v<U, T> && to_floating) {
        return U(rounded(double(x), mode));
    } else if constexpr (from_floating && !to_floating) {
        return to_integer<U>(double(x), mode);
    } else if constexpr (is_half_type<U> && from_floating) {
        return narrowed<U>(float(x), mode);
    } else if constexpr (to_floating) {
        if constexpr (std::is_same_v<T, int4b_t>)
            return U(float(int(x)));
        else
            return U(Compute<U>(x));
    } else if constexpr (std::is_same_v<U, int4b_t>) {
        return U(int(x) < -8 ? -8 : int(x) > 7 ? 7 : int(x));
    } else {
        return double(x) <= lowest_of<U>    ? (double(x) < lowest_of<U> ? std::numeric_limits<U>::min() : U(x))
               : double(x) >= highest_of<U> ? std::numeric_limits<U>::max()
                                            : U(x);
    }
}

/* Elements by number: int4b_t has two to a byte. */
template <typename T>
inline T load(const T *from, int64_t i) {
    if constexpr (std::is_same_v<T, int4b_t>) {
        const int8_t both = reinterpret_cast<const int8_t *>(from)[i / 2];
        return T(i % 2 ? both >> 4 : int8_t(uint8_t(both) << 4) >> 4);
    } else {
        return from[i];
    }
}
template <typename T>
inline void store(T *to, int64_t i, T value) {
    if constexpr (std::is_same_v<T, int4b_t>) {
        uint8_t &both = reinterpret_cast<uint8_t *>(to)[i / 2];
        both = uint8_t(i % 2 ? (both & 15) | (int(value) & 15) << 4 : (both & 0xF0) | (int(value) & 15));
    } else {
        to[i] = value;
    }
}

}  // namespace asc_cpu
