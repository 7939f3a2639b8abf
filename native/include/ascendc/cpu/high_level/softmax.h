/* Softmax along rows, whole or piece by piece. Computed in float64 and rounded once to the type of each result.
 *
 * Tensors of maxima and sums have a block of 32 bytes for each row, the same value all over it. Columns behind
 * oriSrcK become 0. LogSoftMax is the logarithm to base 10, as the library's documentation has it.
 */
#pragma once

#include "../../kernel_tiling/kernel_tiling.h"
#include "rows.h"

namespace AscendC {

enum class SoftmaxMode : uint8_t { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };
struct SoftmaxConfig {
    bool isCheckTiling = true;
    uint32_t oriSrcM = 0, oriSrcK = 0;
    SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};
constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {};

}  // namespace AscendC

namespace asc_cpu {

inline double largest_of(const std::vector<double> &row) {
    double most = -std::numeric_limits<double>::infinity();
    for (double x : row) most = larger(most, x);
    return most;
}
/* x = exp(x - most), as S; returns their sum. */
inline double exponentials(std::vector<double> &row, double most) {
    double sum = 0;
    for (double &x : row) sum += x = std::exp(x - most);
    return sum;
}
template <typename T, typename F>
inline void put_row(T *y, const Rows &rows, uint32_t row, F value) {
    for (uint32_t column = 0; column < rows.columns; column++)
        y[rows.at(row, column)] = column < rows.used ? T(value(column)) : T(0.0f);
}

template <typename T, typename S>
inline void softmax_rows(const char *name, const LocalTensor<T> &y, const LocalTensor<S> *sums,
                         const LocalTensor<S> *maxima, const LocalTensor<T> &x, const Rows &rows, bool log10, Where w) {
    T *const to = y.data();
    const T *const from = x.data();
    S *const s = sums ? sums->data() : nullptr, *const m = maxima ? maxima->data() : nullptr;
    const uint64_t blocks = sums ? uint64_t(rows.m) * lanes_of_block<S> : 0;
    const Operand nothing = x.reads(0);
    issue(PIPE_V, name, w,
          {y.writes(rows.size()), x.reads(rows.size()), sums ? sums->writes(blocks) : nothing,
           maxima ? maxima->writes(blocks) : nothing},
          [=] {
              for (uint32_t row = 0; row < rows.m; row++) {
                  std::vector<double> v = copy_row(from, rows, row);
                  const double most = largest_of(v), sum = exponentials(v, most);
                  put_row(to, rows, row, [&](uint32_t i) { return log10 ? std::log10(v[i] / sum) : v[i] / sum; });
                  if (s) fill_block(s + row * lanes_of_block<S>, sum);
                  if (m) fill_block(m + row * lanes_of_block<S>, most);
              }
          });
}

/* What a step over more columns of the same rows takes over, and leaves. V1 divides by the sums so far, V2 does not. */
template <typename T, typename S>
struct FlashStep {
    T *y;
    const T *x;
    S *sums, *maxima;
    T *factors;
    const S *sums_before, *maxima_before;
};
template <typename T, typename S>
inline void flash_row(const FlashStep<T, S> &step, const Rows &rows, uint32_t row, bool update, bool divide) {
    std::vector<double> v = copy_row(step.x, rows, row);
    const uint32_t place = row * lanes_of_block<S>;
    double most = largest_of(v), before = 0, factor = 1;
    if (update) {
        most = larger(most, double(step.maxima_before[place]));
        factor = std::exp(double(step.maxima_before[place]) - most);
        before = factor * double(step.sums_before[place]);
    }
    const double sum = exponentials(v, most) + before;
    put_row(step.y, rows, row, [&](uint32_t i) { return divide ? v[i] / sum : v[i]; });
    fill_block(step.sums + place, sum);
    fill_block(step.maxima + place, most);
    if (update) fill_block(step.factors + row * lanes_of_block<T>, divide ? before / sum : factor);
}
template <typename T, typename S>
inline void flash_rows(const char *name, const LocalTensor<T> &y, const LocalTensor<S> &sums,
                       const LocalTensor<S> &maxima, const LocalTensor<T> &x, const LocalTensor<T> &factors,
                       const LocalTensor<S> &sums_before, const LocalTensor<S> &maxima_before, const Rows &rows,
                       bool update, bool divide, Where w) {
    const uint64_t blocks = uint64_t(rows.m) * lanes_of_block<S>, old = update ? blocks : 0;
    const FlashStep<T, S> step{y.data(),       x.data(),           sums.data(),         maxima.data(),
                               factors.data(), sums_before.data(), maxima_before.data()};
    const Operand nothing = x.reads(0);
    issue(PIPE_V, name, w,
          {y.writes(rows.size()), x.reads(rows.size()), sums.writes(blocks), maxima.writes(blocks),
           update ? factors.writes(uint64_t(rows.m) * lanes_of_block<T>) : nothing,
           update ? sums_before.reads(old) : nothing, update ? maxima_before.reads(old) : nothing},
          [=] {
              for (uint32_t row = 0; row < rows.m; row++) flash_row(step, rows, row, update, divide);
          });
}

template <typename T, typename S>
inline void softmax_with(const LocalTensor<T> &y, const LocalTensor<S> &sums, const LocalTensor<S> &maxima,
                         const LocalTensor<T> &x, const Rows &rows, Where w) {
    T *const to = y.data();
    const T *const from = x.data();
    const S *const s = sums.data(), *const m = maxima.data();
    const uint64_t blocks = uint64_t(rows.m) * lanes_of_block<S>;
    issue(PIPE_V, "SimpleSoftMax", w,
          {y.writes(rows.size()), x.reads(rows.size()), sums.reads(blocks), maxima.reads(blocks)}, [=] {
              for (uint32_t row = 0; row < rows.m; row++) {
                  const std::vector<double> v = copy_row(from, rows, row);
                  const double most = double(m[row * lanes_of_block<S>]), sum = double(s[row * lanes_of_block<S>]);
                  put_row(to, rows, row, [&](uint32_t i) { return std::exp(v[i] - most) / sum; });
              }
          });
}

template <typename T>
inline uint64_t softmax_scratch(const Rows &rows) {
    return rows.size() * sizeof(T);
}

}  // namespace asc_cpu

