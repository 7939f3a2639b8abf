/* The layouts of a batch's matrices. Names of axes: B batches, S rows, N heads, G groups, D columns; N and G count as
 * batches. */
#pragma once

#include "product.h"

namespace asc_cpu {

/* One matrix of a batch: elements from row to row, and from matrix to matrix; `inner` matrices lie `outer` elements
 * before the next as many. */
struct BatchLayout {
    uint64_t row = 0, step = 0, inner = 0, outer = 0;
    uint64_t offset(uint64_t i) const { return inner ? i / inner * outer + i % inner * step : i * step; }
};

inline BatchLayout laid_as(LayoutMode mode, int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    const uint64_t heads = uint64_t(n) * uint64_t(g), columns = uint64_t(d), rows = uint64_t(s);
    if (mode == LayoutMode::BSNGD) return {heads * columns, columns, heads, rows * heads * columns};
    if (mode == LayoutMode::SBNGD) return {uint64_t(b) * heads * columns, columns, 0, 0};
    return {columns, rows * columns, 0, 0};
}
constexpr bool is_shaped(LayoutMode mode) {
    return mode != LayoutMode::NONE && mode != LayoutMode::NORMAL;
}
/* step: elements from matrix to matrix, if the call says so; whole: of a matrix that lies alone. */
inline BatchLayout layout_of_a(LayoutMode mode, const AscendC::TCubeTiling &t, uint64_t whole, uint64_t step) {
    BatchLayout l{0, whole, 0, 0};
    if (is_shaped(mode))
        l = laid_as(mode, t.ALayoutInfoB, t.ALayoutInfoS, t.ALayoutInfoN, t.ALayoutInfoG, t.ALayoutInfoD);
    return step ? BatchLayout{l.row, step, 0, 0} : l;
}
inline BatchLayout layout_of_b(LayoutMode mode, const AscendC::TCubeTiling &t, uint64_t whole, uint64_t step) {
    BatchLayout l{0, whole, 0, 0};
    if (is_shaped(mode))
        l = laid_as(mode, t.BLayoutInfoB, t.BLayoutInfoS, t.BLayoutInfoN, t.BLayoutInfoG, t.BLayoutInfoD);
    return step ? BatchLayout{l.row, step, 0, 0} : l;
}
inline BatchLayout layout_of_c(LayoutMode mode, const AscendC::TCubeTiling &t, const ProductShape &shape,
                               uint64_t step) {
    BatchLayout l{shape.n, shape.m * shape.n, 0, 0};
    if (is_shaped(mode))
        l = laid_as(mode, t.CLayoutInfoB, t.CLayoutInfoS1, t.CLayoutInfoN, t.CLayoutInfoG, t.CLayoutInfoS2);
    return step ? BatchLayout{l.row, step, 0, 0} : l;
}

}  // namespace asc_cpu
