/* The values of Fixpipe: sums of L0C, converted, as rows (ND) or as strips (Nz). */
#pragma once

#include "fractal.h"
#include "quant_values.h"

namespace asc_cpu {

/* Rows and columns of one matrix in L0C, and where its elements go. */
struct FixpipeShape {
    uint32_t rows, columns;
    uint64_t source_strip; /* rows of L0C from one strip of 16 columns to the next */
    uint64_t target;       /* elements from row to row (ND), or from strip to strip (Nz) */
    bool strips = false;   /* Nz */
    uint32_t strip = 16;   /* columns of a strip of the target: 16, of bytes 32, of split floats 8 */

    uint64_t source_at(uint32_t row, uint32_t column) const {
        return (column / FRACTAL_ROWS * source_strip + row) * FRACTAL_ROWS + column % FRACTAL_ROWS;
    }
    uint64_t target_at(uint32_t row, uint32_t column) const {
        return strips ? column / strip * target + uint64_t(row) * strip + column % strip
                      : uint64_t(row) * target + column;
    }
};
struct FixpipeConversion {
    QuantMode_t mode = NoQuant;
    uint64_t scalar = 0;
    const uint64_t *vector = nullptr; /* a factor per column */
    bool relu = false;

    QuantFactor factor(uint32_t column) const {
        if (quant_by_column(mode)) return QuantFactor(vector[column]);
        return quant_scales(mode) ? QuantFactor(scalar) : QuantFactor();
    }
};

/* store(place, value) puts one value of the target. */
template <typename T, typename Sum, typename Store>
inline void fixpipe_values(T *to, const Sum *l0c, const FixpipeShape &shape, const FixpipeConversion &how,
                           Store store) {
    for (uint32_t column = 0; column < shape.columns; column++) {
        const QuantFactor factor = how.factor(column);
        for (uint32_t row = 0; row < shape.rows; row++)
            store(to[shape.target_at(row, column)],
                  quantised<T>(l0c[shape.source_at(row, column)], how.mode, factor, how.relu));
    }
}

}  // namespace asc_cpu
