/* Functions of numbers in SIMT threads. */
#pragma once

#include <cmath>

#include "call.h"

namespace AscendC::Simt {

/* Half types are computed in float. */
template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T>, T, std::conditional_t<sizeof(T) == 2, float, T>>;

#define ASC_OF_ONE(name, ...)         \
    template <typename T>             \
    inline T name(T x) {              \
        const Wide<T> a = Wide<T>(x); \
        return T(__VA_ARGS__);        \
    }
ASC_OF_ONE(Abs, a < Wide<T>(0) ? -a : a)
ASC_OF_ONE(Sqrt, std::sqrt(a))
ASC_OF_ONE(Rsqrt, Wide<T>(1) / std::sqrt(a))
ASC_OF_ONE(Exp, std::exp(a))
ASC_OF_ONE(Exp2, std::exp2(a))
ASC_OF_ONE(Log, std::log(a))
ASC_OF_ONE(Log2, std::log2(a))
ASC_OF_ONE(Log10, std::log10(a))
ASC_OF_ONE(Log1p, std::log1p(a))
ASC_OF_ONE(Sin, std::sin(a))
ASC_OF_ONE(Cos, std::cos(a))
ASC_OF_ONE(Tan, std::tan(a))
ASC_OF_ONE(Asin, std::asin(a))
ASC_OF_ONE(Acos, std::acos(a))
ASC_OF_ONE(Atan, std::atan(a))
ASC_OF_ONE(Sinh, std::sinh(a))
ASC_OF_ONE(Cosh, std::cosh(a))
ASC_OF_ONE(Tanh, std::tanh(a))
ASC_OF_ONE(Erf, std::erf(a))
ASC_OF_ONE(Floor, std::floor(a))
ASC_OF_ONE(Ceil, std::ceil(a))
ASC_OF_ONE(Round, std::round(a))
ASC_OF_ONE(Rint, std::nearbyint(a))
ASC_OF_ONE(Trunc, std::trunc(a))
#undef ASC_OF_ONE

template <typename T>
inline T Min(T a, asc_cpu::Same<T> b) {
    return b < a ? b : a;
}
template <typename T>
inline T Max(T a, asc_cpu::Same<T> b) {
    return a < b ? b : a;
}
template <typename T>
inline T Pow(T a, asc_cpu::Same<T> b) {
    return T(std::pow(Wide<T>(a), Wide<T>(b)));
}
template <typename T>
inline T Fma(T a, asc_cpu::Same<T> b, asc_cpu::Same<T> c) {
    return T(std::fma(Wide<T>(a), Wide<T>(b), Wide<T>(c)));
}
template <typename T>
inline bool IsNan(T a) {
    return a != a;
}
template <typename T>
inline bool IsInf(T a) {
    return std::isinf(Wide<T>(a));
}
template <typename T>
inline bool IsFinite(T a) {
    return std::isfinite(Wide<T>(a));
}

/* Bits that are 1; zeros in front; the place of the lowest 1, from 1 on, 0 where there is none. */
template <typename T>
inline int32_t Popc(T x) {
    return __builtin_popcountll(uint64_t(std::make_unsigned_t<T>(x)));
}
template <typename T>
inline int32_t Clz(T x) {
    return x == 0 ? int32_t(8 * sizeof(T))
                  : __builtin_clzll(uint64_t(std::make_unsigned_t<T>(x))) - int32_t(64 - 8 * sizeof(T));
}
template <typename T>
inline int32_t Ffs(T x) {
    return __builtin_ffsll(int64_t(std::make_unsigned_t<T>(x)));
}

__extension__ typedef unsigned __int128 uint128_t;

/* dividend / divisor by the two numbers that GetUintDivMagicAndShift makes of the divisor. */
template <typename T>
inline T UintDiv(T dividend, T magic, T shift) {
    using W = std::conditional_t<sizeof(T) == 8, uint128_t, uint64_t>;
    const W high = W(dividend) * magic >> 8 * sizeof(T);
    return T((high + dividend) >> shift);
}

}  // namespace AscendC::Simt

namespace AscendC {

template <typename T>
inline void GetUintDivMagicAndShift(T &magic, T &shift, T divisor, asc_cpu::Where w = asc_cpu::Where::here()) {
    using W = Simt::uint128_t;
    asc_cpu::need_parameter(w, divisor != 0, "GetUintDivMagicAndShift", "the divisor is not 0");
    T bits = 0;
    while (bits < T(8 * sizeof(T)) && (W(1) << bits) < W(divisor)) bits++;
    shift = bits;
    magic = T((W(1) << 8 * sizeof(T)) * ((W(1) << bits) - divisor) / divisor + 1);
}

}  // namespace AscendC
