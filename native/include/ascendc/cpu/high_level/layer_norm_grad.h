/* The gradients of LayerNorm: of its input, and of gamma and beta. Computed in float64 and rounded once. */
#pragma once

#include "normalize.h"

namespace AscendC {

enum class DataFormat : uint8_t { ND, NZ, NCHW, NC1HWC0, NHWC, NCDHW, NDC1HWC0, FRACTAL_Z_3D, NDHWC };
struct LayerNormGradShapeInfo {
    DataFormat dataFormat = DataFormat::ND;
};

}  // namespace AscendC

namespace asc_cpu {

/* What a row of LayerNormGrad takes and gives. x2 = x - mean. */
template <typename T>
struct LayerNormGradRow {
    const T *dy, *x, *gamma;
    T *dx, *normalised;
    double mean, rstd;

    void compute(uint32_t used, uint32_t columns) const {
        double by_variance = 0, by_mean = 0;
        for (uint32_t i = 0; i < used; i++) {
            const double g = double(dy[i]) * double(gamma[i]), x2 = double(x[i]) - mean;
            by_variance -= 0.5 * g * x2 * rstd * rstd * rstd;
            by_mean -= g * rstd;
        }
        for (uint32_t i = 0; i < columns; i++) {
            const double g = i < used ? double(dy[i]) * double(gamma[i]) : 0, x2 = double(x[i]) - mean;
            const double value = g * rstd + by_variance * 2 / double(used) * x2 + by_mean / double(used);
            const T of_gamma = i < used ? T(x2 * rstd) : T(0.0f);
            dx[i] = i < used ? T(value) : T(0.0f);
            normalised[i] = of_gamma;
        }
    }
};

}  // namespace asc_cpu

namespace AscendC {

/* dx, and (x - mean) * rstd for LayerNormGradBeta, of [b, s, h] with a variance and a mean for each b, s. */
template <typename T, bool isReuseSource = false>
inline void LayerNormGrad(const LocalTensor<T> &dx, const LocalTensor<T> &resForGamma, const LocalTensor<T> &dy,
                          const LocalTensor<T> &x, const LocalTensor<T> &variance, const LocalTensor<T> &mean,
                          const LocalTensor<T> &gamma, const asc_cpu::Same<T> epsilon,
                          const LayerNormGradTiling &tiling, const LayerNormGradShapeInfo &info = {},
                          asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::need_parameter(w, info.dataFormat == DataFormat::ND, "LayerNormGrad", "the format is ND");
    const uint32_t h = tiling.hLength, used = tiling.originalHLength ? tiling.originalHLength : h;
    const uint32_t rows = tiling.bLength * tiling.sLength;
    const uint64_t n = uint64_t(rows) * h;
    const double eps = double(epsilon);
    T *const to = dx.data(), *const res = resForGamma.data();
    const T *const d = dy.data(), *const from = x.data(), *const v = variance.data(), *const m = mean.data();
    const T *const g = gamma.data();
    asc_cpu::issue(PIPE_V, "LayerNormGrad", w,
                   {dx.writes(n), resForGamma.writes(n), dy.reads(n), x.reads(n), variance.reads(rows),
                    mean.reads(rows), gamma.reads(used)},
                   [=] {
                       for (uint64_t row = 0; row < rows; row++) {
                           const uint64_t at = row * h;
                           const double rstd = 1 / std::sqrt(double(v[row]) + eps);
                           const asc_cpu::LayerNormGradRow<T> one{d + at,   from + at,      g,   to + at,
                                                                  res + at, double(m[row]), rstd};
                           one.compute(used, h);
                       }
                   });
}
template <typename T, bool isReuseSource = false>
inline void LayerNormGrad(const LocalTensor<T> &dx, const LocalTensor<T> &resForGamma, const LocalTensor<T> &dy,
                          const LocalTensor<T> &x, const LocalTensor<T> &variance, const LocalTensor<T> &mean,
                          const LocalTensor<T> &gamma, const LocalTensor<uint8_t> &scratch,
                          const asc_cpu::Same<T> epsilon, const LayerNormGradTiling &tiling,
                          const LayerNormGradShapeInfo &info = {}, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    LayerNormGrad<T, isReuseSource>(dx, resForGamma, dy, x, variance, mean, gamma, epsilon, tiling, info, w);
}

/* dgamma = sum of dy * resForGamma, dbeta = sum of dy, over b and s. */
template <typename T, bool isReuseSource = false>
inline void LayerNormGradBeta(const LocalTensor<T> &dgamma, const LocalTensor<T> &dbeta,
                              const LocalTensor<T> &resForGamma, const LocalTensor<T> &dy,
                              const LayerNormGradBetaTiling &tiling, asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint32_t h = tiling.hLength, rows = tiling.bsLength;
    const uint64_t n = uint64_t(rows) * h;
    T *const g = dgamma.data(), *const b = dbeta.data();
    const T *const r = resForGamma.data(), *const d = dy.data();
    asc_cpu::issue(PIPE_V, "LayerNormGradBeta", w,
                   {dgamma.writes(h), dbeta.writes(h), resForGamma.reads(n), dy.reads(n)}, [=] {
                       for (uint32_t i = 0; i < h; i++) {
                           double of_gamma = 0, of_beta = 0;
                           for (uint64_t at = i; at < n; at += h)
                               of_gamma += double(d[at]) * double(r[at]), of_beta += double(d[at]);
                           g[i] = T(of_gamma), b[i] = T(of_beta);
                       }
                   });
}
template <typename T, bool isReuseSource = false>
inline void LayerNormGradBeta(const LocalTensor<T> &dgamma, const LocalTensor<T> &dbeta,
                              const LocalTensor<T> &resForGamma, const LocalTensor<T> &dy,
                              const LocalTensor<uint8_t> &scratch, const LayerNormGradBetaTiling &tiling,
                              asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    LayerNormGradBeta<T, isReuseSource>(dgamma, dbeta, resForGamma, dy, tiling, w);
}

}  // namespace AscendC
