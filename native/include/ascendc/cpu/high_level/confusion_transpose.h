/* ConfusionTranspose, of late Transpose with a tiling: between the fractal layout NZ of [b, n, s, d] and [b, s, n * d],
 * and plain ones, with n and s changing places. */
#pragma once

#include "../../kernel_tiling/kernel_tiling.h"
#include "../gather.h"
#include "rows.h"

namespace asc_cpu {

/* Where an element lies in a matrix: row by row, or in strips of 16 columns whose rows are rounded up to 16. */
struct MatrixLayout {
    uint64_t rows, columns;
    bool nz;
    uint64_t tall() const { return align_up(rows, 16); }
    uint64_t size() const { return nz ? tall() * align_up(columns, 16) : rows * columns; }
    uint64_t at(uint64_t row, uint64_t column) const {
        return nz ? (column / 16 * tall() + row) * 16 + column % 16 : row * columns + column;
    }
};
/* Which matrix a layout has for each element of [b, n, s, d]. */
enum class MatrixOf : uint8_t { S_by_D, N_by_D, S_by_ND };

struct TransposeSide {
    MatrixOf what;
    MatrixLayout m;
    uint64_t n, s, d;
    TransposeSide(MatrixOf of, bool nz, uint64_t n_, uint64_t s_, uint64_t d_) : what(of), n(n_), s(s_), d(d_) {
        m = {of == MatrixOf::N_by_D ? n : s, of == MatrixOf::S_by_ND ? n * d : d, nz};
    }
    uint64_t matrices() const { return what == MatrixOf::S_by_D ? n : what == MatrixOf::N_by_D ? s : 1; }
    uint64_t at(uint64_t b, uint64_t i, uint64_t k, uint64_t l) const {
        const uint64_t matrix = what == MatrixOf::S_by_D ? i : what == MatrixOf::N_by_D ? k : 0;
        const uint64_t row = what == MatrixOf::N_by_D ? i : k;
        return (b * matrices() + matrix) * m.size() + m.at(row, what == MatrixOf::S_by_ND ? i * d + l : l);
    }
};

template <typename T>
inline void transpose_axes(Where w, const LocalTensor<T> &dst, const LocalTensor<T> &src, uint64_t batch,
                           const TransposeSide &to, const TransposeSide &from) {
    const uint64_t written = batch * to.matrices() * to.m.size(), read = batch * from.matrices() * from.m.size();
    T *const y = dst.data();
    const T *const x = src.data();
    issue(PIPE_V, "ConfusionTranspose", w, {dst.writes(written), src.reads(read)}, [=] {
        const std::vector<T> copy(x, x + read);
        std::fill(y, y + written, T(0));
        for (uint64_t b = 0; b < batch; b++)
            for (uint64_t i = 0; i < to.n; i++)
                for (uint64_t k = 0; k < to.s; k++)
                    for (uint64_t l = 0; l < to.d; l++) y[to.at(b, i, k, l)] = copy[size_t(from.at(b, i, k, l))];
    });
}

/* [h, w] to [w, h] */
template <typename T>
inline void transpose_matrix(Where w, const LocalTensor<T> &dst, const LocalTensor<T> &src, uint64_t rows,
                             uint64_t columns) {
    const uint64_t n = rows * columns;
    need_parameter(w, n > 0, "ConfusionTranspose", "the tiling is for the two axes of this shape");
    T *const y = dst.data();
    const T *const x = src.data();
    issue(PIPE_V, "ConfusionTranspose", w, {dst.writes(n), src.reads(n)}, [=] {
        const std::vector<T> copy(x, x + n);
        for (uint64_t i = 0; i < n; i++) y[i % columns * rows + i / columns] = copy[size_t(i)];
    });
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T>
inline void ConfusionTranspose(const LocalTensor<T> &dst, const LocalTensor<T> &src, TransposeType type,
                               const ConfusionTransposeTiling &tiling, asc_cpu::Where w = asc_cpu::Where::here()) {
    using asc_cpu::MatrixOf;
    const uint64_t b = tiling.param0, n = tiling.param1, s = tiling.param2, d = tiling.param3;
    const auto go = [&](MatrixOf to, bool to_nz, MatrixOf from) {
        asc_cpu::need_parameter(w, b * n * s * d > 0, "ConfusionTranspose",
                                "the tiling is GetConfusionTransposeTilingInfo's, for the four axes of this shape");
        asc_cpu::transpose_axes(w, dst, src, b, asc_cpu::TransposeSide(to, to_nz, n, s, d),
                                asc_cpu::TransposeSide(from, true, n, s, d));
    };
    switch (type) {
        case TransposeType::TRANSPOSE_NZ2ND_0213: return go(MatrixOf::N_by_D, false, MatrixOf::S_by_D);
        case TransposeType::TRANSPOSE_NZ2NZ_0213: return go(MatrixOf::N_by_D, true, MatrixOf::S_by_D);
        case TransposeType::TRANSPOSE_NZ2NZ_012_WITH_N: return go(MatrixOf::S_by_D, true, MatrixOf::S_by_ND);
        case TransposeType::TRANSPOSE_NZ2ND_012_WITH_N: return go(MatrixOf::S_by_D, false, MatrixOf::S_by_ND);
        case TransposeType::TRANSPOSE_NZ2ND_012_WITHOUT_N: return go(MatrixOf::S_by_ND, false, MatrixOf::S_by_D);
        case TransposeType::TRANSPOSE_NZ2NZ_012_WITHOUT_N: return go(MatrixOf::S_by_ND, true, MatrixOf::S_by_D);
        case TransposeType::TRANSPOSE_ND2ND_ONLY: return asc_cpu::transpose_matrix(w, dst, src, b, n);
        default:
            asc_cpu::fail_with("ErrorParam", "give one of TRANSPOSE_NZ2ND_0213 to TRANSPOSE_ND2ND_ONLY",
                               "ConfusionTranspose: transposeType %d", int(type));
    }
}
template <typename T>
inline void ConfusionTranspose(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                               const LocalTensor<uint8_t> &scratch, TransposeType type,
                               const ConfusionTransposeTiling &tiling, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    ConfusionTranspose(dst, src, type, tiling, w);
}
/* Its later name. */
template <typename T>
inline void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src, TransposeType type,
                      const ConfusionTransposeTiling &tiling, asc_cpu::Where w = asc_cpu::Where::here()) {
    ConfusionTranspose(dst, src, type, tiling, w);
}
template <typename T>
inline void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &scratch,
                      TransposeType type, const ConfusionTransposeTiling &tiling,
                      asc_cpu::Where w = asc_cpu::Where::here()) {
    ConfusionTranspose(dst, src, scratch, type, tiling, w);
}

}  // namespace AscendC
