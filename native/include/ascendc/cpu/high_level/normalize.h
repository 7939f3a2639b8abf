/* Normalisations along the last axis. Computed in float64 and rounded once. */
#pragma once

#include "../../kernel_tiling/kernel_tiling.h"
#include "rows.h"

namespace AscendC {

struct NormalizePara {
    uint32_t aLength = 0, rLength = 0, rLengthWithPadding = 0;
};
struct NormalizeConfig {
    int32_t reducePattern = 0, aLength = -1;
    bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false;
};
constexpr NormalizeConfig NLCFG_NORM = {};
struct LayerNormPara {
    uint32_t aLength = 0, rLength = 0, rLengthWithPadding = 0;
};
struct LayerNormConfig {
    bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false;
};
constexpr LayerNormConfig LNCFG_NORM = {};

}  // namespace AscendC

namespace asc_cpu {

struct Moments {
    double mean = 0, variance = 0;
};
inline Moments moments_of(const std::vector<double> &row) {
    Moments m;
    for (double x : row) m.mean += x;
    m.mean /= double(row.size());
    for (double x : row) m.variance += (x - m.mean) * (x - m.mean);
    m.variance /= double(row.size());
    return m;
}

/* y = (x - mean) / sqrt(variance + epsilon) * gamma + beta of rows that `value` gives; writes mean and variance. */
template <typename T, typename Value>
inline void layer_norm_rows(T *y, T *means, T *variances, const T *gamma, const T *beta, const Rows &rows,
                            double epsilon, bool inverse, Value value) {
    for (uint32_t row = 0; row < rows.m; row++) {
        std::vector<double> v(rows.used);
        for (uint32_t i = 0; i < rows.used; i++) v[i] = value(rows.at(row, i));
        const Moments m = moments_of(v);
        const double factor = 1.0 / std::sqrt(m.variance + epsilon);
        means[row] = T(m.mean), variances[row] = T(inverse ? factor : m.variance);
        for (uint32_t i = 0; i < rows.columns; i++)
            y[rows.at(row, i)] =
                i < rows.used ? T((v[i] - m.mean) * factor * double(gamma[i]) + double(beta[i])) : T(0.0f);
    }
}

template <typename Tiling>
inline Rows rows_of_layer(const Tiling &t) {
    return {t.bLength * t.sLength, t.hLength, t.originalHLength ? t.originalHLength : t.hLength};
}

}  // namespace asc_cpu

