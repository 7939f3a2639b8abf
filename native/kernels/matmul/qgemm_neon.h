/* qgemm_neon.h - the register tiles of qgemm.c on AArch64, by what the ISA level multiplies: products of 16 bits one by
 * one (NEON), four products of bytes a lane (dotprod), or eight of two rows by two columns (I8MM).
 *
 * B is read from the same panels at every level. Unsigned bytes times signed ones need I8MM: dotprod takes 128 from the
 * bytes of A, and gives the sums 128 times those of B's columns.
 */
#ifndef ASC_KERNELS_QGEMM_NEON_H
#define ASC_KERNELS_QGEMM_NEON_H

#include <arm_neon.h>

#include "qgemm.h"
#include "simd.h"

#define ALWAYS static inline __attribute__((always_inline))
#define EACH_ROW _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++)

ALWAYS uint8x8_t load_vnni4(const uint8_t *p) {
    uint32_t four;
    memcpy(&four, p, sizeof four);
    return vcreate_u8(four);
}

ALWAYS uint8x16_t top_bits(int flip) {
    return vdupq_n_u8(flip ? 128 : 0);
}

#if defined(__ARM_FEATURE_DOTPROD)
#define FOURS 4 /* of K in a step */

ALWAYS int32x4_t dot_lane(int32x4_t sum, int8x16_t b, uint8x16_t a, const int lane) {
#if defined(__ARM_FEATURE_MATMUL_INT8)
#define DOT(lane) vsudotq_laneq_s32(sum, b, a, lane)
#else
#define DOT(lane) vdotq_laneq_s32(sum, b, vreinterpretq_s8_u8(a), lane)
#endif
    switch (lane) {
        case 0: return DOT(0);
        case 1: return DOT(1);
        case 2: return DOT(2);
        default: return DOT(3);
    }
#undef DOT
}

/* Constant `rows`, `fours` and `flip` make the loops vanish and keep the sums in registers. */
ALWAYS void step(int32x4_t sum[][2], int32x4_t below[2], const uint8_t *a, int64_t a_row, const int8_t *b,
                 const int rows, const int fours, const int flip) {
    uint8x16_t left[QGEMM_ROWS], top = top_bits(flip);
    EACH_ROW {
        const uint8_t *p = a + i * a_row;
        left[i] = veorq_u8(fours == FOURS ? vld1q_u8(p) : vcombine_u8(load_vnni4(p), vdup_n_u8(0)), top);
    }
#pragma GCC unroll 4
    for (int q = 0; q < fours; q++, b += 4 * QGEMM_PANEL)
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) {
            int8x16_t right = vld1q_s8(b + v * 16);
            if (below) below[v] = vdotq_s32(below[v], right, vdupq_n_s8(-128));
            EACH_ROW sum[i][v] = dot_lane(sum[i][v], right, left[i], q);
        }
}

ALWAYS void dot_tile(const qgemm *g, const uint8_t *first, const int8_t *b, int32_t *sums, const int rows,
                     const int flip) {
    int32x4_t sum[QGEMM_ROWS][2], below[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
    const int64_t a_row = g->a_row, vnni4 = g->vnni4;
#if defined(__ARM_FEATURE_MATMUL_INT8)
    int32x4_t *const taken = NULL;
    const int flips = flip;
#else
    int32x4_t *const taken = below;
    const int flips = !flip;
#endif
    EACH_ROW sum[i][0] = sum[i][1] = vdupq_n_s32(0);
    for (int64_t s = 0; s < g->n_segments; s++) {
        const uint8_t *a = first + g->segments[s];
        int64_t q = vnni4;
        for (; q >= FOURS; q -= FOURS, a += 4 * FOURS, b += FOURS * 4 * QGEMM_PANEL)
            step(sum, taken, a, a_row, b, rows, FOURS, flips);
        for (; q > 0; q--, a += 4, b += 4 * QGEMM_PANEL) step(sum, taken, a, a_row, b, rows, 1, flips);
    }
    EACH_ROW {
        vst1q_s32(sums + i * QGEMM_COLUMNS, vsubq_s32(sum[i][0], below[0]));
        vst1q_s32(sums + i * QGEMM_COLUMNS + ASC_VF, vsubq_s32(sum[i][1], below[1]));
    }
}

#if defined(__ARM_FEATURE_MATMUL_INT8)
#define EACH_BLOCK \
    _Pragma("GCC unroll 4") for (int i = 0; i < (rows + 1) / 2; i++) _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++)

/* Fours of two columns each: those of one step of K, then those of the next. */
ALWAYS void pair_columns(const int8_t *b, const int fours, int8x16_t right[4]) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) {
        int32x4_t near = vreinterpretq_s32_s8(vld1q_s8(b + v * 16)), far = vdupq_n_s32(0);
        if (fours == 2) far = vreinterpretq_s32_s8(vld1q_s8(b + 4 * QGEMM_PANEL + v * 16));
        right[2 * v] = vreinterpretq_s8_s32(vzip1q_s32(near, far));
        right[2 * v + 1] = vreinterpretq_s8_s32(vzip2q_s32(near, far));
    }
}

/* One or two fours of K of blocks of 2 x 2 sums. */
ALWAYS void block_step(int32x4_t block[][4], const uint8_t *a, int64_t a_row, const int8_t *b, const int rows,
                       const int fours, const int flip) {
    int8x16_t right[4];
    uint8x16_t left[QGEMM_ROWS / 2], top = top_bits(flip);
    pair_columns(b, fours, right);
#pragma GCC unroll 4
    for (int i = 0; i < (rows + 1) / 2; i++) {
        const uint8_t *p = a + 2 * i * a_row, *next = 2 * i + 1 < rows ? p + a_row : p;
        left[i] = fours == 2 ? vcombine_u8(vld1_u8(p), vld1_u8(next)) : vcombine_u8(load_vnni4(p), load_vnni4(next));
        left[i] = veorq_u8(left[i], top);
    }
    EACH_BLOCK block[i][j] = vusmmlaq_s32(block[i][j], left[i], right[j]);
}

