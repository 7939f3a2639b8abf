/* Activations of the library. Computed in float64 and rounded once; Gelu and GeGLU are the form with tanh. */
#pragma once

#include "forms.h"

namespace asc_cpu {

inline double swish(double x, double beta) {
    return x / (1.0 + std::exp(-beta * x));
}
/* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), as the logistic function of the double. */
inline double gelu_by_tanh(double x) {
    return swish(x, 1.5957691216057308 * (1.0 + 0.044715 * x * x));
}
inline double fast_gelu(double x) {
    return swish(x, 1.702);
}
/* erf by a parabola: x * (sign(x) * (0.5 - 0.1444 * (min(|x| / sqrt(2), 1.769) - 1.769)^2) + 0.5). */
inline double fast_gelu_v2(double x) {
    const double near = std::min(0.70710678118 * std::fabs(x), 1.769) - 1.769;
    return x * ((x < 0 ? -1.0 : 1.0) * (0.5 - 0.1444 * near * near) + 0.5);
}

}  // namespace asc_cpu

namespace AscendC {

#define ASC_GELU typename T, bool highPrecision = false, bool highPerformance = false
ASC_FORMS1(Gelu, ASC_PARAMETERS(ASC_GELU), asc_cpu::gelu_by_tanh(double(a)))
ASC_FORMS1(FasterGelu, ASC_PARAMETERS(ASC_GELU), asc_cpu::fast_gelu(double(a)))
ASC_FORMS1(FasterGeluV2, ASC_PARAMETERS(ASC_GELU), asc_cpu::fast_gelu_v2(double(a)))
ASC_FORMS1(Silu, ASC_PARAMETERS(typename T, bool isReuseSource = false), asc_cpu::swish(double(a), 1.0))
#undef ASC_GELU
ASC_FORMS2(GeGLU, double(a) * asc_cpu::gelu_by_tanh(double(b)))
ASC_FORMS2(ReGlu, b != b ? decltype(a)(b) : a * (b > 0 ? b : decltype(b)(0)))

template <typename T, bool isReuseSource = false>
inline void Swish(const LocalTensor<T> &d, const LocalTensor<T> &x, uint32_t n, const asc_cpu::Same<T> beta,
                  asc_cpu::Where w = asc_cpu::Where::here()) {
    const double factor = double(beta);
    asc_cpu::unary("Swish", w, d, x, asc_cpu::Lanes::whole(int64_t(n), "Swish"), {}, {},
                   [factor](auto a) { return asc_cpu::swish(double(a), factor); });
}

/* x * swish(y). */
template <typename T, bool isReuseSource = false>
inline void SwiGLU(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y, const float &beta,
                   uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {
    const double factor = beta;
    asc_cpu::binary("SwiGLU", w, d, x, y, asc_cpu::Lanes::whole(int64_t(n), "SwiGLU"), {},
                    [factor](auto a, auto b) { return double(a) * asc_cpu::swish(double(b), factor); });
}
template <typename T, bool isReuseSource = false>
inline void SwiGLU(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y, const float &beta,
                   asc_cpu::Where w = asc_cpu::Where::here()) {
    SwiGLU<T, isReuseSource>(d, x, y, beta, x.GetSize(), w);
}
template <typename T, bool isReuseSource = false>
inline void SwiGLU(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y, const float &beta,
                   const LocalTensor<uint8_t> &scratch, uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    SwiGLU<T, isReuseSource>(d, x, y, beta, n, w);
}
template <typename T, bool isReuseSource = false>
inline void SwiGLU(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y, const float &beta,
                   const LocalTensor<uint8_t> &scratch, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    SwiGLU<T, isReuseSource>(d, x, y, beta, x.GetSize(), w);
}

}  // namespace AscendC
