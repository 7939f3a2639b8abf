/* TopK: the k largest or smallest elements of each row and where they were. Equal ones keep their order. */
#pragma once

#include "../../base/topk_modes.h"
#include "../../kernel_tiling/kernel_tiling.h"
#include "rows.h"

namespace AscendC {

/* outter rows of `inner` elements (a multiple of 32), of which n count. */
struct TopKInfo {
    int32_t outter = 1, inner = 0, n = 0;
};

}  // namespace AscendC

namespace asc_cpu {

/* The places of the first k of n elements in order. */
template <typename T>
inline std::vector<uint32_t> leading(const T *x, uint32_t n, uint32_t k, bool largest) {
    std::vector<uint32_t> order(n);
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    const auto before = [x, largest](uint32_t a, uint32_t b) {
        if (x[a] != x[b]) return largest ? x[a] > x[b] : x[a] < x[b];
        return a < b;
    };
    std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
    order.resize(k);
    return order;
}

}  // namespace asc_cpu

namespace AscendC {

/* Rows of the results are k elements, rounded up to blocks of 32 bytes unless topkMode is TOPK_NSMALL. finish: rows
 * that are not sorted: all their indices are n. */
template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL, const TopKConfig &config = defaultTopKConfig>
inline void TopK(const LocalTensor<T> &values, const LocalTensor<int32_t> &places, const LocalTensor<T> &src,
                 const LocalTensor<int32_t> &srcIndex, const LocalTensor<bool> &finish, const int32_t k,
                 const TopkTiling &, const TopKInfo &info, const bool isLargest = true,
                 asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::need_parameter(w, k > 0 && k <= info.n && info.n <= info.inner && info.outter > 0, "TopK",
                            "1 <= k <= n <= inner, and a row at least");
    const bool largest = config.order == TopKOrder::UNSET ? isLargest : config.order == TopKOrder::LARGEST;
    const bool small = topkMode == TopKMode::TOPK_NSMALL;
    asc_cpu::need_parameter(w, small ? info.inner == 32 : info.inner % 32 == 0, "TopK",
                            "inner is 32 with TOPK_NSMALL, else a multiple of 32");
    const uint64_t value_row = small ? uint64_t(k) : asc_cpu::align_up(uint64_t(k), asc_cpu::lanes_of_block<T>);
    const uint64_t place_row = small ? uint64_t(k) : asc_cpu::align_up(uint64_t(k), 8);
    const uint64_t rows = uint64_t(info.outter), inner = uint64_t(info.inner), n = uint64_t(info.n),
                   count = uint64_t(k);
    T *const y = values.data();
    int32_t *const p = places.data();
    const T *const x = src.data();
    const int32_t *const index = isInitIndex ? srcIndex.data() : nullptr;
    const bool *const done = isHasfinish ? finish.data() : nullptr;
    const asc_cpu::Operand nothing = src.reads(0);
    asc_cpu::issue(
        PIPE_V, "TopK", w,
        {values.writes(rows * value_row), places.writes(rows * place_row), src.reads(rows * inner),
         index ? srcIndex.reads(small ? rows * inner : inner) : nothing, done ? finish.reads(rows) : nothing},
        [=] {
            for (uint64_t row = 0; row < rows; row++) {
                const std::vector<uint32_t> order =
                    asc_cpu::leading(x + row * inner, uint32_t(n), uint32_t(count), largest);
                for (uint64_t i = 0; i < count; i++) {
                    const uint64_t from = (small ? row * inner : 0) + order[i];
                    y[row * value_row + i] = x[row * inner + order[i]];
                    p[row * place_row + i] = done && done[row] ? int32_t(n) : index ? index[from] : int32_t(order[i]);
                }
            }
        });
}
template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL, const TopKConfig &config = defaultTopKConfig>
inline void TopK(const LocalTensor<T> &values, const LocalTensor<int32_t> &places, const LocalTensor<T> &src,
                 const LocalTensor<int32_t> &srcIndex, const LocalTensor<bool> &finish,
                 const LocalTensor<uint8_t> &scratch, const int32_t k, const TopkTiling &tiling, const TopKInfo &info,
                 const bool isLargest = true, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    TopK<T, isInitIndex, isHasfinish, isReuseSrc, topkMode, config>(values, places, src, srcIndex, finish, k, tiling,
                                                                    info, isLargest, w);
}

}  // namespace AscendC
