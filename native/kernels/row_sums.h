/* row_sums.h - sums over a contiguous row of float32 in one fixed order, whatever row or thread.
 *
 * Four vectors of partial sums over blocks of BLOCK elements, the blocks added into a vector, its lanes
 * added pairwise: the rounding error grows with BLOCK / (4 ASC_VF) + n / BLOCK, not with n. */
#ifndef ASC_KERNELS_ROW_SUMS_H
#define ASC_KERNELS_ROW_SUMS_H

#include "simd.h"

#define ASC_SUM_BLOCK 4096

/* term(v) of every element; `lanes` past the end of a row are masked to zero after the term. */
#define ASC_ROW_SUM(name, term)                                                             \
    static inline float name(const float *x, int64_t n, vf shift) {                         \
        (void)shift;                                                                        \
        vf total = {0};                                                                     \
        for (int64_t block = 0; block < n; block += ASC_SUM_BLOCK) {                        \
            int64_t end = n - block < ASC_SUM_BLOCK ? n : block + ASC_SUM_BLOCK, i = block; \
            vf s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, v;                                   \
            for (; i + 4 * ASC_VF <= end; i += 4 * ASC_VF) {                                \
                v = vf_load(x + i), s0 += term;                                             \
                v = vf_load(x + i + ASC_VF), s1 += term;                                    \
                v = vf_load(x + i + 2 * ASC_VF), s2 += term;                                \
                v = vf_load(x + i + 3 * ASC_VF), s3 += term;                                \
            }                                                                               \
            for (; i + ASC_VF <= end; i += ASC_VF) v = vf_load(x + i), s0 += term;          \
            if (i < end) {                                                                  \
                vf part;                                                                    \
                v = vf_load_tail(x + i, end - i, 0.0f), part = term;                        \
                s1 += vf_first(part, end - i);                                              \
            }                                                                               \
            total += (s0 + s1) + (s2 + s3);                                                 \
        }                                                                                   \
        return vf_sum(total);                                                               \
    }

/* The first n lanes, zero in the others. */
static inline vf vf_first(vf v, int64_t n) {
    return (vf)((vi)v & (vi_iota() < (int32_t)n));
}

ASC_ROW_SUM(asc_row_sum, v)                               /* sum of x */
ASC_ROW_SUM(asc_row_squares, v *v)                        /* sum of x^2 */
ASC_ROW_SUM(asc_row_deviation, (v - shift) * (v - shift)) /* sum of (x - shift)^2 */

#endif