namespace AscendC {

/* Of [b, s, h], with a mean and a variance for each b, s. */
template <typename T, bool isReuseSource = false>
inline void LayerNorm(const LocalTensor<T> &dst, const LocalTensor<T> &mean, const LocalTensor<T> &variance,
                      const LocalTensor<T> &x, const LocalTensor<T> &gamma, const LocalTensor<T> &beta,
                      const asc_cpu::Same<T> epsilon, const LayerNormTiling &tiling,
                      asc_cpu::Where w = asc_cpu::Where::here()) {
    const asc_cpu::Rows rows = asc_cpu::rows_of_layer(tiling);
    const double eps = double(epsilon);
    T *const y = dst.data(), *const m = mean.data(), *const v = variance.data();
    const T *const from = x.data(), *const g = gamma.data(), *const b = beta.data();
    asc_cpu::issue(PIPE_V, "LayerNorm", w,
                   {dst.writes(rows.size()), mean.writes(rows.m), variance.writes(rows.m), x.reads(rows.size()),
                    gamma.reads(rows.used), beta.reads(rows.used)},
                   [=] {
                       asc_cpu::layer_norm_rows(y, m, v, g, b, rows, eps, false,
                                                [from](uint64_t i) { return double(from[i]); });
                   });
}
template <typename T, bool isReuseSource = false>
inline void LayerNorm(const LocalTensor<T> &dst, const LocalTensor<T> &mean, const LocalTensor<T> &variance,
                      const LocalTensor<T> &x, const LocalTensor<T> &gamma, const LocalTensor<T> &beta,
                      const LocalTensor<uint8_t> &scratch, const asc_cpu::Same<T> epsilon,
                      const LayerNormTiling &tiling, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    LayerNorm<T, isReuseSource>(dst, mean, variance, x, gamma, beta, epsilon, tiling, w);
}

/* Of aLength rows of rLength elements, rLengthWithPadding apart; the third result is 1 / sqrt(variance + epsilon). */
template <typename U, typename T, bool isReuseSource = false, const LayerNormConfig &config = LNCFG_NORM>
inline void LayerNorm(const LocalTensor<T> &dst, const LocalTensor<float> &mean, const LocalTensor<float> &rstd,
                      const LocalTensor<T> &x, const LocalTensor<U> &gamma, const LocalTensor<U> &beta,
                      const float epsilon, const LayerNormPara &para, const LayerNormSeparateTiling &,
                      asc_cpu::Where w = asc_cpu::Where::here()) {
    const asc_cpu::Rows rows{para.aLength, para.rLengthWithPadding ? para.rLengthWithPadding : para.rLength,
                             para.rLength};
    T *const y = dst.data();
    float *const m = mean.data(), *const r = rstd.data();
    const T *const from = x.data();
    const U *const g = config.isNoGamma ? nullptr : gamma.data(), *const b = config.isNoBeta ? nullptr : beta.data();
    const asc_cpu::Operand nothing = x.reads(0);
    asc_cpu::issue(PIPE_V, "LayerNorm", w,
                   {dst.writes(rows.size()), mean.writes(rows.m), rstd.writes(rows.m), x.reads(rows.size()),
                    g ? gamma.reads(rows.used) : nothing, b ? beta.reads(rows.used) : nothing},
                   [=] {
                       for (uint32_t row = 0; row < rows.m; row++) {
                           const std::vector<double> v = asc_cpu::copy_row(from, rows, row);
                           const asc_cpu::Moments moments = asc_cpu::moments_of(v);
                           const double factor = 1.0 / std::sqrt(moments.variance + double(epsilon));
                           m[row] = float(moments.mean), r[row] = float(factor);
                           for (uint32_t i = 0; i < rows.columns; i++)
                               y[rows.at(row, i)] = i < rows.used
                                                        ? T((v[i] - moments.mean) * factor * (g ? double(g[i]) : 1) +
                                                            (b ? double(b[i]) : 0))
                                                        : T(0.0f);
                       }
                   });
}
template <typename U, typename T, bool isReuseSource = false, const LayerNormConfig &config = LNCFG_NORM>
inline void LayerNorm(const LocalTensor<T> &dst, const LocalTensor<float> &mean, const LocalTensor<float> &rstd,
                      const LocalTensor<T> &x, const LocalTensor<U> &gamma, const LocalTensor<U> &beta,
                      const LocalTensor<uint8_t> &scratch, const float epsilon, const LayerNormPara &para,
                      const LayerNormSeparateTiling &tiling, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    LayerNorm<U, T, isReuseSource, config>(dst, mean, rstd, x, gamma, beta, epsilon, para, tiling, w);
}

/* LayerNorm of alpha * x + gx; the third result is 1 / sqrt(variance + epsilon). */
template <typename T, bool isReuseSource = false, bool isBasicBlock = false>
inline void DeepNorm(const LocalTensor<T> &dst, const LocalTensor<T> &mean, const LocalTensor<T> &rstd,
                     const LocalTensor<T> &x, const LocalTensor<T> &gx, const LocalTensor<T> &beta,
                     const LocalTensor<T> &gamma, const asc_cpu::Same<T> alpha, const asc_cpu::Same<T> epsilon,
                     const DeepNormTiling &tiling, asc_cpu::Where w = asc_cpu::Where::here()) {
    const asc_cpu::Rows rows = asc_cpu::rows_of_layer(tiling);
    const double eps = double(epsilon), factor = double(alpha);
    T *const y = dst.data(), *const m = mean.data(), *const v = rstd.data();
    const T *const from = x.data(), *const other = gx.data(), *const g = gamma.data(), *const b = beta.data();
    asc_cpu::issue(PIPE_V, "DeepNorm", w,
                   {dst.writes(rows.size()), mean.writes(rows.m), rstd.writes(rows.m), x.reads(rows.size()),
                    gx.reads(rows.size()), gamma.reads(rows.used), beta.reads(rows.used)},
                   [=] {
                       asc_cpu::layer_norm_rows(y, m, v, g, b, rows, eps, true, [=](uint64_t i) {
                           return factor * double(from[i]) + double(other[i]);
                       });
                   });
}

template <typename T, bool isReuseSource = false, bool isBasicBlock = false>
inline void DeepNorm(const LocalTensor<T> &dst, const LocalTensor<T> &mean, const LocalTensor<T> &rstd,
                     const LocalTensor<T> &x, const LocalTensor<T> &gx, const LocalTensor<T> &beta,
                     const LocalTensor<T> &gamma, const LocalTensor<uint8_t> &scratch, const asc_cpu::Same<T> alpha,
                     const asc_cpu::Same<T> epsilon, const DeepNormTiling &tiling,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    DeepNorm<T, isReuseSource, isBasicBlock>(dst, mean, rstd, x, gx, beta, gamma, alpha, epsilon, tiling, w);
}

/* x / sqrt(mean(x^2) + epsilon) * gamma of [b, s, h]. */
template <typename T, bool isBasicBlock = false>
inline void RmsNorm(const LocalTensor<T> &dst, const LocalTensor<T> &x, const LocalTensor<T> &gamma,
                    const asc_cpu::Same<T> epsilon, const RmsNormTiling &tiling,
                    asc_cpu::Where w = asc_cpu::Where::here()) {
    const asc_cpu::Rows rows{tiling.bLength * tiling.sLength, tiling.hLength,
                             tiling.originalHLength ? tiling.originalHLength : tiling.hLength};
    const double eps = double(epsilon);
    T *const y = dst.data();
    const T *const from = x.data(), *const g = gamma.data();
    asc_cpu::issue(PIPE_V, "RmsNorm", w, {dst.writes(rows.size()), x.reads(rows.size()), gamma.reads(rows.used)}, [=] {
        for (uint32_t row = 0; row < rows.m; row++) {
            const std::vector<double> v = asc_cpu::copy_row(from, rows, row);
            double sum = 0;
            for (double value : v) sum += value * value;
            const double factor = 1.0 / std::sqrt(sum / double(rows.used) + eps);
            for (uint32_t i = 0; i < rows.columns; i++)
                y[rows.at(row, i)] = i < rows.used ? T(v[i] * factor * double(g[i])) : T(0.0f);
        }
    });
}
template <typename T, bool isBasicBlock = false>
inline void RmsNorm(const LocalTensor<T> &dst, const LocalTensor<T> &x, const LocalTensor<T> &gamma,
                    const LocalTensor<uint8_t> &scratch, const asc_cpu::Same<T> epsilon, const RmsNormTiling &tiling,
                    asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    RmsNorm<T, isBasicBlock>(dst, x, gamma, epsilon, tiling, w);
}

/* Rows normalised by a mean and a variance that are known; gives 1 / sqrt(variance + epsilon) too. */
template <typename U, typename T, bool isReuseSource = false, const NormalizeConfig &config = NLCFG_NORM>
inline void Normalize(const LocalTensor<T> &dst, const LocalTensor<float> &rstd, const LocalTensor<float> &mean,
                      const LocalTensor<float> &variance, const LocalTensor<T> &x, const LocalTensor<U> &gamma,
                      const LocalTensor<U> &beta, const float epsilon, const NormalizePara &para,
                      asc_cpu::Where w = asc_cpu::Where::here()) {
    const asc_cpu::Rows rows{para.aLength, para.rLengthWithPadding, para.rLength};
    T *const y = dst.data();
    float *const r = rstd.data();
    const float *const m = mean.data(), *const v = variance.data();
    const T *const from = x.data();
    const U *const g = config.isNoGamma ? nullptr : gamma.data(), *const b = config.isNoBeta ? nullptr : beta.data();
    const asc_cpu::Operand nothing = x.reads(0);
    asc_cpu::issue(PIPE_V, "Normalize", w,
                   {dst.writes(rows.size()), rstd.writes(rows.m), mean.reads(rows.m), variance.reads(rows.m),
                    x.reads(rows.size()), g ? gamma.reads(rows.used) : nothing, b ? beta.reads(rows.used) : nothing},
                   [=] {
                       for (uint32_t row = 0; row < rows.m; row++) {
                           const double factor = 1.0 / std::sqrt(double(v[row]) + double(epsilon));
                           r[row] = float(factor);
                           for (uint32_t i = 0; i < rows.columns; i++) {
                               const double value = (double(from[rows.at(row, i)]) - double(m[row])) * factor;
                               const double scaled = value * (g ? double(g[i]) : 1) + (b ? double(b[i]) : 0);
                               y[rows.at(row, i)] = i < rows.used ? T(scaled) : T(0.0f);
                           }
                       }
                   });
}
template <typename U, typename T, bool isReuseSource = false, const NormalizeConfig &config = NLCFG_NORM>
inline void Normalize(const LocalTensor<T> &dst, const LocalTensor<float> &rstd, const LocalTensor<float> &mean,
                      const LocalTensor<float> &variance, const LocalTensor<T> &x, const LocalTensor<U> &gamma,
                      const LocalTensor<U> &beta, const LocalTensor<uint8_t> &scratch, const float epsilon,
                      const NormalizePara &para, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    Normalize<U, T, isReuseSource, config>(dst, rstd, mean, variance, x, gamma, beta, epsilon, para, w);
}

}  // namespace AscendC
