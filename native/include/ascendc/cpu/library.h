/* High-level functions that take a scratch buffer, which they overwrite. Computed in float64 and rounded once. */
#pragma once

#include "vector_reduce.h"

namespace asc_cpu {

inline double digamma(double x) {
    double sum = 0;
    if (x <= 0) {
        if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
        constexpr double pi = 3.14159265358979323846;
        return digamma(1 - x) - pi / std::tan(pi * x);
    }
    for (; x < 10; x++) sum -= 1 / x;
    const double y = 1 / (x * x);
    return sum + std::log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y / 240)));
}

}  // namespace asc_cpu

namespace AscendC {

inline void use_scratch(const LocalTensor<uint8_t> &scratch, uint64_t bytes, asc_cpu::Where w) {
    if (!asc_cpu::CHECKED || !scratch.there()) return;
    asc_cpu::issue(PIPE_V, "scratch", w, {scratch.writes(bytes < scratch.GetSize() ? bytes : scratch.GetSize())},
                   [] {});
}

/* The (count) form again with no parameter behind, for pointers to functions. */
#define ASC_LIBRARY1(name, value)                                                                                   \
    template <typename T, bool isReuseSource = false>                                                               \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<uint8_t> &scratch,         \
                     const uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {                                 \
        use_scratch(scratch, n * sizeof(T), w);                                                                     \
        asc_cpu::unary(#name, w, d, x, asc_cpu::Lanes::whole(int64_t(n), #name, w), {}, {},                         \
                       [](auto a) { return value; });                                                               \
    }                                                                                                               \
    template <typename T, bool isReuseSource = false>                                                               \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<uint8_t> &scratch,         \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                   \
        name(d, x, scratch, x.GetSize(), w);                                                                        \
    }                                                                                                               \
    template <typename T, bool isReuseSource = false>                                                               \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const uint32_t n,                            \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                   \
        asc_cpu::unary(#name, w, d, x, asc_cpu::Lanes::whole(int64_t(n), #name, w), {}, {},                         \
                       [](auto a) { return value; });                                                               \
    }                                                                                                               \
    template <typename T, bool isReuseSource = false>                                                               \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, asc_cpu::Where w = asc_cpu::Where::here()) { \
        name(d, x, x.GetSize(), w);                                                                                 \
    }                                                                                                               \
    template <typename T, bool isReuseSource = false, typename U = T>                                               \
    inline void name(const LocalTensor<T> &d, const LocalTensor<U> &x, const uint32_t n) {                          \
        name<T, isReuseSource>(d, x, n, asc_cpu::Where::nowhere());                                                 \
    }
ASC_LIBRARY1(Sin, std::sin(double(a)))
ASC_LIBRARY1(Cos, std::cos(double(a)))
ASC_LIBRARY1(Tan, std::tan(double(a)))
ASC_LIBRARY1(Asin, std::asin(double(a)))
ASC_LIBRARY1(Acos, std::acos(double(a)))
ASC_LIBRARY1(Atan, std::atan(double(a)))
ASC_LIBRARY1(Sinh, std::sinh(double(a)))
ASC_LIBRARY1(Cosh, std::cosh(double(a)))
ASC_LIBRARY1(Tanh, std::tanh(double(a)))
ASC_LIBRARY1(Asinh, std::asinh(double(a)))
ASC_LIBRARY1(Acosh, std::acosh(double(a)))
ASC_LIBRARY1(Atanh, std::atanh(double(a)))
ASC_LIBRARY1(Erf, std::erf(double(a)))
ASC_LIBRARY1(Erfc, std::erfc(double(a)))
ASC_LIBRARY1(Log, std::log(double(a)))
ASC_LIBRARY1(Log2, std::log2(double(a)))
ASC_LIBRARY1(Log10, std::log10(double(a)))
ASC_LIBRARY1(Lgamma, std::lgamma(double(a)))
ASC_LIBRARY1(Digamma, asc_cpu::digamma(double(a)))
ASC_LIBRARY1(Ceil, std::ceil(a))
ASC_LIBRARY1(Floor, std::floor(a))
ASC_LIBRARY1(Round, std::nearbyint(a))
ASC_LIBRARY1(Trunc, std::trunc(a))
ASC_LIBRARY1(Frac, a - std::trunc(a))
ASC_LIBRARY1(Sign, decltype(a)(a > 0 ? 1 : a < 0 ? -1 : a))
ASC_LIBRARY1(Sigmoid, 1.0 / (1.0 + std::exp(-double(a))))
#undef ASC_LIBRARY1

#define ASC_LIBRARY2(name, value)                                                                                 \
    template <typename T, bool isReuseSource = false>                                                             \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y,                   \
                     const LocalTensor<uint8_t> &scratch, const uint32_t n,                                       \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                 \
        use_scratch(scratch, n * sizeof(T), w);                                                                   \
        name(d, x, y, n, w);                                                                                      \
    }                                                                                                             \
    template <typename T, bool isReuseSource = false>                                                             \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y, const uint32_t n, \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                 \
        asc_cpu::binary(#name, w, d, x, y, asc_cpu::Lanes::whole(int64_t(n), #name, w), {},                       \
                        [](auto a, auto b) { return value; });                                                    \
    }
ASC_LIBRARY2(Power, std::pow(double(a), double(b)))
ASC_LIBRARY2(Fmod, std::fmod(a, b))
#undef ASC_LIBRARY2

}  // namespace AscendC
