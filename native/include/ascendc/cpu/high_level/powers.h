/* Powers, bounds, and other functions of tensors and numbers. Floats are computed in float64 and rounded once. */
#pragma once

#include "forms.h"

namespace AscendC {

ASC_FORMS2(Hypot, std::hypot(double(a), double(b)))

/* Of integers, bit by bit. */
ASC_FORMS2(Xor, a ^ b)

/* pow with a number as exponent or as base; [scratch] and [n] as with the others. */
#define ASC_POWER(X, Y, x, y, first, second, value)                                                               \
    template <typename T, bool isReuseSource = false>                                                             \
    inline void Power(const LocalTensor<T> &d, X x, Y y, uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) { \
        const double number = double(second);                                                                     \
        asc_cpu::unary("Power", w, d, first, asc_cpu::Lanes::whole(int64_t(n), "Power"), {}, {},                  \
                       [number](auto a) { return value; });                                                       \
    }                                                                                                             \
    template <typename T, bool isReuseSource = false>                                                             \
    inline void Power(const LocalTensor<T> &d, X x, Y y, asc_cpu::Where w = asc_cpu::Where::here()) {             \
        Power<T, isReuseSource>(d, x, y, first.GetSize(), w);                                                     \
    }                                                                                                             \
    template <typename T, bool isReuseSource = false>                                                             \
    inline void Power(const LocalTensor<T> &d, X x, Y y, const LocalTensor<uint8_t> &scratch, uint32_t n,         \
                      asc_cpu::Where w = asc_cpu::Where::here()) {                                                \
        asc_cpu::take_scratch(scratch, scratch.GetSize(), w);                                                     \
        Power<T, isReuseSource>(d, x, y, n, w);                                                                   \
    }                                                                                                             \
    template <typename T, bool isReuseSource = false>                                                             \
    inline void Power(const LocalTensor<T> &d, X x, Y y, const LocalTensor<uint8_t> &scratch,                     \
                      asc_cpu::Where w = asc_cpu::Where::here()) {                                                \
        asc_cpu::take_scratch(scratch, scratch.GetSize(), w);                                                     \
        Power<T, isReuseSource>(d, x, y, first.GetSize(), w);                                                     \
    }
ASC_POWER(const LocalTensor<T> &, const asc_cpu::Same<T> &, x, y, x, y, std::pow(double(a), number))
ASC_POWER(const asc_cpu::Same<T> &, const LocalTensor<T> &, x, y, y, x, std::pow(number, double(a)))
#undef ASC_POWER

/* exp by an expansion of `level` terms on the device; here it is exp. */
template <typename T, auto level, bool isReuseSource = false,
          typename = std::enable_if_t<!std::is_same_v<decltype(level), bool>>>
inline void Exp(const LocalTensor<T> &d, const LocalTensor<T> &x, uint32_t n,
                asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::unary("Exp", w, d, x, asc_cpu::Lanes::whole(int64_t(n), "Exp"), {}, {},
                   [](auto a) { return std::exp(double(a)); });
}
template <typename T, auto level, bool isReuseSource = false,
          typename = std::enable_if_t<!std::is_same_v<decltype(level), bool>>>
inline void Exp(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<uint8_t> &scratch, uint32_t n,
                asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    Exp<T, level, isReuseSource>(d, x, n, w);
}

#define ASC_CLAMP(name, value)                                                                                   \
    template <typename T, bool isReuseSource = false>                                                            \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const asc_cpu::Same<T> bound, uint32_t n, \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                \
        const asc_cpu::Compute<T> b = asc_cpu::Compute<T>(bound);                                                \
        asc_cpu::unary(#name, w, d, x, asc_cpu::Lanes::whole(int64_t(n), #name), {}, {},                         \
                       [b](auto a) { return value; });                                                           \
    }                                                                                                            \
    template <typename T, bool isReuseSource = false>                                                            \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<uint8_t> &scratch,      \
                     const asc_cpu::Same<T> bound, uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {      \
        asc_cpu::take_scratch(scratch, scratch.GetSize(), w);                                                    \
        name<T, isReuseSource>(d, x, bound, n, w);                                                               \
    }
ASC_CLAMP(ClampMax, asc_cpu::smaller(a, b))
ASC_CLAMP(ClampMin, asc_cpu::larger(a, b))
#undef ASC_CLAMP
template <typename T, bool isReuseSource = false>
inline void Clamp(const LocalTensor<T> &d, const LocalTensor<T> &x, const asc_cpu::Same<T> low,
                  const asc_cpu::Same<T> high, uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {
    using C = asc_cpu::Compute<T>;
    const C least = C(low), most = C(high);
    asc_cpu::unary("Clamp", w, d, x, asc_cpu::Lanes::whole(int64_t(n), "Clamp"), {}, {},
                   [=](auto a) { return asc_cpu::smaller(asc_cpu::larger(a, least), most); });
}

}  // namespace AscendC
