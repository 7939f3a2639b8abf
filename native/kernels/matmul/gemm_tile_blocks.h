/* gemm_tile_blocks.h - register tiles of bfloat16 pairs by bfmmla: blocks of 2 x 2 sums, two pairs of K at a time. It
 * takes the pairs in turn, each as bfdot does, so that the bits are those of the other tiles. */
#ifndef ASC_KERNELS_GEMM_TILE_BLOCKS_H
#define ASC_KERNELS_GEMM_TILE_BLOCKS_H

#include "gemm_tile.h"
#include "vnni2.h"

#define BLOCK_ROWS ((GEMM_ROWS + 1) / 2)

/* Lanes 0 and 1 of both, or 2 and 3: single lanes in turn, or a pair behind a pair. */
static inline vf zip_low(vf a, vf b) {
    return (vf)vzip1q_f32((float32x4_t)a, (float32x4_t)b);
}
static inline vf zip_high(vf a, vf b) {
    return (vf)vzip2q_f32((float32x4_t)a, (float32x4_t)b);
}
static inline vf join_low(vf a, vf b) {
    return (vf)vzip1q_f64((float64x2_t)a, (float64x2_t)b);
}
static inline vf join_high(vf a, vf b) {
    return (vf)vzip2q_f64((float64x2_t)a, (float64x2_t)b);
}

/* Sums as whole rows lie; the second row of the last block may be absent. */
static inline __attribute__((always_inline)) void load_blocks(const gemm_tile *t, vf sum[][16], const int rows,
                                                              const int vectors) {
    const float *start = t->start ? t->start : t->c;
    const int64_t start_row = t->start ? t->start_row : t->ldc;
    _Pragma("GCC unroll 8") for (int i = 0; i < (rows + 1) / 2; i++)
        _Pragma("GCC unroll 8") for (int v = 0; v < vectors; v++) {
        const float *at = start + 2 * i * start_row + v * ASC_VF;
        vf top = {0}, bottom = {0};
        if (t->resume) top = vf_load(at);
        if (t->resume && 2 * i + 1 < rows) bottom = vf_load(at + start_row);
        sum[i][2 * v] = join_low(top, bottom);
        sum[i][2 * v + 1] = join_high(top, bottom);
    }
}

/* The products of two rows' pairs with those of all columns. */
static inline __attribute__((always_inline)) void multiply_rows(vf *sum, vf left, const vf right[], const int vectors) {
    _Pragma("GCC unroll 16") for (int j = 0; j < 2 * vectors; j++) sum[j] =
        (vf)vbfmmlaq_f32((float32x4_t)sum[j], (bfloat16x8_t)left, (bfloat16x8_t)right[j]);
}

/* One step of K, or two. Rows of A are read by fours, as long as there are so many. */
static inline __attribute__((always_inline)) void multiply_blocks(const gemm_tile *t, const float *a, const float *b,
                                                                  vf sum[][16], const int rows, const int vectors,
                                                                  const int two) {
    const int per_panel = GEMM_PANEL / ASC_VF;
    const float *far = a + t->a_step;
    vf right[16];
    _Pragma("GCC unroll 8") for (int v = 0; v < vectors; v++) {
        const float *p = b + v / per_panel * t->panel + v % per_panel * ASC_VF;
        vf first = vf_load(p), second = two ? vf_load(p + t->b_step) : (vf){0};
        right[2 * v] = zip_low(first, second);
        right[2 * v + 1] = zip_high(first, second);
    }
    _Pragma("GCC unroll 4") for (int row = 0; row < rows / 4 * 4; row += 4) {
        vf first = vf_load(a + row), second = two ? vf_load(far + row) : (vf){0};
        multiply_rows(sum[row / 2], zip_low(first, second), right, vectors);
        multiply_rows(sum[row / 2 + 1], zip_high(first, second), right, vectors);
    }
    _Pragma("GCC unroll 2") for (int row = rows / 4 * 4; row < rows; row += 2) {
        int next = row + 1 < rows ? row + 1 : row;
        vf left = {a[row], two ? far[row] : 0, a[next], two ? far[next] : 0};
        multiply_rows(sum[row / 2], left, right, vectors);
    }
}

static inline __attribute__((always_inline)) void tile_of_blocks(const gemm_tile *t, const int rows,
                                                                 const int vectors) {
    const float *a = t->a, *b = t->b;
    const char *fetch = t->fetch;
    vf sum[BLOCK_ROWS][16];
    int64_t k = t->k;
    load_blocks(t, sum, rows, vectors);
    for (; k > 1; k -= 2, a += 2 * t->a_step, b += 2 * t->b_step) {
        multiply_blocks(t, a, b, sum, rows, vectors, 1);
        __builtin_prefetch(fetch, 0, 2);
        __builtin_prefetch(fetch + t->fetch_step, 0, 2);
        fetch += 2 * t->fetch_step;
    }
    if (k > 0) multiply_blocks(t, a, b, sum, rows, vectors, 0);
    _Pragma("GCC unroll 8") for (int i = 0; i < (rows + 1) / 2; i++)
        _Pragma("GCC unroll 8") for (int v = 0; v < vectors; v++) {
        float *c = t->c + 2 * i * t->ldc + v * ASC_VF;
        vf_store(c, join_low(sum[i][2 * v], sum[i][2 * v + 1]));
        if (2 * i + 1 < rows) vf_store(c + t->ldc, join_high(sum[i][2 * v], sum[i][2 * v + 1]));
    }
}

#endif
