/* Reductions of rows or columns of a matrix, and running sums. Computed in float64 and rounded once; integers in their
 * own type. */
#pragma once

#include "forms.h"

namespace AscendC {

/* outter rows of `inner` elements, of which n count. */
struct SumParams {
    uint32_t outter = 1, inner = 0, n = 0;
};
struct MeanParams {
    uint32_t outter = 1, inner = 0, n = 0;
};
struct CumSumConfig {
    bool isLastAxis = true, isReuseSource = false, outputLastRow = true;
};
constexpr CumSumConfig defaultCumSumConfig = {true, false, true};
struct CumSumInfo {
    uint32_t outter = 0, inner = 0;
};

namespace Pattern::Reduce {
/* Which axes are reduced (R) of a matrix. */
struct AR {};
struct RA {};
struct R {};
struct ARA {};
}  // namespace Pattern::Reduce

}  // namespace AscendC

namespace asc_cpu {

/* What sums of T are computed in. */
template <typename T>
using Wide = std::conditional_t<is_floating<T>, double, T>;

/* y[row] = f of the n first elements of each row; the rest of y's last block becomes 0. */
template <typename T, typename F>
inline void reduce_rows(const char *name, const LocalTensor<T> &y, const LocalTensor<T> &x, uint32_t rows,
                        uint32_t inner, uint32_t n, Where w, F f) {
    const uint64_t written = align_up(rows, lanes_of_block<T>);
    need_parameter(w, n <= inner && n > 0, name, "n is 1 to inner");
    need_parameter(w, inner % lanes_of_block<T> == 0, name, "inner is a number of whole blocks of 32 bytes");
    T *const to = y.data();
    const T *const from = x.data();
    const uint64_t filled = std::min<uint64_t>(written, std::max(rows, y.GetSize()));
    issue(PIPE_V, name, w, {y.writes(filled), x.reads(uint64_t(rows) * inner)}, [=] {
        std::vector<T> made(filled, T(0.0f));
        for (uint32_t row = 0; row < rows; row++) made[row] = T(f(from + uint64_t(row) * inner, n));
        std::copy(made.begin(), made.end(), to);
    });
}
template <typename T>
inline Wide<T> sum_of(const T *x, uint32_t n) {
    Wide<T> sum = Wide<T>(0);
    for (uint32_t i = 0; i < n; i++) sum += Wide<T>(x[i]);
    return sum;
}

/* How ReduceX meets two elements. */
struct ReduceBySum {
    template <typename C>
    static C start() {
        return C(0);
    }
    template <typename C>
    static C meet(C a, C b) {
        return C(a + b);
    }
};
struct ReduceByProduct {
    template <typename C>
    static C start() {
        return C(1);
    }
    template <typename C>
    static C meet(C a, C b) {
        return C(a * b);
    }
};
struct ReduceByMax {
    template <typename C>
    static C start() {
        return std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity()
                                                    : std::numeric_limits<C>::lowest();
    }
    template <typename C>
    static C meet(C a, C b) {
        return larger(a, b);
    }
};
struct ReduceByMin {
    template <typename C>
    static C start() {
        return std::numeric_limits<C>::has_infinity ? std::numeric_limits<C>::infinity()
                                                    : std::numeric_limits<C>::max();
    }
    template <typename C>
    static C meet(C a, C b) {
        return smaller(a, b);
    }
};
struct ReduceByAny {
    template <typename C>
    static C start() {
        return C(0);
    }
    template <typename C>
    static C meet(C a, C b) {
        return C(a != C(0) || b != C(0));
    }
};
struct ReduceByAll {
    template <typename C>
    static C start() {
        return C(1);
    }
    template <typename C>
    static C meet(C a, C b) {
        return C(a != C(0) && b != C(0));
    }
};

/* shape[0] x shape[1]; padded: rows begin at blocks of 32 bytes. by_row: AR, along a row; else along a column. */
template <typename How, typename T>
inline void reduce_matrix(const char *name, const LocalTensor<T> &y, const LocalTensor<T> &x, const uint32_t *shape,
                          bool padded, bool by_row, bool mean, Where w) {
    using C = Wide<T>;
    const uint32_t rows = shape[0], columns = shape[1];
    const uint64_t apart = padded ? align_up(columns, lanes_of_block<T>) : columns;
    const uint32_t results = by_row ? rows : columns, steps = by_row ? columns : rows;
    T *const to = y.data();
    const T *const from = x.data();
    issue(PIPE_V, name, w, {y.writes(results), x.reads(apart * rows)}, [=] {
        for (uint32_t i = 0; i < results; i++) {
            C value = How::template start<C>();
            for (uint32_t k = 0; k < steps; k++)
                value = How::template meet<C>(value, C(from[by_row ? i * apart + k : k * apart + i]));
            to[i] = T(mean ? C(value / C(steps)) : value);
        }
    });
}

}  // namespace asc_cpu

