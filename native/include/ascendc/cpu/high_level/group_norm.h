/* Normalisations over a batch and over groups of channels. Computed in float64 and rounded once. */
#pragma once

#include "normalize.h"

namespace AscendC {

/* Of [b, s, h], each of the s * h features over b: a mean and a variance for each feature, gamma and beta for each b.
 */
template <typename T, bool isReuseSource = false, bool isBasicBlock = false>
inline void BatchNorm(const LocalTensor<T> &dst, const LocalTensor<T> &mean, const LocalTensor<T> &variance,
                      const LocalTensor<T> &x, const LocalTensor<T> &gamma, const LocalTensor<T> &beta,
                      const asc_cpu::Same<T> epsilon, const BatchNormTiling &tiling,
                      asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint64_t batch = tiling.originalBLength, features = tiling.meanVarSize;
    asc_cpu::need_parameter(w, batch > 0 && features > 0, "BatchNorm", "the tiling is GetBatchNormNDTilingInfo's");
    const double eps = double(epsilon);
    T *const y = dst.data(), *const m = mean.data(), *const v = variance.data();
    const T *const from = x.data(), *const g = gamma.data(), *const b = beta.data();
    asc_cpu::issue(PIPE_V, "BatchNorm", w,
                   {dst.writes(batch * features), mean.writes(features), variance.writes(features),
                    x.reads(batch * features), gamma.reads(batch), beta.reads(batch)},
                   [=] {
                       std::vector<double> column(batch);
                       for (uint64_t i = 0; i < features; i++) {
                           for (uint64_t k = 0; k < batch; k++) column[k] = double(from[k * features + i]);
                           const asc_cpu::Moments moments = asc_cpu::moments_of(column);
                           const double factor = 1.0 / std::sqrt(moments.variance + eps);
                           m[i] = T(moments.mean), v[i] = T(moments.variance);
                           for (uint64_t k = 0; k < batch; k++)
                               y[k * features + i] =
                                   T((column[k] - moments.mean) * factor * double(g[k]) + double(b[k]));
                       }
                   });
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false>
inline void BatchNorm(const LocalTensor<T> &dst, const LocalTensor<T> &mean, const LocalTensor<T> &variance,
                      const LocalTensor<T> &x, const LocalTensor<T> &gamma, const LocalTensor<T> &beta,
                      const LocalTensor<uint8_t> &scratch, const asc_cpu::Same<T> epsilon,
                      const BatchNormTiling &tiling, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    BatchNorm<T, isReuseSource, isBasicBlock>(dst, mean, variance, x, gamma, beta, epsilon, tiling, w);
}

}  // namespace AscendC

namespace asc_cpu {

/* What GroupNorm takes: channels of `used` elements, `apart` from one another. */
struct Groups {
    uint64_t n, groups, channels, used, apart;
    uint64_t size() const { return n * groups * channels * apart; }
};

/* One group of one image. What lies behind a channel's elements becomes 0. */
template <typename T>
inline Moments group_norm(T *y, const T *x, const T *gamma, const T *beta, const Groups &s, double epsilon) {
    std::vector<double> values;
    values.reserve(s.channels * s.used);
    for (uint64_t c = 0; c < s.channels; c++)
        for (uint64_t i = 0; i < s.used; i++) values.push_back(double(x[c * s.apart + i]));
    const Moments moments = moments_of(values);
    const double factor = 1.0 / std::sqrt(moments.variance + epsilon);
    for (uint64_t c = 0; c < s.channels; c++)
        for (uint64_t i = 0; i < s.apart; i++) {
            const double value = i < s.used ? (values[c * s.used + i] - moments.mean) * factor : 0;
            y[c * s.apart + i] = i < s.used ? T(value * double(gamma[c]) + double(beta[c])) : T(0.0f);
        }
    return moments;
}

}  // namespace asc_cpu

namespace AscendC {

/* Of [n, c, h, w] in groups of c / g channels: a mean and a variance for each n and group, gamma and beta for each c.
 */
template <typename T, bool isReuseSource = false>
inline void GroupNorm(const LocalTensor<T> &dst, const LocalTensor<T> &mean, const LocalTensor<T> &variance,
                      const LocalTensor<T> &x, const LocalTensor<T> &gamma, const LocalTensor<T> &beta,
                      const asc_cpu::Same<T> epsilon, const GroupNormTiling &tiling,
                      asc_cpu::Where w = asc_cpu::Where::here()) {
    const asc_cpu::Groups s{tiling.n, tiling.g, tiling.d, tiling.hw,
                            tiling.hwAlignSize ? tiling.hwAlignSize : tiling.hw};
    asc_cpu::need_parameter(w, s.size() > 0, "GroupNorm", "the tiling is GetGroupNormNDTilingInfo's");
    const double eps = double(epsilon);
    T *const y = dst.data(), *const m = mean.data(), *const v = variance.data();
    const T *const from = x.data(), *const g = gamma.data(), *const b = beta.data();
    const uint64_t rows = s.n * s.groups, channels = s.groups * s.channels;
    asc_cpu::issue(PIPE_V, "GroupNorm", w,
                   {dst.writes(s.size()), mean.writes(rows), variance.writes(rows), x.reads(s.size()),
                    gamma.reads(channels), beta.reads(channels)},
                   [=] {
                       for (uint64_t row = 0; row < rows; row++) {
                           const uint64_t at = row * s.channels * s.apart, c = row % s.groups * s.channels;
                           const asc_cpu::Moments moments =
                               asc_cpu::group_norm(y + at, from + at, g + c, b + c, s, eps);
                           m[row] = T(moments.mean), v[row] = T(moments.variance);
                       }
                   });
}
template <typename T, bool isReuseSource = false>
inline void GroupNorm(const LocalTensor<T> &dst, const LocalTensor<T> &mean, const LocalTensor<T> &variance,
                      const LocalTensor<T> &x, const LocalTensor<T> &gamma, const LocalTensor<T> &beta,
                      const LocalTensor<uint8_t> &scratch, const asc_cpu::Same<T> epsilon,
                      const GroupNormTiling &tiling, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    GroupNorm<T, isReuseSource>(dst, mean, variance, x, gamma, beta, epsilon, tiling, w);
}

}  // namespace AscendC