namespace AscendC {

/* On the device: a tiling of rows whose scratch is `scratch` elements of four bytes. */
inline bool SoftMaxTilingFunc(const uint32_t scratch, const SoftMaxShapeInfo &info, SoftMaxTiling &tiling,
                              const uint32_t bytes, const uint32_t = 0, bool = false, bool = false) {
    const uint32_t block = 32 / (bytes ? bytes : 4),
                   step = std::max(1u, std::min(scratch / (info.srcK + 3 * block), info.srcM));
    tiling.srcM = info.srcM, tiling.srcK = info.srcK, tiling.srcSize = info.srcM * info.srcK;
    tiling.outMaxM = info.srcM, tiling.outMaxK = block, tiling.outMaxSize = info.srcM * block;
    tiling.splitM = tiling.reduceM = step, tiling.splitK = info.srcK, tiling.splitSize = step * info.srcK;
    tiling.reduceK = block, tiling.reduceSize = step * block, tiling.rangeM = info.srcM / step;
    tiling.tailM = info.srcM % step, tiling.tailSplitSize = tiling.tailM * info.srcK;
    tiling.tailReduceSize = tiling.tailM * block;
    return true;
}

#define ASC_ROWS(x, nz) asc_cpu::rows_of(x, info, tiling.srcM, tiling.srcK, nz)
#define ASC_FLAGS bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false

template <typename T, ASC_FLAGS, const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG, typename S>
inline void SoftMax(const LocalTensor<T> &dst, const LocalTensor<S> &sums, const LocalTensor<S> &maxima,
                    const LocalTensor<T> &src, const SoftMaxTiling &tiling, const SoftMaxShapeInfo &info = {},
                    asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::softmax_rows("SoftMax", dst, &sums, &maxima, src, ASC_ROWS(src, isDataFormatNZ), false, w);
}
template <typename T, ASC_FLAGS, const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG, typename S>
inline void SoftMax(const LocalTensor<T> &dst, const LocalTensor<S> &sums, const LocalTensor<S> &maxima,
                    const LocalTensor<T> &src, const LocalTensor<uint8_t> &scratch, const SoftMaxTiling &tiling,
                    const SoftMaxShapeInfo &info = {}, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    SoftMax<T, isReuseSource, isBasicBlock, isDataFormatNZ>(dst, sums, maxima, src, tiling, info, w);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false,
          const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG>
inline void SoftMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, const SoftMaxTiling &tiling,
                    const SoftMaxShapeInfo &info = {}, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::softmax_rows<T, T>("SoftMax", dst, nullptr, nullptr, src, ASC_ROWS(src, false), false, w);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false,
          const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG>
inline void SoftMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &scratch,
                    const SoftMaxTiling &tiling, const SoftMaxShapeInfo &info = {},
                    asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    SoftMax<T, isReuseSource, isBasicBlock>(dst, src, tiling, info, w);
}

template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false, typename S>
inline void LogSoftMax(const LocalTensor<T> &dst, const LocalTensor<S> &sums, const LocalTensor<S> &maxima,
                       const LocalTensor<T> &src, const LocalTensor<uint8_t> &scratch, const SoftMaxTiling &tiling,
                       const SoftMaxShapeInfo &info = {}, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    asc_cpu::softmax_rows("LogSoftMax", dst, &sums, &maxima, src, ASC_ROWS(src, isDataFormatNZ), true, w);
}
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false, typename S>
inline void LogSoftMax(const LocalTensor<T> &dst, const LocalTensor<S> &sums, const LocalTensor<S> &maxima,
                       const LocalTensor<T> &src, const SoftMaxTiling &tiling, const SoftMaxShapeInfo &info = {},
                       asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::softmax_rows("LogSoftMax", dst, &sums, &maxima, src, ASC_ROWS(src, isDataFormatNZ), true, w);
}

template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG, typename S>
inline void SimpleSoftMax(const LocalTensor<T> &dst, const LocalTensor<S> &sums, const LocalTensor<S> &maxima,
                          const LocalTensor<T> &src, const SoftMaxTiling &tiling, const SoftMaxShapeInfo &info = {},
                          asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::softmax_with(dst, sums, maxima, src, ASC_ROWS(src, isDataFormatNZ), w);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG, typename S>
inline void SimpleSoftMax(const LocalTensor<T> &dst, const LocalTensor<S> &sums, const LocalTensor<S> &maxima,
                          const LocalTensor<T> &src, const LocalTensor<uint8_t> &scratch, const SoftMaxTiling &tiling,
                          const SoftMaxShapeInfo &info = {}, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    asc_cpu::softmax_with(dst, sums, maxima, src, ASC_ROWS(src, isDataFormatNZ), w);
}

/* isUpdate: rows that a call before has begun. */
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, typename S>
inline void SoftmaxFlash(const LocalTensor<T> &dst, const LocalTensor<S> &sums, const LocalTensor<S> &maxima,
                         const LocalTensor<T> &src, const LocalTensor<T> &factors, const LocalTensor<S> &sumsBefore,
                         const LocalTensor<S> &maximaBefore, const SoftMaxTiling &tiling, bool isUpdate = false,
                         const SoftMaxShapeInfo &info = {}, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::flash_rows("SoftmaxFlash", dst, sums, maxima, src, factors, sumsBefore, maximaBefore, ASC_ROWS(src, false),
                        isUpdate, true, w);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, typename S>
inline void SoftmaxFlash(const LocalTensor<T> &dst, const LocalTensor<S> &sums, const LocalTensor<S> &maxima,
                         const LocalTensor<T> &src, const LocalTensor<T> &factors, const LocalTensor<S> &sumsBefore,
                         const LocalTensor<S> &maximaBefore, const LocalTensor<uint8_t> &scratch,
                         const SoftMaxTiling &tiling, bool isUpdate = false, const SoftMaxShapeInfo &info = {},
                         asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    asc_cpu::flash_rows("SoftmaxFlash", dst, sums, maxima, src, factors, sumsBefore, maximaBefore, ASC_ROWS(src, false),
                        isUpdate, true, w);
}
template <typename T, bool isUpdate = false, ASC_FLAGS, const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG, typename S>
inline void SoftmaxFlashV2(const LocalTensor<T> &dst, const LocalTensor<S> &sums, const LocalTensor<S> &maxima,
                           const LocalTensor<T> &src, const LocalTensor<T> &factors, const LocalTensor<S> &sumsBefore,
                           const LocalTensor<S> &maximaBefore, const SoftMaxTiling &tiling,
                           const SoftMaxShapeInfo &info = {}, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::flash_rows("SoftmaxFlashV2", dst, sums, maxima, src, factors, sumsBefore, maximaBefore,
                        ASC_ROWS(src, isDataFormatNZ), isUpdate, false, w);
}
template <typename T, bool isUpdate = false, ASC_FLAGS, const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG, typename S>
inline void SoftmaxFlashV2(const LocalTensor<T> &dst, const LocalTensor<S> &sums, const LocalTensor<S> &maxima,
                           const LocalTensor<T> &src, const LocalTensor<T> &factors, const LocalTensor<S> &sumsBefore,
                           const LocalTensor<S> &maximaBefore, const LocalTensor<uint8_t> &scratch,
                           const SoftMaxTiling &tiling, const SoftMaxShapeInfo &info = {},
                           asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    asc_cpu::flash_rows("SoftmaxFlashV2", dst, sums, maxima, src, factors, sumsBefore, maximaBefore,
                        ASC_ROWS(src, isDataFormatNZ), isUpdate, false, w);
}

/* (grad - sum(grad * src)) * src; isFront: the sums only, a block of 32 bytes for each row. */
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
inline void SoftmaxGrad(const LocalTensor<T> &dst, const LocalTensor<T> &grad, const LocalTensor<T> &src,
                        const SoftMaxTiling &tiling, bool isFront = false, const SoftMaxShapeInfo &info = {},
                        asc_cpu::Where w = asc_cpu::Where::here()) {
    const asc_cpu::Rows rows = ASC_ROWS(src, isDataFormatNZ);
    T *const to = dst.data();
    const T *const g = grad.data(), *const y = src.data();
    const uint64_t written = isFront ? uint64_t(rows.m) * asc_cpu::lanes_of_block<T> : rows.size();
    asc_cpu::issue(
        PIPE_V, "SoftmaxGrad", w, {dst.writes(written), grad.reads(rows.size()), src.reads(rows.size())}, [=] {
            for (uint32_t row = 0; row < rows.m; row++) {
                const std::vector<double> a = asc_cpu::copy_row(g, rows, row), b = asc_cpu::copy_row(y, rows, row);
                double sum = 0;
                for (size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
                if (isFront)
                    asc_cpu::fill_block(to + row * asc_cpu::lanes_of_block<T>, sum);
                else
                    asc_cpu::put_row(to, rows, row, [&](uint32_t i) { return (a[i] - sum) * b[i]; });
            }
        });
}
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
inline void SoftmaxGrad(const LocalTensor<T> &dst, const LocalTensor<T> &grad, const LocalTensor<T> &src,
                        const LocalTensor<uint8_t> &scratch, const SoftMaxTiling &tiling, bool isFront = false,
                        const SoftMaxShapeInfo &info = {}, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    SoftmaxGrad<T, isReuseSource, isDataFormatNZ>(dst, grad, src, tiling, isFront, info, w);
}
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>
inline void SoftmaxGradFront(const LocalTensor<T> &dst, const LocalTensor<T> &grad, const LocalTensor<T> &src,
                             const SoftMaxTiling &tiling, const SoftMaxShapeInfo &info = {},
                             asc_cpu::Where w = asc_cpu::Where::here()) {
    SoftmaxGrad<T, false, isDataFormatNZ>(dst, grad, src, tiling, true, info, w);
}
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>
inline void SoftmaxGradFront(const LocalTensor<T> &dst, const LocalTensor<T> &grad, const LocalTensor<T> &src,
                             const LocalTensor<uint8_t> &scratch, const SoftMaxTiling &tiling,
                             const SoftMaxShapeInfo &info = {}, asc_cpu::Where w = asc_cpu::Where::here()) {
    SoftmaxGrad<T, false, isDataFormatNZ>(dst, grad, src, scratch, tiling, true, info, w);
}

/* Rows whose maximum has the bits `from` become `to` all over. True where there is one. */
template <typename T, typename S, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
inline bool AdjustSoftMaxRes(const LocalTensor<T> &result, const LocalTensor<S> &maxima, const uint32_t from,
                             const T to, const SoftMaxShapeInfo &info, asc_cpu::Where w = asc_cpu::Where::here()) {
    const asc_cpu::Rows rows = asc_cpu::rows_of(result, info, 0, 0, isDataFormatNZ);
    const uint32_t step = stepSizeMode ? stepSizeMode : asc_cpu::lanes_of_block<S>;
    bool found = false;
    for (uint32_t row = 0; row < rows.m; row++) {
        const S value = maxima.GetValue(row * step, w);
        uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        if (bits != from) continue;
        found = true;
        T *const y = result.data();
        asc_cpu::issue(PIPE_V, "AdjustSoftMaxRes", w, {result.reads(rows.size()), result.writes(rows.size())}, [=] {
            for (uint32_t column = 0; column < rows.columns; column++) y[rows.at(row, column)] = to;
        });
    }
    return found;
}
#undef ASC_ROWS
#undef ASC_FLAGS

}  // namespace AscendC
