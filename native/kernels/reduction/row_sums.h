/* row_sums.h - sums over a contiguous row of float32 in one fixed order, whatever row or thread.
 *
 * Four vectors of partial sums over blocks of BLOCK elements, the blocks added into a vector, its lanes
 * added pairwise: the rounding error grows with BLOCK / (4 ASC_VF) + n / BLOCK, not with n. */
#ifndef ASC_KERNELS_ROW_SUMS_H
#define ASC_KERNELS_ROW_SUMS_H

#include "simd.h"

#define ASC_SUM_BLOCK 4096
#define ASC_SUM_PART 32 /* elements of a strided axis that are added up before they join their block */

/* The first n lanes, zero in the others. */
static inline vf vf_first(vf v, int64_t n) {
    return (vf)((vi)v & (vi_iota() < (int32_t)n));
}

/* A sum of `term`, made of the elements v: whole(at) is a vector of them, part(at, lanes) the last, short one. */
#define ASC_ROW_SUM(name, arguments, whole, part, term)                                     \
    static inline float name arguments {                                                    \
        vf total = {0};                                                                     \
        for (int64_t block = 0; block < n; block += ASC_SUM_BLOCK) {                        \
            int64_t end = n - block < ASC_SUM_BLOCK ? n : block + ASC_SUM_BLOCK, i = block; \
            vf s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, v;                                   \
            for (; i + 4 * ASC_VF <= end; i += 4 * ASC_VF) {                                \
                v = whole(i), s0 += term;                                                   \
                v = whole(i + ASC_VF), s1 += term;                                          \
                v = whole(i + 2 * ASC_VF), s2 += term;                                      \
                v = whole(i + 3 * ASC_VF), s3 += term;                                      \
            }                                                                               \
            for (; i + ASC_VF <= end; i += ASC_VF) v = whole(i), s0 += term;                \
            if (i < end) v = part(i, end - i), s1 += vf_first(term, end - i);               \
            total += (s0 + s1) + (s2 + s3);                                                 \
        }                                                                                   \
        return vf_sum(total);                                                               \
    }

#define ASC_ROW_WHOLE(at) vf_load(x + (at))
#define ASC_ROW_PART(at, lanes) vf_load_tail(x + (at), lanes, 0.0f)
/* sum of x */
ASC_ROW_SUM(asc_row_sum, (const float *x, int64_t n), ASC_ROW_WHOLE, ASC_ROW_PART, v)
/* sum of (x - shift)^2 */
ASC_ROW_SUM(asc_row_deviation, (const float *x, int64_t n, vf shift), ASC_ROW_WHOLE, ASC_ROW_PART,
            (v - shift) * (v - shift))

#endif