ALWAYS void block_tile(const qgemm *g, const uint8_t *first, const int8_t *b, int32_t *sums, const int rows,
                       const int flip) {
    int32x4_t block[QGEMM_ROWS / 2][4];
    const int64_t a_row = g->a_row, vnni4 = g->vnni4;
    EACH_BLOCK block[i][j] = vdupq_n_s32(0);
    for (int64_t s = 0; s < g->n_segments; s++) {
        const uint8_t *a = first + g->segments[s];
        int64_t q = vnni4;
        for (; q >= 2; q -= 2, a += 8, b += 8 * QGEMM_PANEL) block_step(block, a, a_row, b, rows, 2, flip);
        if (q > 0) block_step(block, a, a_row, b, rows, 1, flip), b += 4 * QGEMM_PANEL;
    }
#pragma GCC unroll 4
    for (int i = 0; i < (rows + 1) / 2; i++)
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) {
            int64x2_t left = vreinterpretq_s64_s32(block[i][2 * v]), right = vreinterpretq_s64_s32(block[i][2 * v + 1]);
            int32_t *out = sums + 2 * i * QGEMM_COLUMNS + v * ASC_VF;
            vst1q_s32(out, vreinterpretq_s32_s64(vzip1q_s64(left, right)));
            if (2 * i + 1 < rows) vst1q_s32(out + QGEMM_COLUMNS, vreinterpretq_s32_s64(vzip2q_s64(left, right)));
        }
}
#endif

ALWAYS void tile(const qgemm *g, const uint8_t *first, const int8_t *b, int32_t *sums, const int rows, const int flip) {
#if defined(__ARM_FEATURE_MATMUL_INT8)
    if (rows > 1) {
        block_tile(g, first, b, sums, rows, flip);
        return;
    }
#endif
    dot_tile(g, first, b, sums, rows, flip);
}

#else
/* Sums of eight columns plus one row of B times an element of each row of A. */
ALWAYS void add_products(int32x4_t sum[][2], const int16x8_t left[], int16x8_t right, const int rows, const int lane) {
#define EACH_PRODUCT(lane)                                                          \
    EACH_ROW {                                                                      \
        sum[i][0] = vmlal_laneq_s16(sum[i][0], vget_low_s16(right), left[i], lane); \
        sum[i][1] = vmlal_high_laneq_s16(sum[i][1], right, left[i], lane);          \
    }
    switch (lane) {
        case 0: EACH_PRODUCT(0) break;
        case 1: EACH_PRODUCT(1) break;
        case 2: EACH_PRODUCT(2) break;
        case 3: EACH_PRODUCT(3) break;
        case 4: EACH_PRODUCT(4) break;
        case 5: EACH_PRODUCT(5) break;
        case 6: EACH_PRODUCT(6) break;
        default: EACH_PRODUCT(7) break;
    }
#undef EACH_PRODUCT
}

/* One or two fours of K. */
ALWAYS void step(int32x4_t sum[][2], const uint8_t *a, int64_t a_row, const int8_t *b, const int rows, const int fours,
                 const int flip) {
    int16x8_t left[QGEMM_ROWS];
    uint8x8_t top = vdup_n_u8(flip ? 128 : 0);
    EACH_ROW {
        const uint8_t *p = a + i * a_row;
        left[i] = vreinterpretq_s16_u16(vmovl_u8(veor_u8(fours == 2 ? vld1_u8(p) : load_vnni4(p), top)));
    }
#pragma GCC unroll 2
    for (int q = 0; q < fours; q++, b += 4 * QGEMM_PANEL) {
        int16x8_t near = vreinterpretq_s16_s8(vld1q_s8(b)), far = vreinterpretq_s16_s8(vld1q_s8(b + 16));
        int16x8_t even = vshrq_n_s16(vshlq_n_s16(near, 8), 8), far_even = vshrq_n_s16(vshlq_n_s16(far, 8), 8);
        int16x8_t odd = vshrq_n_s16(near, 8), far_odd = vshrq_n_s16(far, 8);
        add_products(sum, left, vuzp1q_s16(even, far_even), rows, 4 * q);
        add_products(sum, left, vuzp1q_s16(odd, far_odd), rows, 4 * q + 1);
        add_products(sum, left, vuzp2q_s16(even, far_even), rows, 4 * q + 2);
        add_products(sum, left, vuzp2q_s16(odd, far_odd), rows, 4 * q + 3);
    }
}

ALWAYS void tile(const qgemm *g, const uint8_t *first, const int8_t *b, int32_t *sums, const int rows, const int flip) {
    int32x4_t sum[QGEMM_ROWS][2];
    const int64_t a_row = g->a_row, vnni4 = g->vnni4;
    EACH_ROW sum[i][0] = sum[i][1] = vdupq_n_s32(0);
    for (int64_t s = 0; s < g->n_segments; s++) {
        const uint8_t *a = first + g->segments[s];
        int64_t q = vnni4;
        for (; q >= 2; q -= 2, a += 8, b += 8 * QGEMM_PANEL) step(sum, a, a_row, b, rows, 2, flip);
        if (q > 0) step(sum, a, a_row, b, rows, 1, flip), b += 4 * QGEMM_PANEL;
    }
    EACH_ROW {
        vst1q_s32(sums + i * QGEMM_COLUMNS, sum[i][0]);
        vst1q_s32(sums + i * QGEMM_COLUMNS + ASC_VF, sum[i][1]);
    }
}
#endif

#endif
