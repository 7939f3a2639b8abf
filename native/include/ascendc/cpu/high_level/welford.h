/* Welford's running means and sums of squared distances, and the mean and the variance that they come to. Computed in
 * float64 and rounded once. */
#pragma once

#include "rows.h"

namespace AscendC {

/* One step over abComputeLength elements; nRec is one over the number of steps so far. */
struct WelfordUpdateParam {
    uint32_t rnLength = 0, abLength = 0, abComputeLength = 0;
    float nRec = 0;
};
struct WelfordUpdateConfig {
    bool isInplace = false;
};
constexpr WelfordUpdateConfig WFUPDATE_DEFAULT_CFG = {};

/* rnLength steps of abLength elements, the last of tailCountLength where it is shorter: headCount steps are behind each
 * of the first headCountLength means, tailCount behind the tailCountLength others. abRec: 1 / abLength; rRec: the
 * factor of the variance, one over the number of all elements (or over one less). */
struct WelfordFinalizePara {
    uint32_t rnLength = 0, abLength = 0, headCount = 0, headCountLength = 0, tailCount = 0, tailCountLength = 0;
    float abRec = 0, rRec = 0;
    float rRecWithCorrection = 0;
};
struct WelfordFinalizeConfig {
    bool isCorrection = false;
};
constexpr WelfordFinalizeConfig WFFINALIZE_DEFAULT_CFG = {};

}  // namespace AscendC