namespace AscendC {

#define ASC_ROW_FUNCTION(name, Params, ...)                                                                     \
    template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>        \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const Params &p,                     \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                               \
        asc_cpu::reduce_rows(#name, dst, src, p.outter, p.inner, p.n, w,                                        \
                             [](const T *x, uint32_t n) { return __VA_ARGS__; });                               \
    }                                                                                                           \
    template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>        \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &scratch, \
                     const Params &p, asc_cpu::Where w = asc_cpu::Where::here()) {                              \
        asc_cpu::take_scratch(scratch, scratch.GetSize(), w);                                                   \
        name<T, reduceDim, isReuseSource, isBasicBlock>(dst, src, p, w);                                        \
    }
ASC_ROW_FUNCTION(Sum, SumParams, asc_cpu::sum_of(x, n))
#undef ASC_ROW_FUNCTION
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
inline void Mean(const LocalTensor<T> &dst, const LocalTensor<T> &src, const MeanParams &p,
                 asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::reduce_rows("Mean", dst, src, p.outter, p.inner, p.n, w,
                         [](const T *x, uint32_t n) { return asc_cpu::sum_of(x, n) / asc_cpu::Wide<T>(n); });
}
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
inline void Mean(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &scratch,
                 const MeanParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    Mean<T, accType>(dst, src, p, w);
}

/* Along a pattern's R of a matrix: ReduceSum<float, Pattern::Reduce::AR>(dst, src, [scratch], shape, srcInnerPad). */
#define ASC_PATTERN_FUNCTION(name, How, mean)                                                                          \
    template <class T, class pattern, bool isReuseSource = false,                                                      \
              typename = std::enable_if_t<std::is_class_v<pattern>>>                                                   \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t shape[], bool srcInnerPad,   \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                      \
        static_assert(std::is_same_v<pattern, Pattern::Reduce::AR> || std::is_same_v<pattern, Pattern::Reduce::RA>,    \
                      "patterns are AR and RA");                                                                       \
        asc_cpu::reduce_matrix<How>(#name, dst, src, shape, srcInnerPad, std::is_same_v<pattern, Pattern::Reduce::AR>, \
                                    mean, w);                                                                          \
    }                                                                                                                  \
    template <class T, class pattern, bool isReuseSource = false,                                                      \
              typename = std::enable_if_t<std::is_class_v<pattern>>>                                                   \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &scratch,        \
                     const uint32_t shape[], bool srcInnerPad, asc_cpu::Where w = asc_cpu::Where::here()) {            \
        asc_cpu::take_scratch(scratch, scratch.GetSize(), w);                                                          \
        name<T, pattern, isReuseSource>(dst, src, shape, srcInnerPad, w);                                              \
    }
ASC_PATTERN_FUNCTION(ReduceSum, asc_cpu::ReduceBySum, false)
ASC_PATTERN_FUNCTION(ReduceMean, asc_cpu::ReduceBySum, true)
ASC_PATTERN_FUNCTION(ReduceMax, asc_cpu::ReduceByMax, false)
ASC_PATTERN_FUNCTION(ReduceMin, asc_cpu::ReduceByMin, false)
ASC_PATTERN_FUNCTION(ReduceProd, asc_cpu::ReduceByProduct, false)
ASC_PATTERN_FUNCTION(ReduceAny, asc_cpu::ReduceByAny, false)
ASC_PATTERN_FUNCTION(ReduceAll, asc_cpu::ReduceByAll, false)
#undef ASC_PATTERN_FUNCTION

/* Running sums along rows (isLastAxis) or down columns; the last row of the result once more. */
template <typename T, const CumSumConfig &config = defaultCumSumConfig>
inline void CumSum(const LocalTensor<T> &dst, const LocalTensor<T> &lastRow, const LocalTensor<T> &src,
                   const CumSumInfo &info, asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint32_t rows = info.outter, columns = info.inner;
    const uint64_t size = uint64_t(rows) * columns;
    constexpr bool along_rows = config.isLastAxis;
    T *const to = dst.data(), *const last = config.outputLastRow ? lastRow.data() : nullptr;
    const T *const from = src.data();
    const asc_cpu::Operand nothing = src.reads(0);
    asc_cpu::issue(
        PIPE_V, "CumSum", w, {dst.writes(size), src.reads(size), last ? lastRow.writes(columns) : nothing}, [=] {
            const uint32_t lines = along_rows ? rows : columns, steps = along_rows ? columns : rows;
            for (uint32_t line = 0; line < lines; line++) {
                asc_cpu::Wide<T> sum = asc_cpu::Wide<T>(0);
                for (uint32_t i = 0; i < steps; i++) {
                    const uint64_t at = along_rows ? uint64_t(line) * columns + i : uint64_t(i) * columns + line;
                    to[at] = T(sum += asc_cpu::Wide<T>(from[at]));
                }
            }
            for (uint32_t i = 0; last && rows && i < columns; i++) last[i] = to[uint64_t(rows - 1) * columns + i];
        });
}
template <typename T, const CumSumConfig &config = defaultCumSumConfig>
inline void CumSum(const LocalTensor<T> &dst, const LocalTensor<T> &lastRow, const LocalTensor<T> &src,
                   const LocalTensor<uint8_t> &scratch, const CumSumInfo &info,
                   asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    CumSum<T, config>(dst, lastRow, src, info, w);
}

}  // namespace AscendC
