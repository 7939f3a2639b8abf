/* Rows of a tensor in the unified buffer, for functions that reduce along the last axis, and how such a function is
 * issued: once, on the vector pipe, its result rounded once. */
#pragma once

#include <algorithm>

#include "../cube_operand.h"
#include "../library.h"

namespace AscendC {

/* Rows and columns of a softmax: as they lie (src*, columns rounded up to blocks), and as they count (oriSrc*). */
struct SoftMaxShapeInfo {
    uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0;
};

}  // namespace AscendC

namespace asc_cpu {

/* m rows of `columns` elements, of which the first `used` count. nz: in strips of 16 columns. */
struct Rows {
    uint32_t m = 0, columns = 0, used = 0;
    bool nz = false;

    uint64_t size() const { return uint64_t(m) * columns; }
    uint64_t at(uint32_t row, uint32_t column) const {
        return nz ? (uint64_t(column / 16) * m + row) * 16 + column % 16 : uint64_t(row) * columns + column;
    }
};

/* Of a tensor: what the call says, else what the tensor or the tiling says, else all of it as one row. */
template <typename T>
inline Rows rows_of(const LocalTensor<T> &x, const AscendC::SoftMaxShapeInfo &info, uint32_t tiled_m, uint32_t tiled_k,
                    bool nz) {
    if (info.srcM && info.srcK) return {info.srcM, info.srcK, info.oriSrcK ? info.oriSrcK : info.srcK, nz};
    const AscendC::ShapeInfo shape = x.GetShapeInfo();
    if (shape.shapeDim && !nz) {
        Rows rows{1, shape.shape[shape.shapeDim - 1],
                  shape.originalShape[shape.originalShapeDim ? shape.originalShapeDim - 1 : 0]};
        for (uint32_t i = 0; i + 1 < shape.shapeDim; i++) rows.m *= shape.shape[i];
        if (!rows.used || rows.used > rows.columns) rows.used = rows.columns;
        return rows;
    }
    if (tiled_m && tiled_k) return {tiled_m, tiled_k, tiled_k, nz};
    return {1, x.GetSize(), x.GetSize(), nz};
}

/* Elements that each row has in a tensor of maxima or sums: one value all over a block of 32 bytes. */
template <typename T>
constexpr uint32_t lanes_of_block = 32 / sizeof(T);
template <typename T>
inline void fill_block(T *block, double value) {
    for (uint32_t i = 0; i < lanes_of_block<T>; i++) block[i] = T(value);
}

/* A scratch buffer that the function overwrites: at most what there is of it. */
inline void take_scratch(const LocalTensor<uint8_t> &scratch, uint64_t bytes, Where w) {
    AscendC::use_scratch(scratch, bytes, w);
}

template <typename T>
inline std::vector<double> copy_row(const T *x, const Rows &rows, uint32_t row) {
    std::vector<double> values(rows.used);
    for (uint32_t column = 0; column < rows.used; column++) values[column] = double(x[rows.at(row, column)]);
    return values;
}

}  // namespace asc_cpu