namespace asc_cpu {

/* Elements behind each mean, as the parameters say. */
inline double welford_count(const AscendC::WelfordFinalizePara &p, uint32_t i) {
    if (!p.tailCount || !p.tailCountLength) return p.headCount ? p.headCount : p.rnLength;
    return i < p.headCountLength ? p.headCount : p.tailCount;
}
inline uint64_t welford_means(const AscendC::WelfordFinalizePara &p) {
    return p.abLength ? p.abLength : uint64_t(p.headCountLength) + p.tailCountLength;
}

/* The mean of all, and the sum of squared distances from it times `factor`. */
template <typename Count>
inline void welford_totals(float *mean, float *variance, const float *means, const float *squares, uint64_t n,
                           double factor, Count count) {
    double elements = 0, sum = 0, distances = 0;
    for (uint64_t i = 0; i < n; i++) elements += count(i), sum += double(means[i]) * count(i);
    const double centre = elements > 0 ? sum / elements : 0;
    for (uint64_t i = 0; i < n; i++) {
        const double apart = double(means[i]) - centre;
        distances += double(squares[i]) + count(i) * apart * apart;
    }
    *mean = float(centre), *variance = float(distances * factor);
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T, typename U, bool isReuseSource = false, const WelfordUpdateConfig &config = WFUPDATE_DEFAULT_CFG>
inline void WelfordUpdate(const LocalTensor<U> &mean, const LocalTensor<U> &variance, const LocalTensor<U> &meanBefore,
                          const LocalTensor<U> &varianceBefore, const LocalTensor<T> &x, const WelfordUpdateParam &p,
                          asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint64_t n = uint64_t(p.rnLength) * p.abLength;
    U *const m = mean.data(), *const v = variance.data();
    const U *const m0 = meanBefore.data(), *const v0 = varianceBefore.data();
    const T *const from = x.data();
    asc_cpu::need_parameter(w, p.abComputeLength <= p.abLength, "WelfordUpdate",
                            "abComputeLength is not more than abLength");
    asc_cpu::issue(PIPE_V, "WelfordUpdate", w,
                   {mean.writes(n), variance.writes(n), meanBefore.reads(n), varianceBefore.reads(n), x.reads(n)}, [=] {
                       for (uint32_t row = 0; row < p.rnLength; row++)
                           for (uint32_t k = 0; k < p.abLength; k++) {
                               const uint64_t i = uint64_t(row) * p.abLength + k;
                               const double before = double(m0[i]), distance = double(from[i]) - before;
                               const double after = before + distance * double(p.nRec);
                               const bool counts = k < p.abComputeLength;
                               const double square = double(v0[i]) + distance * (double(from[i]) - after);
                               m[i] = U(counts ? after : before), v[i] = U(counts ? square : double(v0[i]));
                           }
                   });
}
template <typename T, typename U, bool isReuseSource = false, const WelfordUpdateConfig &config = WFUPDATE_DEFAULT_CFG>
inline void WelfordUpdate(const LocalTensor<U> &mean, const LocalTensor<U> &variance, const LocalTensor<U> &meanBefore,
                          const LocalTensor<U> &varianceBefore, const LocalTensor<T> &x,
                          const LocalTensor<uint8_t> &scratch, const WelfordUpdateParam &p,
                          asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    WelfordUpdate<T, U, isReuseSource, config>(mean, variance, meanBefore, varianceBefore, x, p, w);
}

/* One mean and one variance of abLength means and sums of squares that WelfordUpdate made. */
template <bool isReuseSource = false, const WelfordFinalizeConfig &config = WFFINALIZE_DEFAULT_CFG>
inline void WelfordFinalize(const LocalTensor<float> &mean, const LocalTensor<float> &variance,
                            const LocalTensor<float> &means, const LocalTensor<float> &squares,
                            const WelfordFinalizePara &para, asc_cpu::Where w = asc_cpu::Where::here()) {
    const WelfordFinalizePara p = para;
    const uint64_t n = asc_cpu::welford_means(p);
    const double factor = double(config.isCorrection ? p.rRecWithCorrection : p.rRec);
    float *const m = mean.data(), *const v = variance.data();
    const float *const from = means.data(), *const sq = squares.data();
    asc_cpu::issue(PIPE_V, "WelfordFinalize", w, {mean.writes(1), variance.writes(1), means.reads(n), squares.reads(n)},
                   [=] {
                       asc_cpu::welford_totals(m, v, from, sq, n, factor,
                                               [&](uint64_t i) { return asc_cpu::welford_count(p, uint32_t(i)); });
                   });
}
/* The same where a tensor says how many elements are behind each mean. */
template <bool isReuseSource = false, const WelfordFinalizeConfig &config = WFFINALIZE_DEFAULT_CFG>
inline void WelfordFinalize(const LocalTensor<float> &mean, const LocalTensor<float> &variance,
                            const LocalTensor<float> &means, const LocalTensor<float> &squares,
                            const LocalTensor<int32_t> &counts, const WelfordFinalizePara &para,
                            asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint64_t n = asc_cpu::welford_means(para);
    const double factor = double(config.isCorrection ? para.rRecWithCorrection : para.rRec);
    float *const m = mean.data(), *const v = variance.data();
    const float *const from = means.data(), *const sq = squares.data();
    const int32_t *const c = counts.data();
    asc_cpu::issue(PIPE_V, "WelfordFinalize", w,
                   {mean.writes(1), variance.writes(1), means.reads(n), squares.reads(n), counts.reads(n)}, [=] {
                       asc_cpu::welford_totals(m, v, from, sq, n, factor, [c](uint64_t i) { return double(c[i]); });
                   });
}
template <bool isReuseSource = false, const WelfordFinalizeConfig &config = WFFINALIZE_DEFAULT_CFG>
inline void WelfordFinalize(const LocalTensor<float> &mean, const LocalTensor<float> &variance,
                            const LocalTensor<float> &means, const LocalTensor<float> &squares,
                            const LocalTensor<uint8_t> &scratch, const WelfordFinalizePara &para,
                            asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    WelfordFinalize<isReuseSource, config>(mean, variance, means, squares, para, w);
}
template <bool isReuseSource = false, const WelfordFinalizeConfig &config = WFFINALIZE_DEFAULT_CFG>
inline void WelfordFinalize(const LocalTensor<float> &mean, const LocalTensor<float> &variance,
                            const LocalTensor<float> &means, const LocalTensor<float> &squares,
                            const LocalTensor<int32_t> &counts, const LocalTensor<uint8_t> &scratch,
                            const WelfordFinalizePara &para, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    WelfordFinalize<isReuseSource, config>(mean, variance, means, squares, counts, para, w);
}

}  // namespace AscendC
