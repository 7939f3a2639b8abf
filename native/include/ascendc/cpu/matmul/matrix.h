/* The matrices of a Matmul as memory holds them, and as dense rows of what the cube sums in. */
#pragma once

#include "../cube_operand.h"
#include "../fixpipe_values.h"
#include "config.h"

namespace asc_cpu {

/* rows x columns as the product needs them; `transposed`: memory holds columns x rows. ND: `apart` elements from row
 * to row of memory. NZ: strips of C0 columns, of `apart` rows each. */
struct Matrix {
    const uint8_t *base = nullptr;
    uint64_t rows = 0, columns = 0, apart = 0;
    bool transposed = false, strips = false;
    uint32_t strip = 16;

    uint64_t at(uint64_t row, uint64_t column) const {
        const uint64_t r = transposed ? column : row, c = transposed ? row : column;
        return strips ? nz_offset(r, c, apart, strip) : r * apart + c;
    }
    /* What of memory it takes, for elements of `bits`. */
    Run bytes(uint32_t bits) const {
        const uint64_t r = transposed ? columns : rows, c = transposed ? rows : columns;
        if (!strips) return {0, (c * bits + 7) / 8, uint32_t(r), int64_t(apart * bits / 8)};
        return {0, r * strip * bits / 8, uint32_t(divide_up(c, strip)), int64_t(apart * strip * bits / 8)};
    }
    /* Rows and columns from (row, column) on. */
    template <typename T>
    Matrix part(uint64_t row, uint64_t column, uint64_t n_rows, uint64_t n_columns) const {
        Matrix m = *this;
        m.rows = n_rows, m.columns = n_columns;
        m.base = base + bytes_of<T>(at(row, column));
        return m;
    }
};

/* m as dense rows. */
template <typename T, typename Sum>
inline std::vector<Sum> dense(const Matrix &m, Hf32 mode) {
    std::vector<Sum> out(m.rows * m.columns);
    for (uint64_t row = 0; row < m.rows; row++)
        for (uint64_t column = 0; column < m.columns; column++)
            out[row * m.columns + column] = operand_at<T, Sum>(m.base, m.at(row, column), mode);
    return out;
}

/* sums[a.rows, b.columns] += A * B. */
template <typename A, typename B, typename Sum>
inline void add_product(std::vector<Sum> &sums, const Matrix &a, const Matrix &b, Hf32 mode) {
    const std::vector<Sum> left = dense<A, Sum>(a, mode), right = dense<B, Sum>(b, mode);
    multiply(sums.data(), b.columns, left.data(), a.columns, right.data(), b.columns, a.rows, b.columns, a.columns);
}

}  // namespace asc_cpu
