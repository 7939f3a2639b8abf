/* quantise_row.h - floats with one scale to integers of 8 bits. */
#ifndef ASC_KERNELS_QUANTISE_ROW_H
#define ASC_KERNELS_QUANTISE_ROW_H

#include <math.h>

#include "quotient.h"
#include "simd.h"

/* quantise_row, by vf_quotient where `inverse` isn't 0: no x is farther than it takes then. */
static inline void quantise_row_by(const float *x, int64_t n, float scale, float inverse, float zero, float low,
                                   float high, uint8_t *out) {
    typedef uint8_t vb __attribute__((vector_size(ASC_VF), unused));
    int64_t i = 0;
    for (; i + ASC_VF <= n; i += ASC_VF) {
        vf q = inverse ? vf_quotient(vf_load(x + i), vf_set(scale), vf_set(inverse)) : vf_load(x + i) / vf_set(scale);
        q = vf_round(q) + vf_set(zero);
        q = vf_min(vf_max(q, vf_set(low)), vf_set(high));
#if defined(__AVX2__) && !defined(__AVX512F__)
        int64_t bytes = vi_low_bytes(__builtin_convertvector(q, vi));
#else
        vb bytes = __builtin_convertvector(__builtin_convertvector(q, vi), vb);
#endif
        memcpy(out + i, &bytes, sizeof bytes);
    }
    for (; i < n; i++) {
        float q = rintf(x[i] / scale) + zero;
        q = q > low ? q : low;
        out[i] = (uint8_t)(int32_t)(q < high ? q : high);
    }
}

/* out = saturate(round(x / scale) + zero), half to even, between low and high; int8 or uint8 by its bits. NaN becomes
 * low. */
static inline void quantise_row(const float *x, int64_t n, float scale, float zero, float low, float high,
                                uint8_t *out) {
    quantise_row_by(x, n, scale, 0, zero, low, high, out);
}

#endif
