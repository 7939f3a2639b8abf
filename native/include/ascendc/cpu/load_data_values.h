/* The values of the loads into L0A and L0B: fractals picked from L1 or global memory, and feature maps unrolled. */
#pragma once

#include "fractal.h"

namespace asc_cpu {

/* Fractals one by one: number `start` + i * `source_step` of the source goes to i * `target_step` of the target. A
 * negative source_step reads backwards. */
struct FractalWalk {
    int64_t start, source_step, target_step;
    uint32_t count;
    bool transposed = false;

    int64_t source(uint32_t i) const { return (start + int64_t(i) * source_step) * int64_t(FRACTAL_BYTES); }
    int64_t target(uint32_t i) const { return int64_t(i) * target_step * int64_t(FRACTAL_BYTES); }
};
inline void load_fractals(uint8_t *to, const uint8_t *from, const FractalWalk &walk) {
    for (uint32_t i = 0; i < walk.count; i++)
        if (walk.transposed)
            transpose_square<16>(to + walk.target(i), from + walk.source(i), FRACTAL_BYTES);
        else
            std::memcpy(to + walk.target(i), from + walk.source(i), FRACTAL_BYTES);
}

/* Squares one by one, each transposed: its fractals lie one after the other in the source and `apart` fractals from
 * each other in the target; squares lie source_step squares and target_step fractals apart. */
struct SquareWalk {
    int64_t start, source_step, target_step, apart;
    uint32_t count;

    template <uint32_t bits>
    int64_t source(uint32_t i) const {
        return (start + int64_t(i) * source_step) * int64_t(FRACTAL_BYTES * fractals_of_square<bits>);
    }
    int64_t target(uint32_t i) const { return int64_t(i) * target_step * int64_t(FRACTAL_BYTES); }
};
template <uint32_t bits>
inline void load_squares(uint8_t *to, const uint8_t *from, const SquareWalk &walk) {
    for (uint32_t i = 0; i < walk.count; i++)
        transpose_square<bits>(to + walk.target(i), from + walk.source<bits>(i), uint64_t(walk.apart) * FRACTAL_BYTES);
}

/* A feature map in L1, [C1, height, width, C0], and the window that runs over it. */
struct Im2col {
    uint32_t height, width, channels;
    uint32_t pad_left, pad_right, pad_top, pad_bottom;
    uint32_t stride_w, stride_h, filter_w, filter_h, dilation_w, dilation_h;

    uint32_t out_w() const { return (width + pad_left + pad_right - (filter_w - 1) * dilation_w - 1) / stride_w + 1; }
    uint32_t out_h() const { return (height + pad_top + pad_bottom - (filter_h - 1) * dilation_h - 1) / stride_h + 1; }
    /* Element offset in L1 of (row, column) of the unrolled matrix, -1 in the padding. A row is a position of the
     * window, a column [C1, filter_h, filter_w, C0]. */
    int64_t source(uint32_t row, uint32_t column, uint32_t c0) const {
        const uint32_t c = column % c0, x = column / c0 % filter_w, y = column / c0 / filter_w % filter_h;
        const uint32_t c1 = column / c0 / filter_w / filter_h;
        const int64_t h = int64_t(row / out_w() * stride_h + y * dilation_h) - pad_top;
        const int64_t w = int64_t(row % out_w() * stride_w + x * dilation_w) - pad_left;
        if (h < 0 || w < 0 || h >= height || w >= width) return -1;
        return ((int64_t(c1) * height + h) * width + w) * c0 + c;
    }
};

/* Rows [m_start, m_start + m) and columns [k_start, k_start + k) of the unrolled matrix, as Zz (fractals of 16 rows and
 * C0 columns; rows and columns are rounded up and zero beyond it). by_column: as Zn, for L0B; transposed: the
 * transpose of the whole. */
struct Im2colPart {
    uint32_t m_start, m, k_start, k;
    bool by_column = false, transposed = false;
};
template <uint32_t bits>
inline void load_im2col(uint8_t *to, const uint8_t *from, const Im2col &map, const Im2colPart &part,
                        uint32_t pad_bits) {
    constexpr uint32_t c0 = 8 * C0_BYTES / bits;
    const uint32_t row_end = map.out_w() * map.out_h();
    const uint32_t rows = uint32_t(align_up(part.m, FRACTAL_ROWS)), columns = uint32_t(align_up(part.k, c0));
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t column = 0; column < columns; column++) {
            uint32_t value = 0;
            if (part.m_start + row < row_end) {
                const int64_t at = map.source(part.m_start + row, part.k_start + column, c0);
                value = at < 0 ? pad_bits : bits_at<bits>(from, uint64_t(at));
            }
            uint64_t place = zz_offset(row, column, columns / c0, c0);
            if (part.by_column) place = zn_offset(row, column, align_up(columns, FRACTAL_ROWS) / FRACTAL_ROWS, c0);
            if (part.transposed) place = zz_offset(column, row, align_up(rows, c0) / c0, c0);
            set_bits<bits>(to, place, value);
        }
}

}  // namespace asc_cpu
